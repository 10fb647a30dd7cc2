#pragma once

#include <anabranch/anabranch.h>

/// Bodies that attract each other.
namespace anabranch::examples {

struct Body {
  float x, y, z, mass;
};
ANABRANCH_AGGREGATE(Body, x, y, z, mass);

struct Acceleration {
  float x, y, z;
};
ANABRANCH_AGGREGATE(Acceleration, x, y, z);

/// Added to squares of distances, so that no two bodies are too near.
constexpr float softening = 0.01F;

/// Of each body by all of them: the sum of m d / (d d + softening)^1.5. A body does not move itself: d is 0.
inline Acc<Vector<Acceleration>> accelerations(const Acc<Vector<Body>>& bodies) {
  const auto by_one = [](auto body, auto other) {
    const auto dx = other->x - body->x, dy = other->y - body->y, dz = other->z - body->z;
    const auto square = dx * dx + dy * dy + dz * dz + softening;
    const auto force = other->mass / (square * sqrt(square));
    return make<Acceleration>(force * dx, force * dy, force * dz);
  };
  const auto add = [](auto a, auto b) { return make<Acceleration>(a->x + b->x, a->y + b->y, a->z + b->z); };
  const auto n = size(bodies);
  const auto pairs = zip_with(by_one, replicate(bodies, all, n), replicate(bodies, n, all));
  return fold(add, make<Acceleration>(Exp<float>(0.0F), Exp<float>(0.0F), Exp<float>(0.0F)), pairs);
}

}  // namespace anabranch::examples
