// So many elements of a sequence of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anabranch::scheduler {

/// Keeps the first `always` elements, and of those after them every 2^k'th, by their numbers, k growing as the
/// sequence does, so that there are never more than `capacity`.
template <class T>
class EvenSample {
 public:
  explicit EvenSample(std::size_t capacity, int64_t always = 0) : capacity_(capacity), always_(always) {}

  void add(const T& value) {
    const int64_t number = seen_++;
    if (!is_kept(number)) return;
    if (kept_.size() == capacity_) {
      stride_ *= 2;
      thin_out();
      if (!is_kept(number)) return;
    }
    kept_.push_back(value);
    numbers_.push_back(number);
  }
  const std::vector<T>& kept() const noexcept { return kept_; }

 private:
  bool is_kept(int64_t number) const noexcept { return number < always_ || number % stride_ == 0; }

  void thin_out() {
    std::size_t left = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (!is_kept(numbers_[i])) continue;
      kept_[left] = kept_[i];
      numbers_[left++] = numbers_[i];
    }
    kept_.resize(left);
    numbers_.resize(left);
  }

  std::size_t capacity_;
  int64_t always_;
  int64_t seen_ = 0;
  int64_t stride_ = 1;
  std::vector<T> kept_;
  std::vector<int64_t> numbers_;
};

}  // namespace anabranch::scheduler
