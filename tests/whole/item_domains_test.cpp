// Arrays over different items of one chunk: each domain has its own number of items, and sizes, offsets and extents
// are those of the domain that an array belongs to. The group is made by hand: no operation chooses items yet.

#include "ir/make.h"
#include "run/chunks/chunk_geometry.h"
#include "support/catch.h"
#include "support/host_arrays.h"

namespace anabranch::testing {
namespace {

using plan::PlanArray;
using plan::PlanExtent;

/// 5 items, of which 3 belong to domain 1. Array 0: the items' numbers (regular, domain 0). Array 1: a size for each
/// item of domain 1. Array 2: rows of these sizes (segmented, domain 1). Array 3: 4 elements for each of domain 1.
plan::StagePlan two_domains() {
  plan::StagePlan stage;
  plan::Group& group = stage.group;
  group.domains = {{}, {0, {}}};
  const auto add = [&](int domain, ir::Form form, std::vector<PlanExtent> extents) -> PlanArray& {
    PlanArray array;
    array.node = ir::unit(ir::int64(0));
    array.type = {static_cast<int>(extents.size()), {ScalarType::int64}};
    array.form = form;
    array.domain = domain;
    array.extents = std::move(extents);
    group.arrays.push_back(array);
    return group.arrays.back();
  };
  const PlanExtent size{PlanExtent::Kind::per_item, 0, 1, 0};
  add(0, ir::Form::regular, {}).origin = PlanArray::Origin::item;
  add(1, ir::Form::regular, {});
  add(1, ir::Form::segmented, {size}).descriptor = 0;
  add(1, ir::Form::regular, {{PlanExtent::Kind::constant, 4, 0, 0}});
  group.descriptors.push_back({.domain = 1, .extents = {size}, .what = "rows", .place = {}});
  stage.results = {2};
  stage.sinks.push_back({{}, ir::Op::elements, 0});
  return stage;
}

class Geometry final : public runtime::ChunkGeometry {
 public:
  Geometry(const plan::StagePlan& stage, std::vector<std::int64_t> sizes)
      : ChunkGeometry(stage, std::vector<std::int64_t>()), chunks_(1), sizes_(std::move(sizes)) {
    chunks_[0].items = 5;
    chunks_[0].first = 100;
    chunks_[0].arrays.resize(1);
    begin(chunks_, infos_);
    shape_.items[1] = static_cast<std::int64_t>(sizes_.size());
    make_offsets(plan::OffsetsStep{0});
  }
  using ChunkGeometry::item_at;

 private:
  const std::int64_t* values(int array) const override {
    REQUIRE(array == 1);
    return sizes_.data();
  }
  std::vector<SourceChunk> chunks_;
  std::vector<std::vector<ArrayInfo>> infos_{{ArrayInfo{.scalars = {ScalarType::int64}, .extents = {}}}};
  std::vector<std::int64_t> sizes_;
};

/// A kernel whose positions are the elements of this array.
plan::KernelStep writing(const plan::StagePlan& stage, std::size_t array) {
  plan::KernelStep step;
  step.positions = stage.group.arrays[array];
  return step;
}

TEST_CASE("sizes, offsets and extents are those of the domain that an array belongs to") {
  const plan::StagePlan stage = two_domains();
  const Geometry chunk(stage, {2, 0, 7});
  CHECK(chunk.items(0) == 5);
  CHECK(chunk.items(1) == 3);
  CHECK(chunk.elements(0) == 5);
  CHECK(chunk.elements(1) == 3);
  CHECK(chunk.elements(2) == 9);
  CHECK(chunk.elements(3) == 12);
  CHECK(chunk.extents(2, 0) == std::vector<std::int64_t>{2, 0, 7});
  CHECK(chunk.item_at(writing(stage, 2), 1) == 0);
  CHECK(chunk.item_at(writing(stage, 2), 2) == 2);
  CHECK(chunk.item_at(writing(stage, 3), 11) == 2);
  const runtime::PartShape results = chunk.shape_of_results();
  CHECK(results.items == 3);
  CHECK(results.results[0].elements == 9);
  CHECK(results.results[0].extents == std::vector<std::vector<std::int64_t>>{{2, 0, 7}});
}

TEST_CASE("a domain without items") {
  const plan::StagePlan stage = two_domains();
  const Geometry chunk(stage, {});
  CHECK(chunk.elements(0) == 5);
  CHECK(chunk.elements(2) == 0);
  CHECK(chunk.elements(3) == 0);
  CHECK(chunk.shape_of_results().items == 0);
}

TEST_CASE("sizes name the domain that they are counted in") {
  const plan::StagePlan stage = two_domains();
  CHECK(plan::size_text(stage.group, stage.group.arrays[0]) == "8 B x items");
  CHECK(plan::size_text(stage.group, stage.group.arrays[3]) == "8 B x items of domain 1 x 4");
}

}  // namespace
}  // namespace anabranch::testing
