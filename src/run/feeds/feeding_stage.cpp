#include "run/feeds/feeding_stage.h"

#include <algorithm>
#include <utility>

#include "ir/cancelled.h"
#include "ir/device_error.h"
#include "run/chunks/chunk_layout.h"
#include "run/context/part_layout.h"

namespace anabranch::runtime {

using plan::PlanArray;

/// Takes what a chunk gives, as a chunk of items.
class FeedingStage::Results final : public StageOutput {
 public:
  Results(RunContext& context, const StageInput& input, const std::vector<ArrayInfo>& infos)
      : StageOutput(context, input.stage()), input_(input), infos_(infos), rooms_(stage_.results.size()) {}

  /// Results that are items are taken from these.
  void begin(const std::vector<SourceChunk>& items) { items_ = &items; }
  /// Of what has been committed in parts, in whichever order.
  SourceChunk take() {
    std::vector<SourceChunk> parts = std::exchange(parts_, {});
    if (parts.size() == 1) return std::move(parts[0]);
    std::sort(parts.begin(), parts.end(),
              [](const SourceChunk& a, const SourceChunk& b) { return a.first < b.first; });
    return joined(parts, infos_);
  }
  void clear() {
    for (Room& room : rooms_) room = {};
    parts_.clear();
  }
  void let_go() {
    for (Room& room : rooms_) room.reservation.release();
  }

  std::vector<void*> room(int result, std::int64_t elements) override {
    Room& room = rooms_[static_cast<std::size_t>(result)];
    room = {};
    const ir::ArrayType& type = array_of(static_cast<std::size_t>(result)).type;
    room.bytes = elements * width_of(type);
    room.reservation = context_.reserve("items between stages", room.bytes);
    std::vector<void*> addresses;
    for (const ScalarType scalar : type.scalars) {
      const auto bytes = static_cast<std::size_t>(elements) * size_of(scalar) + 64;
      room.memory.push_back(context_.memory.share(context_.memory.take(bytes)));
      addresses.push_back(room.memory.back().get());
    }
    return addresses;
  }

  void commit(PartShape shape) override {
    SourceChunk made{shape.items, shape.items, 0, {}, shape.first};
    for (std::size_t r = 0; r < stage_.results.size(); ++r) {
      const PlanArray& array = array_of(r);
      made.arrays.push_back(array.origin == PlanArray::Origin::item ? item(array.index, shape)
                                                                    : computed(r, shape));
      made.work = std::max(made.work, elements_of(made.arrays[r], infos_[r], shape.items));
      made.bytes += rooms_[r].bytes;
    }
    made.bytes += bytes_of_items_;
    bytes_of_items_ = 0;
    parts_.push_back(std::move(made));
  }

  void append(PartResults&& part) override {
    for (std::size_t r = 0; r < part.shape.results.size(); ++r) {
      if (array_of(r).origin == PlanArray::Origin::item) continue;
      const std::int64_t elements = part.shape.results[r].elements;
      const std::vector<void*> to = room(static_cast<int>(r), elements);
      for (std::size_t c = 0; c < to.size() && elements > 0; ++c)
        copy_on_all_threads(context_.executor, to[c], part.components[r][c],
                            elements * static_cast<std::int64_t>(size_of(array_of(r).type.scalars[c])));
    }
    commit(std::move(part.shape));
  }

 private:
  struct Room {
    std::vector<std::shared_ptr<void>> memory;
    std::int64_t bytes = 0;
    scheduler::Reservation reservation;
  };

  /// An item array as the source gives it.
  ArrayChunk item(int number, const PartShape& shape) {
    for (std::size_t s = 0; s < input_.infos().size(); ++s) {
      const auto count = static_cast<int>(input_.infos()[s].size());
      if (number >= count) {
        number -= count;
        continue;
      }
      const SourceChunk& all = (*items_)[s];
      const std::int64_t begin = shape.first - all.first;
      const SourceChunk chunk =
          shape.items == all.items ? all : slice(all, input_.infos()[s], begin, begin + shape.items);
      bytes_of_items_ = std::max(bytes_of_items_, chunk.bytes);
      const ArrayInfo& info = input_.infos()[s][static_cast<std::size_t>(number)];
      ArrayInfo wide = info;
      wide.offsets = OffsetType::int64;
      SourceChunk one{chunk.items, 0, 0, {chunk.arrays[static_cast<std::size_t>(number)]}, 0};
      return with_layout(one, {info}, {wide}).arrays[0];
    }
    throw InternalError("a stage gives an item that no source of it has");
  }

