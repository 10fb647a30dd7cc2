#pragma once

#include <algorithm>
#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/export.h>
#include <anabranch/source.h>

/// Ragged host arrays: vectors of different lengths, one after the other in flat memory.
namespace anabranch {

namespace detail {

/// Offsets of vectors of these lengths: from 0 on. Throws RunError where one is negative or the sum overflows.
ANABRANCH_API Vector<std::int64_t> offsets_of_lengths(std::span<const std::int64_t> lengths);
/// Throws RunError unless they begin with 0, never fall and end with the number of values.
ANABRANCH_API void check_offsets(const Vector<std::int64_t>& offsets, std::int64_t values);
/// Elements [first, first + count) as a vector that shares them.
ANABRANCH_API std::shared_ptr<ArrayData> elements_of(const ArrayData& vector, std::int64_t first,
                                                     std::int64_t count);
/// The vectors as a source of views, which keep both arrays. The offsets have been checked.
ANABRANCH_API std::shared_ptr<SourceBase> ragged_source(const Vector<std::int64_t>& offsets,
                                                        const std::shared_ptr<ArrayData>& values);

/// A range over the items of something that has a size and items by number.
template <class Items>
class ItemIterator {
 public:
  using value_type = typename Items::value_type;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::random_access_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using reference = value_type;
  using pointer = void;

  ItemIterator() = default;
  ItemIterator(const Items* items, std::int64_t at) : items_(items), at_(at) {}

  value_type operator*() const { return (*items_)[at_]; }
  value_type operator[](difference_type n) const { return (*items_)[at_ + n]; }
  ItemIterator& operator++() { return *this += 1; }
  ItemIterator& operator--() { return *this -= 1; }
  ItemIterator operator++(int) { return std::exchange(*this, *this + 1); }
  ItemIterator operator--(int) { return std::exchange(*this, *this - 1); }
  ItemIterator& operator+=(difference_type n) {
    at_ += n;
    return *this;
  }
  ItemIterator& operator-=(difference_type n) { return *this += -n; }
  friend ItemIterator operator+(ItemIterator i, difference_type n) { return i += n; }
  friend ItemIterator operator+(difference_type n, ItemIterator i) { return i += n; }
  friend ItemIterator operator-(ItemIterator i, difference_type n) { return i -= n; }
  friend difference_type operator-(const ItemIterator& a, const ItemIterator& b) { return a.at_ - b.at_; }
  friend bool operator==(const ItemIterator& a, const ItemIterator& b) { return a.at_ == b.at_; }
  friend auto operator<=>(const ItemIterator& a, const ItemIterator& b) { return a.at_ <=> b.at_; }

 private:
  const Items* items_ = nullptr;
  std::int64_t at_ = 0;
};

}  // namespace detail

/// Vectors of any lengths with elements T: `values()` has the elements of all, vector i of them is
/// values[offsets[i]] up to, not with, values[offsets[i + 1]].
///
/// A Ragged is a handle as an Array is: copies share the elements, and so do the vectors that it gives. What it
/// is made of it keeps, no matter whether that owns its memory or is a view (Array::view). It is a range of
/// Vectors; `stream_in` gives its items to a program where they lie.
template <class T>
class Ragged {
 public:
  using value_type = Vector<T>;

  /// Of no vectors.
  Ragged() : offsets_(Index{1}) {}

  /// Copies of these vectors.
  explicit Ragged(const std::vector<Vector<T>>& items) : Ragged(sized(items)) {
    std::int64_t at = 0;
    for (const Vector<T>& item : items)
      for (std::int64_t k = 0; k < item.size(); ++k) values_.set(at++, item[k]);
  }
  explicit Ragged(const std::vector<std::vector<T>>& items) : Ragged(sized(items)) {
    std::int64_t at = 0;
    for (const std::vector<T>& item : items)
      for (const T& value : item) values_.set(at++, value);
  }
  Ragged(std::initializer_list<std::vector<T>> items) : Ragged(std::vector<std::vector<T>>(items)) {}

  /// Of values that are there, and kept. Throws RunError unless the offsets begin with 0, never fall and end
  /// with the number of values.
  static Ragged from_offsets(Vector<std::int64_t> offsets, Vector<T> values) {
    detail::check_offsets(offsets, values.size());
    return Ragged(std::move(offsets), std::move(values));
  }
  /// The same from the length of each vector. Throws RunError where one is negative or their sum is not the
  /// number of values.
  static Ragged from_lengths(std::span<const std::int64_t> lengths, Vector<T> values) {
    return from_offsets(detail::offsets_of_lengths(lengths), std::move(values));
  }
  static Ragged from_lengths(const Vector<std::int64_t>& lengths, Vector<T> values) {
    return from_lengths(lengths.values(), std::move(values));
  }

  /// Vectors.
  std::int64_t size() const { return offsets_.size() - 1; }
  bool empty() const { return size() == 0; }
  /// Elements of vector i.
  std::int64_t length(std::int64_t i) const { return offsets_[i + 1] - offsets_[i]; }
  /// Vector i, 0 <= i < size(); shares its elements with this.
  Vector<T> operator[](std::int64_t i) const {
    assert(i >= 0 && i < size());
    return Vector<T>(detail::elements_of(*values_.erased(), offsets_[i], length(i)));
  }
  detail::ItemIterator<Ragged> begin() const { return {this, 0}; }
  detail::ItemIterator<Ragged> end() const { return {this, size()}; }

  /// size() + 1 positions in `values`, from 0 on.
  const Vector<std::int64_t>& offsets() const { return offsets_; }
  const Vector<T>& values() const { return values_; }

  /// The vectors for `stream_in`: views of the elements, no copies.
  Source<Vector<T>> source() const {
    return Source<Vector<T>>(detail::ragged_source(offsets_, values_.erased()));
  }

  /// Equal lengths and bitwise the same elements.
  friend bool operator==(const Ragged& a, const Ragged& b) {
    return a.offsets_ == b.offsets_ && a.values_ == b.values_;
  }

 private:
  Ragged(Vector<std::int64_t> offsets, Vector<T> values)
      : offsets_(std::move(offsets)), values_(std::move(values)) {}

  /// With room for these.
  template <class Items>
  static Ragged sized(const Items& items) {
    std::vector<std::int64_t> lengths;
    for (const auto& item : items) lengths.push_back(static_cast<std::int64_t>(item.size()));
    auto offsets = detail::offsets_of_lengths(lengths);
    const std::int64_t elements = offsets[offsets.size() - 1];
    return Ragged(std::move(offsets), Vector<T>(elements));
  }

  Vector<std::int64_t> offsets_;
  Vector<T> values_;
};

}  // namespace anabranch
