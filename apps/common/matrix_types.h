#pragma once

#include <cstdint>
#include <type_traits>

#include <anabranch/error.h>
#include <anabranch/io.h>

#include <fmt/format.h>

namespace anabranch::apps {

/// Calls f with the types of a matrix file: f(type_identity<I>, type_identity<T>), I int32 or int64, T float
/// or double. Another value type is a DataError: converting it would be a choice, and the user's.
template <class F>
auto with_types_of(const io::CsrHeader& header, const std::string& path, F&& f) {
  const auto with_index = [&](auto value) {
    if (header.index == ScalarType::int64) return f(std::type_identity<std::int64_t>{}, value);
    return f(std::type_identity<std::int32_t>{}, value);
  };
  if (header.value == ScalarType::float64) return with_index(std::type_identity<double>{});
  if (header.value == ScalarType::float32) return with_index(std::type_identity<float>{});
  throw DataError(
      fmt::format("{}: values of type {}; float and double are read (convert with A.astype('float64'))", path,
                  name_of(header.value)));
}

}  // namespace anabranch::apps
