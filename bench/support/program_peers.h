#pragma once

#include <cstdint>

/// Programs by hand, with vectors of 16 floats. Where the processor has none, they are plain loops over floats, and it is
/// false.
namespace anabranch::bench {

bool has_programs_in_vectors();

/// How many rounds of z = z^2 + c, `limit` at most, each point of [left, right] x [low, high] stays within 2. Four
/// groups of 16 points at a time.
void mandelbrot_in_vectors(std::int32_t* out, std::int64_t width, std::int64_t height, float left,
                           float right, float low, float high, std::int32_t limit);

/// Acceleration of each of n bodies by all: the sum of m d / (d d + softening)^1.5.
void n_body_in_vectors(const float* x, const float* y, const float* z, const float* m, float* ax, float* ay,
                       float* az, std::int64_t n, float softening);

/// What results of both are compared with: plain loops over doubles. `scale` of n_body is the sum of the terms'
/// magnitudes.
void mandelbrot_in_doubles(std::int32_t* out, std::int64_t width, std::int64_t height, double left,
                           double right, double low, double high, std::int32_t limit);
struct Acceleration {
  double x, y, z, scale;
};
void n_body_in_doubles(const float* x, const float* y, const float* z, const float* m, Acceleration* out,
                       std::int64_t n, double softening);

}  // namespace anabranch::bench
