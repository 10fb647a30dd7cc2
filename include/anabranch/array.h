#pragma once

#include <cassert>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <anabranch/element.h>
#include <anabranch/error.h>
#include <anabranch/export.h>

/// Host arrays: what goes into `use` and comes out of `run`. An Array is a handle: copying one never copies
/// elements, and what is written through one handle is seen through all its copies, as with a
/// std::shared_ptr. `copy()` is an array of its own, and so is every result of a run. One 64-byte aligned
/// buffer per scalar component.
///
/// Handles may be copied and dropped in any thread; elements are plain memory: nobody may write them while
/// another thread or a run reads them.
namespace anabranch {

namespace detail {

/// Where else the elements of an array are: on a GPU, between runs (DeviceArray).
class Residence;

/// An Array with its types forgotten. `buffers[c]` points at the elements of component c and owns (or shares
/// the owner of) them.
struct ArrayData {
  std::vector<ScalarType> scalars;
  std::vector<std::int64_t> extents;
  std::vector<std::shared_ptr<void>> buffers;
  std::int64_t room = 0;  ///< elements that each buffer holds, where these are more than the extents say
  bool writable = true;   ///< false: a view of constants
  std::shared_ptr<Residence> residence{};  ///< null: nowhere else

  std::int64_t size() const;  ///< product of the extents
  std::int64_t capacity() const { return room > size() ? room : size(); }
};

/// Product of extents; throws RunError if one is negative or the product overflows.
ANABRANCH_API std::int64_t checked_size(std::span<const std::int64_t> extents);

/// New zero-filled storage for these extents. Throws RunError on a bad extent, std::bad_alloc when it does
/// not fit.
ANABRANCH_API std::shared_ptr<ArrayData> allocate_array(std::span<const ScalarType> scalars,
                                                        std::span<const std::int64_t> extents);

/// 64-byte aligned memory, freed with its last owner. `bytes` may be 0.
ANABRANCH_API std::shared_ptr<void> allocate_aligned(std::size_t bytes);

/// The same elements in memory of their own.
ANABRANCH_API std::shared_ptr<ArrayData> copy_of(const ArrayData& array);

/// Other memory with as much room, not filled, and of the same shape.
ANABRANCH_API std::shared_ptr<ArrayData> room_like(const ArrayData& array);

/// Throws RunError: row `number` of a matrix has another length than the first one.
[[noreturn]] ANABRANCH_API void refuse_row(std::int64_t number, std::int64_t first_length,
                                           std::size_t length);

/// Throws ProgramError: the array is a view of constants.
[[noreturn]] ANABRANCH_API void refuse_to_write();

inline std::int64_t ArrayData::size() const {
  std::uint64_t n = 1;  // beside an extent of 0 the product of the others may be beyond 64 bits
  for (const std::int64_t e : extents) n *= static_cast<std::uint64_t>(e);
  return static_cast<std::int64_t>(n);
}

}  // namespace detail

/// An array of rank N (0..4) with elements T, row-major, outermost dimension first.
template <int N, class T>
class Array {
  static_assert(N >= 0 && N <= 4, "anabranch: an array has a rank from 0 to 4");
  static_assert(IsElement<T>, "anabranch: the elements of an array are " ANABRANCH_ELEMENTS);

 public:
  static constexpr int rank = N;
  using value_type = T;
  /// What reading an element gives.
  using Read = std::conditional_t<std::is_class_v<T>, const T, T>;
  static constexpr int components = [] {
    if constexpr (IsElement<T>) return detail::components<T>;
    return 0;
  }();

  /// All extents zero (rank 0: one element, zero).
  Array() : Array(Index<N>{}) {}

  /// Zero-filled, of the given shape.
  explicit Array(const Index<N>& shape)
      : data_(detail::allocate_array(detail::Element<T>::scalars, shape.at)) {}

  /// A zero-filled vector of n elements. (Vector<double>{3} has one element, 3.)
  template <std::integral I>
    requires(N == 1 && !std::is_same_v<I, bool>)
  explicit Array(I n) : Array(Index<1>{{static_cast<std::int64_t>(n)}}) {}

  /// Of the given shape, or a vector of n elements, each of this value: Vector<double>(n, 1.0).
  Array(const Index<N>& shape, const T& value) : Array(shape) {
    for (std::int64_t i = 0; i < size(); ++i) set(i, value);
  }
  template <std::integral I>
    requires(N == 1 && !std::is_same_v<I, bool>)
  Array(I n, const T& value) : Array(Index<1>{{static_cast<std::int64_t>(n)}}, value) {}

