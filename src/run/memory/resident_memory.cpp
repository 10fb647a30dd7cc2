#include "run/memory/resident_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
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

/// As much of a file as fits; empty where there is none.
std::string_view contents_of(const char* path, std::array<char, 4096>& text) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = ::read(file, text.data(), text.size());
  ::close(file);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

}  // namespace

/// The file is opened for each look: one that stays open tells a forked process of its parent.
std::int64_t resident_memory() noexcept {
  static std::atomic<std::int64_t> next_ns = INT64_MIN, bytes = -1;
  const std::int64_t now_ns =
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  std::int64_t due_ns = next_ns.load(std::memory_order_relaxed);
  // One of those who find that it is time looks; the others take what there is, if there is something.
  const bool mine = now_ns >= due_ns && next_ns.compare_exchange_strong(due_ns, now_ns + between_looks_ns);
  if (!mine && bytes >= 0) return bytes;
  std::array<char, 4096> text;
  const std::string_view fields = contents_of("/proc/self/statm", text);
  const std::size_t second = fields.find(' ');  // the first is the size of the address space
  const std::int64_t told = second == std::string_view::npos
                                ? std::max<std::int64_t>(bytes, 0)
                                : number_at(fields.substr(second)) * ::sysconf(_SC_PAGESIZE);
  bytes = told;
  return told;
}

std::int64_t peak_resident_memory() noexcept {
  std::array<char, 4096> text;
  const std::string_view lines = contents_of("/proc/self/status", text);
  constexpr std::string_view name = "VmHWM:";
  const std::size_t line = lines.find(name);
  return line == std::string_view::npos ? 0 : number_at(lines.substr(line + name.size())) * 1024;
}

}  // namespace anabranch::runtime
