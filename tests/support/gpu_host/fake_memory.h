#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace anabranch::gpu_host {

/// Memory between guards. Freed memory stays for a while, overwritten; who writes there is found.
class FakeMemory {
 public:
  /// What the program does wrong goes to `violations`.
  explicit FakeMemory(std::vector<std::string>& violations) : violations_(violations) {}
  FakeMemory(const FakeMemory&) = delete;
  ~FakeMemory();

  void* allocate(std::size_t bytes);
  /// False: there is no such block.
  bool free(void* address);
  bool holds(const void* from, std::size_t bytes) const;
  /// The block that this is in: where it begins, and its size; null: there is none.
  std::pair<void*, std::size_t> block_of(const void* at) const;
  /// Did nobody write into freed memory?
  void check_quarantine();
  std::size_t in_use() const { return in_use_; }
  std::size_t count() const { return blocks_.size(); }

 private:
  void release_oldest();

  std::vector<std::string>& violations_;
  std::map<char*, std::size_t> blocks_;
  std::deque<std::pair<char*, std::size_t>> quarantine_;
  std::size_t in_use_ = 0, quarantined_ = 0;
};

}  // namespace anabranch::gpu_host