  /// Filled from values in row-major order. Throws RunError
  /// unless there are exactly as many as the shape asks for.
  Array(const Index<N>& shape, std::span<const T> values) : Array(shape) { assign(values); }
  Array(const Index<N>& shape, std::initializer_list<T> values) : Array(shape) {
    assign({values.begin(), values.size()});
  }
  /// A vector of these values.
  Array(std::initializer_list<T> values)
    requires(N == 1)
      : Array(Index<1>{{static_cast<std::int64_t>(values.size())}}) {
    assign({values.begin(), values.size()});
  }
  /// A matrix of these rows, Matrix<double>{{1, 2, 3}, {4, 5, 6}}; RunError unless all are of one length. (One of zeros is
  /// Matrix<double>(Index{2, 3}).)
  Array(std::initializer_list<std::initializer_list<T>> rows)
    requires(N == 2)
      : Array(Index<2>{{static_cast<std::int64_t>(rows.size()),
                        rows.size() == 0 ? 0 : static_cast<std::int64_t>(rows.begin()->size())}}) {
    const std::int64_t columns = data_->extents[1];
    std::int64_t at = 0;
    for (const std::initializer_list<T>& row : rows) {
      if (static_cast<std::int64_t>(row.size()) != columns) detail::refuse_row(at, columns, row.size());
      for (std::int64_t column = 0; const T& value : row) set(at * columns + column++, value);
      ++at;
    }
  }
  explicit Array(std::span<const T> values)
    requires(N == 1)
      : Array(Index<1>{{static_cast<std::int64_t>(values.size())}}) {
    assign(values);
  }
  explicit Array(const std::vector<T>& values)
    requires(N == 1 && !std::is_same_v<T, bool>)
      : Array(std::span<const T>(values)) {}
  /// A scalar array.
  explicit Array(const T& value)
    requires(N == 0)
      : Array(Index<0>{}) {
    set(0, value);
  }

  /// A view of memory the caller owns: what is there is read, what is written goes there. `owner` is kept as
  /// long as any handle lives. No copy is made. The memory must not change while a run uses it.
  static Array view(const Index<N>& shape, T* elements, std::shared_ptr<const void> owner = {})
    requires IsScalar<T>
  {
    auto data = std::make_shared<detail::ArrayData>();
    data->scalars.assign(detail::Element<T>::scalars.begin(), detail::Element<T>::scalars.end());
    data->extents.assign(shape.at.begin(), shape.at.end());
    detail::checked_size(data->extents);
    data->buffers.push_back(std::shared_ptr<void>(std::const_pointer_cast<void>(std::move(owner)), elements));
    return Array(std::move(data));
  }
  /// A view of constants: writing to it is a ProgramError.
  static Array view(const Index<N>& shape, const T* elements, std::shared_ptr<const void> owner = {})
    requires IsScalar<T>
  {
    Array out = view(shape, const_cast<T*>(elements), std::move(owner));
    out.data_->writable = false;
    return out;
  }

  /// The same elements in memory of their own.
  Array copy() const { return Array(detail::copy_of(*data_)); }

  Index<N> shape() const {
    Index<N> out;
    for (int d = 0; d < N; ++d) out[d] = data_->extents[static_cast<std::size_t>(d)];
    return out;
  }
  std::int64_t size() const { return data_->size(); }
  std::int64_t extent(int d) const { return data_->extents[static_cast<std::size_t>(d)]; }
  /// Elements that its memory holds: size(), or more where `Program::run_into` has put fewer there.
  std::int64_t capacity() const { return data_->capacity(); }

  /// The elements of a one-component array, row-major.
  const T* data() const
    requires IsScalar<T>
  {
    return static_cast<const T*>(data_->buffers[0].get());
  }
  T* mutable_data()
    requires IsScalar<T>
  {
    return static_cast<T*>(mutable_component(0));
  }
  std::span<const T> values() const
    requires IsScalar<T>
  {
    return {data(), static_cast<std::size_t>(size())};
  }
  /// The same, to be written: in all handles of this array, and not while a run uses it.
  std::span<T> mutable_values()
    requires IsScalar<T>
  {
    return {mutable_data(), static_cast<std::size_t>(size())};
  }

  /// The elements of a vector: for (double x : v), std::span(v), std::ranges algorithms.
  const T* begin() const
    requires(N == 1 && IsScalar<T>)
  {
    return data();
  }
  const T* end() const
    requires(N == 1 && IsScalar<T>)
  {
    return data() + size();
  }

  /// The elements of scalar component C, row-major: of a Vector<std::tuple<int32_t, double>>, component<0>()
  /// is a span of int32_t. Components of nested products are counted flat.
  template <int C>
    requires(C >= 0 && C < components)
  auto component() const {
    using S = detail::ScalarOf<detail::Element<T>::scalars[static_cast<std::size_t>(C)]>;
    return std::span<const S>(static_cast<const S*>(component(C)), static_cast<std::size_t>(size()));
  }
  /// The raw elements of scalar component c (bool is stored as one byte).
  const void* component(int c) const { return data_->buffers[static_cast<std::size_t>(c)].get(); }
  void* mutable_component(int c) {
    if (!data_->writable) detail::refuse_to_write();
    return data_->buffers[static_cast<std::size_t>(c)].get();
  }

