#include "run/sinks/write_sink.h"

#include <utility>

#include "ir/sink_passes.h"
#include "run/context/part_layout.h"

namespace anabranch::runtime {

using plan::PlanArray;

namespace {

/// What is put together of the arrays of an item.
class WrittenItems {
 public:
  WrittenItems(RunContext& context, const ir::Ref& consume, SinkStart start)
      : start_(std::move(start)),
        keeps_(ir::SinkTerm(ir::Consume(consume).sink()).sink()->info().keeps),
        pass_(context.sinks->begin(ir::SinkTerm(ir::Consume(consume).sink()).sink(), start_,
                                   ir::Consume(consume).sink()->place())),
        resident_(context.reserve("sinks", pass_.resident_bytes())) {
    chunk_.arrays.resize(start_.arrays.size());
  }

  /// `keeps`: whoever keeps the components keeps their memory.
  void add(std::size_t array, std::int64_t items, const PartShape::Result& part,
           const std::vector<std::shared_ptr<void>>& components, bool keeps) {
    chunk_.keeps = keeps;
    ArrayChunk& out = chunk_.arrays[array];
    out.data.assign(components.begin(), components.end());
    set_shapes(out, start_.arrays[array], items, part);
    if (array + 1 == chunk_.arrays.size()) write(items);
  }
  std::int64_t items() const { return chunk_.first; }
  bool keeps() const { return keeps_; }
  bool waits_for_memory() const { return pass_.waits_for_memory(); }

 private:
  void write(std::int64_t items) {
    chunk_.items = items;
    if (items > 0) pass_.write(chunk_);
    for (ArrayChunk& array : chunk_.arrays) array = {};
    chunk_.first += items;
  }

  SinkStart start_;
  const bool keeps_;
  SinkPass& pass_;
  scheduler::Reservation resident_;
  SinkChunk chunk_;
};

class WriteSink final : public Sink {
 public:
  WriteSink(RunContext& context, const PlanArray& array, std::shared_ptr<WrittenItems> written,
            std::size_t number)
      : context_(context), type_(array.type), written_(std::move(written)), number_(number) {}

  bool order_matters() const override { return true; }
  std::vector<void*> room(std::int64_t elements) override {
    memory_.clear();
    return addresses_of(memory_ = take_room(context_, type_, elements));
  }
  void forget_room() override { memory_.clear(); }
  bool take(const std::vector<std::shared_ptr<void>>& components, bool owned) override {
    memory_ = components;
    keeps_ = owned;
    return true;
  }
  bool takes_parts() const override { return true; }
  bool keeps() const override { return written_->keeps(); }
  bool waits_for_memory() const override { return written_->waits_for_memory(); }
  void commit(std::int64_t items, const PartShape::Result& part) override {
    elements_ += part.elements;
    written_->add(number_, items, part, std::exchange(memory_, {}), std::exchange(keeps_, true));
  }
  HostArray finish() override {
    HostArray count = detail::allocate_array(std::vector{ScalarType::int64}, {});
    *static_cast<std::int64_t*>(count->buffers[0].get()) = written_->items();
    return count;
  }
  std::int64_t elements() const override { return elements_; }

 private:
  RunContext& context_;
  const ir::ArrayType& type_;
  std::shared_ptr<WrittenItems> written_;      ///< of all arrays
  std::size_t number_;                         ///< of this one
  std::vector<std::shared_ptr<void>> memory_;  ///< of the part that is committed next
  bool keeps_ = true;
  std::int64_t elements_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Sink>> write_sinks(RunContext& context, const ir::Ref& consume,
                                               const std::vector<const PlanArray*>& arrays,
                                               const std::vector<std::int64_t>& uniforms,
                                               std::optional<std::int64_t> items) {
  SinkStart start;
  start.items = items;
  for (const PlanArray* array : arrays) start.arrays.push_back(info_of(*array, uniforms));
  const auto written = std::make_shared<WrittenItems>(context, consume, std::move(start));
  std::vector<std::unique_ptr<Sink>> sinks;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    sinks.push_back(std::make_unique<WriteSink>(context, *arrays[i], written, i));
  return sinks;
}

}  // namespace anabranch::runtime
