#pragma once

#include <cstdint>

/// The structure checks on CSR arrays, at memory speed: nothing is located unless something is wrong.
namespace anabranch::io::detail {

/// Position of the first of p[0..n) that is smaller than its predecessor (p[-1] is `before`); n if there is
/// none.
std::int64_t first_decrease(const std::int32_t* p, std::int64_t n, std::int32_t before);
std::int64_t first_decrease(const std::int64_t* p, std::int64_t n, std::int64_t before);

/// Position of the first of p[0..n) outside [0, bound); n if there is none. bound >= 0.
std::int64_t first_outside(const std::int32_t* p, std::int64_t n, std::int64_t bound);
std::int64_t first_outside(const std::int64_t* p, std::int64_t n, std::int64_t bound);

}  // namespace anabranch::io::detail
