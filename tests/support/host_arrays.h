#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <anabranch/array.h>

/// Untyped host arrays in tests: made from lists, compared, shown.
namespace anabranch::testing {

using HostArray = std::shared_ptr<detail::ArrayData>;

/// A one-component array.
template <class T>
HostArray array_of(std::vector<std::int64_t> extents, const std::vector<T>& values) {
  HostArray out = detail::allocate_array(std::array{detail::scalar_type<T>}, extents);
  if (static_cast<std::int64_t>(values.size()) != out->size())
    throw std::logic_error("array_of: wrong count");
  for (std::size_t i = 0; i < values.size(); ++i) static_cast<T*>(out->buffers[0].get())[i] = values[i];
  return out;
}

template <class T>
HostArray vector_of(const std::vector<T>& values) {
  return array_of<T>({static_cast<std::int64_t>(values.size())}, values);
}

template <class T>
HostArray scalar_of(T value) {
  return array_of<T>({}, {value});
}

/// One-component arrays of one shape as one array of tuples.
inline HostArray zip(const std::vector<HostArray>& parts) {
  auto out = std::make_shared<detail::ArrayData>();
  out->extents = parts.at(0)->extents;
  for (const HostArray& part : parts) {
    if (part->extents != out->extents) throw std::logic_error("zip: shapes differ");
    out->scalars.push_back(part->scalars.at(0));
    out->buffers.push_back(part->buffers.at(0));
  }
  return out;
}

/// The elements of component c.
template <class T>
std::vector<T> values(const HostArray& array, std::size_t c = 0) {
  if (array->scalars.at(c) != detail::scalar_type<T>) throw std::logic_error("values: wrong type");
  const T* begin = static_cast<const T*>(array->buffers[c].get());
  return {begin, begin + array->size()};
}

namespace detail_of_same {
inline bool equal_at(ScalarType type, const unsigned char* x, const unsigned char* y) {
  const bool both_nan = detail::with_scalar(type, [&]<class T>(std::type_identity<T>) {
    T a, b;
    std::memcpy(&a, x, sizeof a);
    std::memcpy(&b, y, sizeof b);
    return a != a && b != b;
  });
  if (both_nan) return true;
  return std::memcmp(x, y, size_of(type)) == 0;
}
}  // namespace detail_of_same

/// Same types, shape and bits; any two NaN count as the same (a NaN's payload is not part of the language).
inline bool same(const HostArray& a, const HostArray& b) {
  if (a->scalars != b->scalars || a->extents != b->extents) return false;
  for (std::size_t c = 0; c < a->scalars.size(); ++c) {
    const std::size_t width = size_of(a->scalars[c]), count = static_cast<std::size_t>(a->size());
    if (count == 0 || std::memcmp(a->buffers[c].get(), b->buffers[c].get(), count * width) == 0) continue;
    for (std::size_t i = 0; i < count; ++i)
      if (!detail_of_same::equal_at(a->scalars[c],
                                    static_cast<const unsigned char*>(a->buffers[c].get()) + i * width,
                                    static_cast<const unsigned char*>(b->buffers[c].get()) + i * width))
        return false;
  }
  return true;
}

/// "(2, 3) int32: 1 2 3 4 5 6", at most 40 elements of each component.
inline std::string show(const HostArray& array) {
  std::string out = fmt::format("({})", fmt::join(array->extents, ", "));
  for (std::size_t c = 0; c < array->scalars.size(); ++c) {
    out += fmt::format(" {}:", name_of(array->scalars[c]));
    for (std::int64_t i = 0; i < std::min<std::int64_t>(array->size(), 40); ++i) {
      const void* buffer = array->buffers[c].get();
      detail::with_scalar(array->scalars[c], [&]<class T>(std::type_identity<T>) {
        const T value = static_cast<const T*>(buffer)[i];
        if constexpr (std::is_same_v<T, half>)
          out += fmt::format(" {}", static_cast<float>(value));
        else
          out += fmt::format(" {}", value);
      });
    }
    if (array->size() > 40) out += " ...";
  }
  return out;
}

}  // namespace anabranch::testing
