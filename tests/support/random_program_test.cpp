// The random programs themselves: well typed, without errors, the same for the same seed.

#include "support/random_program.h"

#include <algorithm>
#include <set>

#include "fuse/accumulate.h"
#include "fuse/components.h"
#include "interp/interpret.h"
#include "ir/op_info.h"
#include "ir/staged.h"
#include "ir/views.h"
#include "ir/walk.h"
#include "support/catch.h"
#include "support/host_arrays.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

void check(const RandomProgram& program, const RandomProgram& again) {
  INFO(describe(program));
  const auto first = interp::run(program.roots);
  const auto second = interp::run(again.roots);
  REQUIRE(first.size() == program.roots.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i]->scalars == program.roots[i]->type().scalars);
    CHECK(static_cast<int>(first[i]->extents.size()) == program.roots[i]->type().rank);
    if (!same(first[i], second[i])) FAIL(show(first[i]) << " but again " << show(second[i]));
  }
}

}  // namespace

TEST_CASE("random array programs run") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const int size = 1 + static_cast<int>(seed % 20);
    check(random_array_program(seed, size), random_array_program(seed, size));
  }
}

TEST_CASE("random sequence programs run") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const int size = 1 + static_cast<int>(seed % 12);
    check(random_sequence_program(seed, size), random_sequence_program(seed, size));
  }
}

TEST_CASE("random programs cover every operation") {
  std::set<ir::Op> seen;
  std::set<ir::Primitive> primitives;
  const auto collect = [&](const RandomProgram& program) {
    for (const ir::Node* node : ir::topological(program.roots)) {
      seen.insert(node->op());
      if (node->op() == ir::Op::primitive) primitives.insert(node->payload().primitive);
    }
  };
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    collect(random_array_program(seed, 10));
    collect(random_sequence_program(seed, 5));
  }
  CHECK(seen.size() == ir::op_count);
  CHECK(primitives.size() == static_cast<std::size_t>(ir::primitive_count));
}

TEST_CASE("components of tuples become arrays of their own in many random programs") {
  int many = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RandomProgram programs[] = {random_array_program(seed, 10), random_sequence_program(seed, 6)};
    for (const RandomProgram& program : programs) many += fuse::components(program.roots) != program.roots;
  }
  CHECK(many > 60);
}

TEST_CASE("one random program in five has segments, and some have other parts of arrays") {
  int with_segments = 0, with_others = 0, of_computed = 0, of_items = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const int size = 1 + static_cast<int>(seed % 20);
    const RandomProgram programs[] = {random_array_program(seed, size),
                                      random_sequence_program(seed, std::min(size, 12))};
    for (const RandomProgram& program : programs) {
      bool segments = false, others = false, computed = false, items = false;
      for (const ir::Node* node : ir::topological(program.roots)) {
        if (node->op() != ir::Op::part) continue;
        (node->payload().consecutive ? segments : others) = true;
        const ir::Ref& whole = ir::PartOf(*node).array();
        computed |= whole->op() == ir::Op::reshape && !ir::is_given(*ir::Reshape(whole).array());
        items |= !whole->closed();
      }
      with_segments += segments;
      with_others += others;
      of_computed += computed;
      of_items += items;
    }
  }
  INFO(with_segments << " with segments, " << with_others << " with other parts, " << of_computed
                     << " with parts of computed arrays, " << of_items
                     << " with parts of what an item has, of 600");
  CHECK(with_segments > 80);
  CHECK(with_segments < 150);
  CHECK(with_others > 60);
  CHECK(of_computed > 60);
  CHECK(of_items > 30);
}

TEST_CASE("states of random programs pass in every way") {
  int scans = 0, pairs = 0, moved = 0, loops = 0;
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    const RandomProgram program = random_state_program(seed, 10);
    for (const ir::Node* node : ir::topological(program.roots)) {
      if (node->op() != ir::Op::map_accum_seq) continue;
      const ir::MapAccumSeq accum(*node);
      const auto of_chunk = fuse::accumulated_by_chunk(accum.function(), accum.state().size());
      REQUIRE(of_chunk);
      for (const ir::Node* inner : ir::topological((*of_chunk)->results())) {
        const bool is_pair =
            inner->op() == ir::Op::scan && ir::Scan(*inner).array()->type().scalars[0] == ScalarType::boolean;
        scans += inner->op() == ir::Op::scan;
        pairs += is_pair;
        moved += inner->op() == ir::Op::generate;
        loops += inner->op() == ir::Op::scan_state;
      }
    }
  }
  INFO(scans << " scans, " << pairs << " of pairs, " << moved << " moved, " << loops << " loops");
  CHECK(scans > 60);
  CHECK(pairs > 25);
  CHECK(moved > 60);
  CHECK(loops > 60);
}

TEST_CASE("many random programs run", "[.long]") {
  for (std::uint64_t seed = 1000; seed < 3000; ++seed) {
    const int size = 1 + static_cast<int>(seed % 20);
    check(random_array_program(seed, size), random_array_program(seed, size));
    check(random_sequence_program(seed, size), random_sequence_program(seed, size));
  }
}
