#include "run/resident_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

namespace anabranch::runtime {

namespace {

constexpr std::int64_t between_looks_ns = 2'000'000;

/// The number that `text` begins with, after blanks; 0: none.
std::int64_t number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

ResidentMemory::~ResidentMemory() {
  if (file_ >= 0) ::close(file_);
}

std::int64_t ResidentMemory::at(std::int64_t now_ns) noexcept {
  if (now_ns < next_ns_) return bytes_;
  next_ns_ = now_ns + between_looks_ns;
  if (!opened_) {
    opened_ = true;
    file_ = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  }
  if (file_ < 0) return 0;
  std::array<char, 128> text;
  const ssize_t length = ::pread(file_, text.data(), text.size(), 0);
  const std::string_view fields(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  const std::size_t second = fields.find(' ');  // the first is the size of the address space
  if (second == std::string_view::npos) return bytes_;
  bytes_ = number_at(fields.substr(second)) * ::sysconf(_SC_PAGESIZE);
  return bytes_;
}

std::int64_t ResidentMemory::peak() noexcept {
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 4096> text;
  const ssize_t length = ::read(file, text.data(), text.size());
  ::close(file);
  const std::string_view lines(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  constexpr std::string_view name = "VmHWM:";
  const std::size_t line = lines.find(name);
  return line == std::string_view::npos ? 0 : number_at(lines.substr(line + name.size())) * 1024;
}

}  // namespace anabranch::runtime
