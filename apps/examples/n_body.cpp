#include "n_body.h"

#include "example.h"

/// n_body [BODIES]
int main(int argc, char** argv) try {
  using namespace anabranch;
  using namespace anabranch::examples;
  const std::int64_t n = size_from(argc, argv, 500);
  Numbers numbers;
  Vector<Body> bodies(Index{n});
  for (std::int64_t i = 0; i < n; ++i) {
    const float x = numbers.next(), y = numbers.next(), z = numbers.next();
    bodies.set(i, {x, y, z, numbers.next()});
  }
  const Vector<Acceleration> result = run(accelerations(use(bodies)));

  bool right = result.size() == n;
  for (std::int64_t i = 0; right && i < n; ++i) {
    const Body body = bodies[i];
    double x = 0, y = 0, z = 0, all_forces = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const Body other = bodies[j];
      const double dx = other.x - body.x, dy = other.y - body.y, dz = other.z - body.z;
      const double force = other.mass / std::pow(dx * dx + dy * dy + dz * dz + softening, 1.5);
      x += force * dx;
      y += force * dy;
      z += force * dz;
      all_forces += force;
    }
    const Acceleration got = result[i];
    // Of large forces from all sides a small one is left.
    const double tolerance = 1e-5 * all_forces;
    right = std::abs(got.x - x) <= tolerance && std::abs(got.y - y) <= tolerance &&
            std::abs(got.z - z) <= tolerance;
  }
  for (std::int64_t i = 0; i < n && i < 3; ++i) {
    const Acceleration a = result[i];
    std::printf("body %lld: %8.2f %8.2f %8.2f\n", static_cast<long long>(i), a.x, a.y, a.z);
  }
  return verdict(right);
} catch (const anabranch::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
