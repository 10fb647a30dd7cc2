#include <algorithm>
#include <array>

#include "ir/cancelled.h"
#include "ir/device_error.h"
#include "ir/run_error.h"
#include "run/feeds/feed.h"

namespace anabranch::runtime {

namespace {

/// Memory of an item under an owner of its own: what a back end keeps for as long as an argument lives, a copy on a GPU say,
/// goes with the item, not with the source, which may live as long as the run.
std::shared_ptr<void> owned_by_item(const std::shared_ptr<const void>& data, std::int64_t offset = 0) {
  const auto owner = std::make_shared<const std::shared_ptr<const void>>(data);
  return {owner, static_cast<std::byte*>(const_cast<void*>(data.get())) + offset};
}

/// Items that a state passes through: all items of a chunk at once where the function takes them so, else one by one.
class MapAccum final : public Feed {
 public:
  explicit MapAccum(const FeedWork& work)
      : Feed(work), work_(work), state_(work.arrays), stage_(work.stage(0)) {
    info_.live = stage_->live();
    info_.items = stage_->items();
  }

 private:
  bool pull(const Limit& limit, SourceChunk& items, std::vector<ItemRange>& own) override {
    if (at_ == taken_.items) {
      if (!stage_->next(limit, taken_)) return false;
      items_that_fit_ = taken_.items;
    }
    items = some_of_what_was_taken(limit);
    own.push_back({0, items.items});
    return true;
  }

  /// As much as there is memory for, or as does not fail, in halves if it must be. The others wait for the next call.
  SourceChunk some_of_what_was_taken(const Limit& limit) {
    for (;;) {
      const std::int64_t end = std::min(taken_.items, at_ + items_that_fit_);
      const SourceChunk part = end - at_ == taken_.items ? taken_ : slice(taken_, stage_->infos(), at_, end);
      const std::vector<HostArray> state = state_;
      try {
        SourceChunk items = work_.by_chunk ? of_chunk(part, limit) : one_by_one(part, limit);
        at_ += items.items;
        passed_ += items.items;
        if (at_ == taken_.items) {  // its memory is not needed any more
          taken_ = {};
          at_ = 0;
        }
        return items;
      } catch (const scheduler::BudgetExceeded&) {
        state_ = state;
        if (end - at_ <= 1) throw;
      } catch (const ir::DeviceError&) {
        throw;
      } catch (const RunError&) {
        state_ = state;
        if (!context_.gives_before_failure || end - at_ <= 1) throw;
      }
      items_that_fit_ = (end - at_) / 2;
    }
  }

  /// Of item i of those that are under way: its number as messages name it.
  std::int64_t number_of(std::int64_t i) const { return context_.names_items ? passed_ + i : ir::no_item; }

  SourceChunk of_chunk(const SourceChunk& given, const Limit& limit) {
    const std::vector<HostArray> results = results_of_chunk(given, limit);
    state_.assign(results.begin(), results.begin() + std::ssize(state_));
    SourceChunk items{given.items, given.items, 0, {}, given.first};
    for (std::size_t r = state_.size(); r < results.size(); ++r) {
      ArrayChunk& array = items.arrays.emplace_back();
      for (const auto& buffer : results[r]->buffers) array.data.emplace_back(results[r], buffer.get());
      items.bytes += results[r]->size() * width_of(info_.arrays[r - state_.size()]);
    }
    return items;
  }

  std::vector<HostArray> results_of_chunk(const SourceChunk& given, const Limit& limit) {
    try {
      return work_.apply(first_items(given, given.items), ir::no_item, memory_for(given.items, limit));
    } catch (const ir::DeviceError&) {
      throw;
    } catch (const RunError&) {
      raise_of_first(given);
      throw;
    }
  }

  /// For what the function gives: the next state lies anywhere, and so do items that are perhaps not taken.
  std::vector<HostArray> memory_for(std::int64_t items, const Limit& limit) const {
    if (!work_.places || items > limit.items) return {};
    std::vector<HostArray> memory = work_.places(passed_, items);
    if (!memory.empty()) memory.insert(memory.begin(), state_.size(), nullptr);
    return memory;
  }

  /// What the function takes of a chunk's first items.
  std::vector<HostArray> first_items(const SourceChunk& given, std::int64_t items) const {
    std::vector<HostArray> arguments = state_;
    for (std::size_t a = 0; a < given.arrays.size(); ++a) {
      // What the function gives may lie where an argument does.
      auto vector = std::make_shared<detail::ArrayData>();
      vector->scalars = stage_->infos()[a].scalars;
      vector->extents = {items};
      for (const auto& data : given.arrays[a].data) vector->buffers.push_back(owned_by_item(data));
      arguments.push_back(std::move(vector));
    }
    return arguments;
  }

