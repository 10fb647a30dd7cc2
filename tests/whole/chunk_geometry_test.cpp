// The shape of a chunk (src/run/chunks/chunk_geometry.h).

#include <anabranch/anabranch.h>

#include "run/chunks/chunk_geometry.h"

#include "compile.h"
#include "front/handle.h"
#include "support/catch.h"

namespace anabranch::testing {
namespace {

/// Of the chunk of one segmented array of doubles with these offsets.
SourceChunk chunk_with(const std::vector<std::int64_t>& offsets) {
  const auto kept = std::make_shared<const std::vector<std::int64_t>>(offsets);
  SourceChunk chunk;
  chunk.items = static_cast<std::int64_t>(offsets.size()) - 1;
  chunk.first = 0;
  chunk.arrays.resize(1);
  chunk.arrays[0].data.emplace_back();
  chunk.arrays[0].offsets = std::shared_ptr<const void>(kept, kept->data());
  return chunk;
}

/// Items are all that it has.
class Shape final : public runtime::ChunkGeometry {
 public:
  using ChunkGeometry::begin;
  using ChunkGeometry::ChunkGeometry;
  using ChunkGeometry::release_items;

 private:
  const std::int64_t* values(int) const override { return nullptr; }
};

TEST_CASE("the shape of a chunk is known as long as it is asked for, and then its memory is let go") {
  const std::vector<Vector<double>> no_rows;
  const auto doubled = [](auto row) { return map([](auto v) { return v * 2.0; }, row); };
  const Compiled program = compile_program(
      {front::node_of(consume(tabulate(map_seq(doubled, stream_in(no_rows)))).handle())}, {}, {});
  const std::vector<std::vector<ArrayInfo>> infos{
      {{{ScalarType::float64}, {std::nullopt}, 1, OffsetType::int64}}};
  Shape shape(program.plan.stages[0], {});
  std::vector<SourceChunk> chunks{chunk_with({0, 3, 8, 8})};
  shape.begin(chunks, infos);
  const std::weak_ptr<const void> offsets = chunks[0].arrays[0].offsets;
  chunks[0] = chunk_with({0, 1, 1, 1});  // the caller has gone on
  REQUIRE(shape.shape_of_results().results[0].extents == std::vector<std::vector<std::int64_t>>{{3, 5, 0}});
  REQUIRE(!offsets.expired());
  shape.release_items();
  REQUIRE(offsets.expired());
}

}  // namespace
}  // namespace anabranch::testing
