#include "cpu/llvm/link.h"

#include <elf.h>

#include <cstring>
#include <limits>
#include <string>

#include <anabranch/error.h>

#include "cpu/abi.h"

namespace anabranch::cpu {
namespace {

class Object {
 public:
  explicit Object(std::span<const std::byte> bytes) : bytes_(bytes) {
    const auto header = at<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_X86_64 ||
        header.e_type != ET_REL)
      throw InternalError("kernel object: not a relocatable x86-64 ELF file");
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      sections_.push_back(at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
      if (sections_.back().sh_type == SHT_SYMTAB) symbols_ = i;
    }
    if (symbols_ == 0) throw InternalError("kernel object: no symbols");
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::size_t symbol_count() const { return sections_[symbols_].sh_size / sizeof(Elf64_Sym); }
  Elf64_Sym symbol(std::size_t i) const {
    return at<Elf64_Sym>(sections_[symbols_].sh_offset + i * sizeof(Elf64_Sym));
  }
  std::string name(const Elf64_Sym& symbol) const {
    return text(sections_[sections_[symbols_].sh_link].sh_offset + symbol.st_name);
  }
  std::span<const std::byte> contents(const Elf64_Shdr& section) const {
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }
  template <class T>
  T at(std::uint64_t offset) const {
    if (offset + sizeof(T) > bytes_.size()) throw InternalError("kernel object: truncated");
    T out;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }

 private:
  std::string text(std::uint64_t offset) const {
    std::string out;
    for (char c; (c = at<char>(offset)) != 0; ++offset) out += c;
    return out;
  }

  std::span<const std::byte> bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::size_t symbols_ = 0;
};

constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::vector<std::byte> link_image(std::span<const std::byte> bytes, int entries) {
  const Object object(bytes);

  // Layout: every section that occupies memory, in file order, at its alignment.
  std::vector<std::byte> blob;
  std::vector<std::uint64_t> base(object.sections().size(), nowhere);
  for (std::size_t i = 0; i < object.sections().size(); ++i) {
    const Elf64_Shdr& section = object.sections()[i];
    if (!(section.sh_flags & SHF_ALLOC) || section.sh_size == 0) continue;
    if (section.sh_type != SHT_PROGBITS || (section.sh_flags & (SHF_WRITE | SHF_TLS)))
      throw InternalError("kernel object: a section that is neither code nor constants");
    const std::uint64_t align = std::max<std::uint64_t>(section.sh_addralign, 16);
    if (align > image_align) throw InternalError("kernel object: alignment " + std::to_string(align));
    blob.resize((blob.size() + align - 1) / align * align);
    base[i] = blob.size();
    const auto contents = object.contents(section);
    blob.insert(blob.end(), contents.begin(), contents.end());
  }

  const auto address = [&](const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= base.size() || base[symbol.st_shndx] == nowhere)
      throw InternalError("kernel object: needs '" + object.name(symbol) + "' from outside");
    return base[symbol.st_shndx] + symbol.st_value;
  };

  for (const Elf64_Shdr& table : object.sections()) {
    if (table.sh_type != SHT_RELA || base[table.sh_info] == nowhere) continue;
    for (std::uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Rela)) {
      const auto relocation = object.at<Elf64_Rela>(table.sh_offset + at);
      const auto symbol = object.symbol(ELF64_R_SYM(relocation.r_info));
      const auto kind = ELF64_R_TYPE(relocation.r_info);
      const std::uint64_t place = base[table.sh_info] + relocation.r_offset;
      const auto distance =
          static_cast<std::int64_t>(address(symbol)) + relocation.r_addend - static_cast<std::int64_t>(place);
      if (kind == R_X86_64_PC32 || kind == R_X86_64_PLT32) {
        const auto narrow = static_cast<std::int32_t>(distance);
        if (narrow != distance) throw InternalError("kernel object: larger than 2 GiB");
        std::memcpy(blob.data() + place, &narrow, sizeof narrow);
      } else if (kind == R_X86_64_PC64) {
        std::memcpy(blob.data() + place, &distance, sizeof distance);
      } else {
        throw InternalError("kernel object: relocation of kind " + std::to_string(kind) + " against '" +
                            object.name(symbol) + "' depends on the load address");
      }
    }
  }

  ImageHeader header;
  std::memcpy(header.magic, image_magic, sizeof header.magic);
  header.entries = static_cast<std::uint32_t>(entries);
  header.blob_bytes = blob.size();
  for (auto& entry : header.entry) entry = nowhere;
  for (std::size_t i = 0; i < object.symbol_count(); ++i) {
    const auto symbol = object.symbol(i);
    const std::string name = object.name(symbol);
    for (int e = 0; e < entries; ++e)
      if (name == "entry" + std::to_string(e)) header.entry[e] = address(symbol);
  }
  for (int e = 0; e < entries; ++e)
    if (header.entry[e] == nowhere) throw InternalError("kernel object: no entry " + std::to_string(e));

  std::vector<std::byte> image(sizeof header + blob.size());
  std::memcpy(image.data(), &header, sizeof header);
  std::memcpy(image.data() + sizeof header, blob.data(), blob.size());
  return image;
}

}  // namespace anabranch::cpu
