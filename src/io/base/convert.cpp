#include "io/base/convert.h"

#include <anabranch/error.h>

namespace anabranch::io::detail {

namespace {

template <class From, class To>
void convert_all(const void* in, void* out, std::int64_t count) {
  const auto* from = static_cast<const From*>(in);
  auto* to = static_cast<To*>(out);
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): a byte is a number here
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

using anabranch::detail::FloatValue;
using anabranch::detail::with_scalar;

template <class T>
constexpr bool is_index = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

}  // namespace

bool value_convertible(ScalarType from, ScalarType to) {
  return from == to ||
         with_scalar(to, []<class To>(std::type_identity<To>) -> bool { return FloatValue<To>; });
}

bool convertible(ScalarType from, ScalarType to) {
  const auto index = [](ScalarType type) { return type == ScalarType::int32 || type == ScalarType::int64; };
  return value_convertible(from, to) || (index(from) && index(to));
}

void convert(ScalarType from, const void* in, ScalarType to, void* out, std::int64_t count) {
  with_scalar(to, [&]<class To>(std::type_identity<To>) {
    if constexpr (FloatValue<To> || is_index<To>) {
      with_scalar(from, [&]<class From>(std::type_identity<From>) {
        // A bool is read as its byte: a file may hold other bytes than 0 and 1, which a C++ bool may not.
        using Read = std::conditional_t<std::same_as<From, bool>, std::uint8_t, From>;
        convert_all<Read, To>(in, out, count);
      });
    } else {
      throw InternalError(std::string("io: conversion to ") + name_of(to));
    }
  });
}

}  // namespace anabranch::io::detail