  /// Element at row-major position i, 0 <= i < size(): a copy, which is constant, so that assigning to it,
  /// which would change nothing, does not compile.
  Read operator[](std::int64_t i) const {
    assert(i >= 0 && i < size());
    T out{};
    int c = 0;
    detail::Element<T>::visit(out, [&](auto& scalar) {
      scalar = static_cast<const std::remove_reference_t<decltype(scalar)>*>(component(c++))[i];
    });
    return out;
  }
  Read operator[](const Index<N>& ix) const { return (*this)[linear(ix)]; }
  /// Refused, with a sentence.
  template <class X>
    requires requires(const X& x) { x.handle(); }
  T operator[](const X&) const {
    static_assert(
        detail::always_false<X>,
        "anabranch: this position is known when the program runs; the host array becomes part of it "
        "by use(array), and then take elements of that");
    return T{};
  }

  /// The element of a scalar array: double total = run(sum(v)).
  operator T() const
    requires(N == 0)
  {
    return (*this)[0];
  }

  /// Overwrites one element, in all handles of this array. Not while a run uses it.
  void set(std::int64_t i, const T& value) {
    assert(i >= 0 && i < size());
    int c = 0;
    detail::Element<T>::visit(value, [&](const auto& scalar) {
      static_cast<std::remove_cvref_t<decltype(scalar)>*>(mutable_component(c++))[i] = scalar;
    });
  }
  void set(const Index<N>& ix, const T& value) { set(linear(ix), value); }

  /// Same shape and bitwise the same elements.
  friend bool operator==(const Array& a, const Array& b) {
    if (a.shape() != b.shape()) return false;
    for (int c = 0; c < components; ++c) {
      const auto bytes = static_cast<std::size_t>(a.size()) *
                         size_of(detail::Element<T>::scalars[static_cast<std::size_t>(c)]);
      const auto* p = static_cast<const unsigned char*>(a.component(c));
      const auto* q = static_cast<const unsigned char*>(b.component(c));
      for (std::size_t i = 0; i < bytes; ++i)
        if (p[i] != q[i]) return false;
    }
    return true;
  }

  /// For the typed rim: the untyped core's handle.
  const std::shared_ptr<detail::ArrayData>& erased() const { return data_; }
  explicit Array(std::shared_ptr<detail::ArrayData> data) : data_(std::move(data)) {}

 private:
  std::int64_t linear(const Index<N>& ix) const {
    std::int64_t i = 0;
    for (int d = 0; d < N; ++d) {
      assert(ix[d] >= 0 && ix[d] < extent(d));
      i = i * extent(d) + ix[d];
    }
    return i;
  }
  void assign(std::span<const T> values) {
    if (static_cast<std::int64_t>(values.size()) != size())
      throw RunError("array: " + std::to_string(values.size()) + " values given for a shape of " +
                     std::to_string(size()) + " elements");
    for (std::size_t i = 0; i < values.size(); ++i) set(static_cast<std::int64_t>(i), values[i]);
  }

  std::shared_ptr<detail::ArrayData> data_;
};

template <class T>
using Scalar = Array<0, T>;
template <class T>
using Vector = Array<1, T>;
template <class T>
using Matrix = Array<2, T>;

namespace detail {
/// Components [first, first + count) of an array as an array of their own that shares them.
ANABRANCH_API std::shared_ptr<ArrayData> components_of(const ArrayData& array, int first, int count);

template <class... Ts, int N, class T>
std::tuple<Array<N, Ts>...> unzip_host(const Array<N, T>& a) {
  int next = 0;
  const auto part = [&]<class U>(std::type_identity<U>) {
    const int first = std::exchange(next, next + components<U>);
    return Array<N, U>(components_of(*a.erased(), first, components<U>));
  };
  return std::tuple<Array<N, Ts>...>{part(std::type_identity<Ts>{})...};
}
}  // namespace detail

/// An array of tuples or pairs as one array for each part, which share its elements; costs nothing.
/// auto [columns, values] = unzip(entries).
template <int N, class... Ts>
std::tuple<Array<N, Ts>...> unzip(const Array<N, std::tuple<Ts...>>& a) {
  return detail::unzip_host<Ts...>(a);
}
template <int N, class A, class B>
std::tuple<Array<N, A>, Array<N, B>> unzip(const Array<N, std::pair<A, B>>& a) {
  return detail::unzip_host<A, B>(a);
}

}  // namespace anabranch
