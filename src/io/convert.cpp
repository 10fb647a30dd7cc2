#include "convert.h"

#include <anabranch/error.h>

namespace anabranch::io::detail {

namespace {

template <class From, class To>
void convert_all(const void* in, void* out, std::int64_t count) {
  const auto* from = static_cast<const From*>(in);
  auto* to = static_cast<To*>(out);
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

template <class To>
void convert_to(ScalarType from, const void* in, void* out, std::int64_t count) {
  switch (from) {
    // A bool is read as its byte: a file may hold other bytes than 0 and 1, which a C++ bool may not.
    case ScalarType::boolean:
    case ScalarType::uint8:
      return convert_all<std::uint8_t, To>(in, out, count);
    case ScalarType::int32:
      return convert_all<std::int32_t, To>(in, out, count);
    case ScalarType::int64:
      return convert_all<std::int64_t, To>(in, out, count);
    case ScalarType::float32:
      return convert_all<float, To>(in, out, count);
    case ScalarType::float64:
      return convert_all<double, To>(in, out, count);
  }
}

bool is_index(ScalarType type) { return type == ScalarType::int32 || type == ScalarType::int64; }

}  // namespace

bool convertible(ScalarType from, ScalarType to) {
  return from == to || to == ScalarType::float32 || to == ScalarType::float64 ||
         (is_index(from) && is_index(to));
}

void convert(ScalarType from, const void* in, ScalarType to, void* out, std::int64_t count) {
  switch (to) {
    case ScalarType::int32:
      return convert_to<std::int32_t>(from, in, out, count);
    case ScalarType::int64:
      return convert_to<std::int64_t>(from, in, out, count);
    case ScalarType::float32:
      return convert_to<float>(from, in, out, count);
    case ScalarType::float64:
      return convert_to<double>(from, in, out, count);
    case ScalarType::boolean:
    case ScalarType::uint8:
      break;
  }
  throw InternalError(std::string("io: conversion to ") + name_of(to));
}

}  // namespace anabranch::io::detail