  /// The function has failed for a chunk: finds the first item of it that it fails for, and has it fail with its number.
  void raise_of_first(const SourceChunk& given) const {
    const auto fails = [&](std::int64_t items) {
      if (context_.options.stop.stop_requested()) ir::raise_cancelled();
      try {
        work_.apply(first_items(given, items), ir::no_item, {});
        return false;
      } catch (const ir::DeviceError&) {
        throw;
      } catch (const RunError&) {
        return true;
      }
    };
    std::int64_t right = 0, wrong = given.items;
    while (wrong - right > 1) {
      const std::int64_t middle = right + (wrong - right) / 2;
      (fails(middle) ? wrong : right) = middle;
    }
    work_.apply(first_items(given, wrong), number_of(wrong - 1), {});
  }

  /// Until what they give is as much as is asked for. It is counted when it has been given: until then it takes a part of
  /// what is left.
  SourceChunk one_by_one(const SourceChunk& given, const Limit& limit) {
    ChunkBuilder made(info_.arrays, context_.memory, context_.executor);
    const std::int64_t bytes = std::min(limit.bytes, context_.budget.available() / 3);
    const auto is_enough = [&] { return made.work() >= limit.work || made.bytes() >= bytes; };
    for (std::int64_t i = 0; i < given.items && (i == 0 || !is_enough()); ++i) {
      if (context_.options.stop.stop_requested()) ir::raise_cancelled();
      std::vector<HostArray> arguments = state_;
      for (std::size_t a = 0; a < given.arrays.size(); ++a)
        arguments.push_back(item_of(given.arrays[a], stage_->infos()[a], i));
      const std::vector<HostArray> results = work_.apply(arguments, number_of(i), {});
      state_.assign(results.begin(), results.begin() + std::ssize(state_));
      made.append(chunk_of({results.begin() + std::ssize(state_), results.end()}),
                  std::array{ItemRange{0, 1}});
    }
    return made.finish();
  }

  /// Item i of an array of a chunk, where it lies.
  static HostArray item_of(const ArrayChunk& array, const ArrayInfo& info, std::int64_t i) {
    auto item = std::make_shared<detail::ArrayData>();
    item->scalars = info.scalars;
    const std::int64_t* const offsets = static_cast<const std::int64_t*>(array.offsets.get());
    std::int64_t inner = 1;
    for (std::size_t d = 1; d < info.extents.size(); ++d) inner *= info.extents[d].value_or(1);
    for (std::size_t d = 0; d < info.extents.size(); ++d) {
      const std::optional<std::int64_t>& extent = info.extents[d];
      item->extents.push_back(extent          ? *extent
                              : info.ragged() ? (offsets[i + 1] - offsets[i]) / inner
                                              : array.extents[d].get()[i]);
    }
    const std::int64_t begin = info.regular() ? i * item->size() : offsets[i];
    for (std::size_t c = 0; c < array.data.size(); ++c) {
      const auto bytes = begin * static_cast<std::int64_t>(size_of(info.scalars[c]));
      item->buffers.push_back(owned_by_item(array.data[c], bytes));
    }
    return item;
  }

  /// One item as a chunk.
  SourceChunk chunk_of(const std::vector<HostArray>& arrays) const {
    SourceChunk chunk{1, 1, 0, {}, 0};
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      const ArrayInfo& info = info_.arrays[a];
      ArrayChunk& array = chunk.arrays.emplace_back();
      for (const auto& buffer : arrays[a]->buffers) array.data.emplace_back(arrays[a], buffer.get());
      if (info.regular()) continue;
      const auto offsets =
          std::make_shared<std::vector<std::int64_t>>(std::vector<std::int64_t>{0, arrays[a]->size()});
      array.offsets = {offsets, offsets->data()};
      if (info.ragged()) continue;
      array.extents.resize(info.extents.size());
      for (std::size_t d = 0; d < info.extents.size(); ++d)
        if (!info.extents[d]) array.extents[d] = {arrays[a], &arrays[a]->extents[d]};
    }
    return chunk;
  }

  const FeedWork work_;
  std::vector<HostArray> state_;
  SourceChunk taken_;                ///< from the stage
  std::int64_t at_ = 0;              ///< its first so many have passed
  std::int64_t items_that_fit_ = 0;  ///< at once
  std::int64_t passed_ = 0;          ///< items before those that are under way
  std::unique_ptr<FeedingStage> stage_;
};

}  // namespace

std::shared_ptr<SourceBase> make_map_accum(const FeedWork& work) { return std::make_shared<MapAccum>(work); }

}  // namespace anabranch::runtime
