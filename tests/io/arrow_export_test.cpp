#include "support/catch.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "io/arrow/arrow_export.h"

using namespace anabranch;

// Whose memory a batch has that is made of a chunk.
namespace {

template <class T>
using Memory = std::shared_ptr<std::vector<T>>;

template <class T>
Memory<T> memory_of(const std::vector<T>& values) {
  return std::make_shared<std::vector<T>>(values);
}
template <class T>
std::shared_ptr<const void> held(const Memory<T>& memory) {
  return {memory, memory->data()};
}

/// Three items: a vector of doubles and a bool each.
struct Items {
  Memory<std::int64_t> offsets = memory_of<std::int64_t>({0, 2, 2, 3});
  Memory<double> values = memory_of<double>({0.5, 1.5, 2.5});
  Memory<unsigned char> bools = memory_of<unsigned char>({1, 0, 1});

  std::vector<ArrayInfo> infos{{.scalars = {ScalarType::float64}, .extents = {std::nullopt}},
                               {.scalars = {ScalarType::boolean}, .extents = {}}};
  SinkChunk chunk(bool keeps) const {
    return {.items = 3,
            .arrays = {{.data = {held(values)}, .offsets = held(offsets), .extents = {}},
                       {.data = {held(bools)}, .offsets = {}, .extents = {}}},
            .keeps = keeps};
  }
};

const void* offsets_of(const ArrowArray& batch) { return batch.children[0]->buffers[1]; }
const double* values_of(const ArrowArray& batch) {
  return static_cast<const double*>(batch.children[0]->children[0]->buffers[1]);
}

}  // namespace

TEST_CASE("arrow export: a batch has the memory of a chunk that may be kept, for as long as it lives") {
  const Items items;
  ArrowArray batch;
  io::detail::export_batch(items.infos, items.chunk(true), batch);
  CHECK(batch.length == 3);
  CHECK(offsets_of(batch) == items.offsets->data());
  CHECK(values_of(batch) == items.values->data());
  CHECK(items.offsets.use_count() == 2);
  CHECK(items.values.use_count() == 2);
  // What has been moved out keeps its own.
  ArrowArray lists = *batch.children[0];
  batch.children[0]->release = nullptr;
  batch.release(&batch);
  CHECK(items.values.use_count() == 2);
  lists.release(&lists);
  CHECK(items.offsets.use_count() == 1);
  CHECK(items.values.use_count() == 1);
}

TEST_CASE("arrow export: of a chunk whose memory is used again the elements are copied") {
  const Items items;
  ArrowArray batch;
  io::detail::export_batch(items.infos, items.chunk(false), batch);
  CHECK(offsets_of(batch) == items.offsets->data());  // these are kept in any case
  CHECK(values_of(batch) != items.values->data());
  CHECK(items.values.use_count() == 1);
  items.values->assign(3, 0.0);
  CHECK(std::vector<double>(values_of(batch), values_of(batch) + 3) == std::vector<double>{0.5, 1.5, 2.5});
  batch.release(&batch);
}

TEST_CASE("arrow export: bools become bits, in memory of the batch") {
  const Items items;
  for (const bool keeps : {false, true}) {
    ArrowArray batch;
    io::detail::export_batch(items.infos, items.chunk(keeps), batch);
    const auto* const bits = static_cast<const unsigned char*>(batch.children[1]->buffers[1]);
    CHECK(bits != items.bools->data());
    CHECK(*bits == 0b101);
    CHECK(items.bools.use_count() == 1);
    batch.release(&batch);
  }
}
