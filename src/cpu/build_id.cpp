#include "cpu/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace anabranch::cpu {
namespace {

using Segment = ElfW(Phdr);

constexpr std::string_view owner("GNU\0", 4);
constexpr std::size_t most_headers = 64, most_note_bytes = 64 << 10;

std::string hexadecimal(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

/// The build id among these notes.
std::string find_build_id(std::string_view notes, std::size_t alignment) {
  const auto aligned = [&](std::size_t n) { return (n + alignment - 1) / alignment * alignment; };
  for (ElfW(Nhdr) note; notes.size() >= sizeof note;) {
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t description = aligned(sizeof note + note.n_namesz);
    const std::size_t end = description + note.n_descsz;
    if (end > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(sizeof note, note.n_namesz) == owner)
      return hexadecimal(notes.substr(description, note.n_descsz));
    notes.remove_prefix(std::min(aligned(end), notes.size()));
  }
  return {};
}

std::size_t alignment_of(const Segment& segment) { return segment.p_align == 8 ? 8 : 4; }

class File {
 public:
  explicit File(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool read(std::uint64_t offset, void* into, std::size_t bytes) const {
    return fd_ >= 0 && ::pread(fd_, into, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }

 private:
  int fd_;
};

/// One of the objects that are loaded.
struct LoadedObject {
  const dl_phdr_info& info;

  std::uintptr_t address_of(const Segment& segment) const { return info.dlpi_addr + segment.p_vaddr; }
  std::span<const Segment> segments() const { return {info.dlpi_phdr, info.dlpi_phnum}; }
  bool holds(std::uintptr_t address) const {
    return std::any_of(segments().begin(), segments().end(), [&](const Segment& segment) {
      const std::uintptr_t begin = address_of(segment);
      return segment.p_type == PT_LOAD && address >= begin && address - begin < segment.p_memsz;
    });
  }
  std::string build_id() const {
    for (const Segment& segment : segments()) {
      if (segment.p_type != PT_NOTE) continue;
      const auto* notes =
          reinterpret_cast<const char*>(address_of(segment));  // NOLINT: as the system gives it
      if (std::string id = find_build_id({notes, segment.p_memsz}, alignment_of(segment)); !id.empty())
        return id;
    }
    return {};
  }
};

}  // namespace

std::string build_id_of_file(const std::string& path) {
  const File file(path);
  ElfW(Ehdr) header;
  if (!file.read(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_phentsize != sizeof(Segment))
    return {};
  for (std::size_t i = 0; i < std::min<std::size_t>(header.e_phnum, most_headers); ++i) {
    Segment segment;
    if (!file.read(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > most_note_bytes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!file.read(segment.p_offset, notes.data(), notes.size())) return {};
    if (std::string id = find_build_id(notes, alignment_of(segment)); !id.empty()) return id;
  }
  return {};
}

std::string build_id_of_object_at(const void* address) {
  struct Search {
    std::uintptr_t address;
    std::string id;
  } search{reinterpret_cast<std::uintptr_t>(address), {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        auto& wanted = *static_cast<Search*>(context);
        const LoadedObject object{*info};
        if (!object.holds(wanted.address)) return 0;
        wanted.id = object.build_id();
        return 1;
      },
      &search);
  return search.id;
}

}  // namespace anabranch::cpu
