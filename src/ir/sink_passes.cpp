#include "ir/sink_passes.h"

#include <algorithm>
#include <typeinfo>
#include <utility>

#include <fmt/format.h>

namespace anabranch::ir {

namespace {

/// What a sink says of the items that it is given gets the place where the program writes to it.
class PlacedPass final : public SinkPass {
 public:
  PlacedPass(std::unique_ptr<SinkPass> pass, const Place& place) : pass_(std::move(pass)), place_(place) {}

  void write(const SinkChunk& chunk) override {
    at_place([&] { pass_->write(chunk); });
  }
  void finish() override {
    at_place([&] { pass_->finish(); });
  }
  void commit() override { pass_->commit(); }
  void undo() noexcept override { pass_->undo(); }
  std::int64_t resident_bytes() const override { return pass_->resident_bytes(); }
  bool waits_for_memory() const override { return pass_->waits_for_memory(); }

 private:
  template <class F>
  void at_place(F&& f) const {
    try {
      f();
    } catch (const RunError& e) {
      if (typeid(e) != typeid(RunError)) throw;  // a type of its own reaches the caller
      throw RunError(fmt::format("{} ({})", e.what(), to_string(place_)), place_, e.item());
    }
  }

  std::unique_ptr<SinkPass> pass_;
  Place place_;
};

}  // namespace

SinkPass& SinkPasses::begin(const std::shared_ptr<SinkBase>& sink, const SinkStart& start,
                            const Place& place) {
  if (std::any_of(begun_.begin(), begun_.end(), [&](const Begun& other) { return other.sink == sink; }))
    throw ProgramError(fmt::format("write ({}): the program writes to the sink {} twice; make one for each",
                                   to_string(place), sink->info().name),
                       place);
  begun_.push_back({sink, std::make_unique<PlacedPass>(sink->begin(start), place)});
  return *begun_.back().pass;
}

void SinkPasses::finish() {
  for (; finished_ < begun_.size(); ++finished_) begun_[finished_].pass->finish();
}

void SinkPasses::commit(const std::function<void()>& with) {
  finish();
  try {
    for (const Begun& each : begun_) each.pass->commit();
    if (with) with();
  } catch (...) {
    for (auto each = begun_.rbegin(); each != begun_.rend(); ++each) each->pass->undo();
    throw;
  }
  finished_ = 0;
  begun_.clear();  // what they have kept to undo it is gone
}

}  // namespace anabranch::ir