  ArrayChunk computed(std::size_t r, const PartShape& shape) {
    ArrayChunk array;
    for (auto& memory : rooms_[r].memory) array.data.push_back(std::move(memory));
    rooms_[r].memory.clear();
    set_shapes(array, infos_[r], shape.items, shape.results[r]);
    return array;
  }

  const StageInput& input_;
  const std::vector<ArrayInfo>& infos_;
  const std::vector<SourceChunk>* items_ = nullptr;
  std::vector<Room> rooms_;
  std::int64_t bytes_of_items_ = 0;
  std::vector<SourceChunk> parts_;
};

FeedingStage::FeedingStage(RunContext& context, RunBackend& backend, int number, GlobalValues& global,
                           Streams streams, const OpenFed& open_fed)
    : context_(context),
      streams_(std::move(streams)),
      input_(context, context.plan.stages[static_cast<std::size_t>(number)], global, streams_, open_fed),
      computes_(!input_.stage().group.steps.empty()) {
  for (const int result : input_.stage().results)
    infos_.push_back(
        info_of(input_.stage().group.arrays[static_cast<std::size_t>(result)], input_.uniforms()));
  results_ = std::make_unique<Results>(context, input_, infos_);
  if (computes_) computing_ = backend.open_stage(input_.work(1));
}
FeedingStage::~FeedingStage() = default;

bool FeedingStage::next(const Limit& limit, SourceChunk& chunk) {
  results_->clear();
  if ((read_.empty() || read_at_ == read_[0].items) && !read(limit)) return false;
  // Where there is no memory for it now, what has been read waits for the next call.
  while (reservations_.size() < read_.size())
    reservations_.push_back(context_.reserve("chunks", read_[reservations_.size()].bytes));
  compute(chunk);
  return true;
}

void FeedingStage::let_go() {
  results_->let_go();
  if (read_.empty() || read_at_ < read_[0].items) return;
  reservations_.clear();
  read_.clear();
}

bool FeedingStage::read(const Limit& limit) {
  read_.clear();
  reservations_.clear();
  read_at_ = 0;
  if (streams_.aborted()) ir::raise_cancelled();  // whoever reads it may ask again and again
  const bool at_once = limit.until == std::chrono::steady_clock::time_point::min();
  // What it gives as it is, is counted once more by whoever takes it, which may be one that gives it as it is.
  const std::int64_t few = context_.budget.available() / 8;
  const std::int64_t bytes = std::min(limit.bytes, std::max({few, limit.bytes / 3, std::int64_t{1}}));
  if (!input_.read({.items = limit.items, .work = limit.work, .bytes = bytes}, read_, at_once)) {
    read_.clear();
    return false;
  }
  items_that_fit_ = read_[0].items;
  return true;
}

/// Of what has been read: as much as fits, in halves if it must be.
void FeedingStage::compute(SourceChunk& chunk) {
  const std::int64_t whole = read_[0].items;
  for (;;) {
    const std::int64_t end = std::min(whole, read_at_ + items_that_fit_);
    const std::vector<SourceChunk> part =
        end - read_at_ == whole ? read_ : input_.part_of(read_, read_at_, end);
    if (fits(part, chunk) || (makes_room() && fits(part, chunk))) {
      read_at_ = end;
      return;
    }
    if (end - read_at_ <= 1) std::rethrow_exception(refusal_);
    items_that_fit_ = (end - read_at_) / 2;
  }
}

bool FeedingStage::makes_room() {
  const PassStreams::Turn turn = streams_.turn();
  return computes_ && computing_->make_room(0);
}

bool FeedingStage::fits(const std::vector<SourceChunk>& items, SourceChunk& chunk) {
  const PassStreams::Turn turn = streams_.turn();
  try {
    results_->begin(items);
    if (computes_) {
      computing_->enqueue(0, items, *results_);
      computing_->complete(0, *results_);
    } else {
      results_->commit({.first = items[0].first, .items = items[0].items, .results = {}});
    }
    chunk = results_->take();
    return true;
  } catch (const scheduler::BudgetExceeded&) {
    refusal_ = std::current_exception();
  } catch (const ir::DeviceError&) {
    throw;
  } catch (const RunError&) {
    if (!context_.gives_before_failure) throw;
    refusal_ = std::current_exception();
  }
  results_->clear();
  return false;
}

}  // namespace anabranch::runtime
