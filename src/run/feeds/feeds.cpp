#include "run/feeds/feeds.h"

#include <algorithm>
#include <utility>

#include "ir/extents.h"
#include "ir/run_error.h"
#include "ir/views.h"
#include "run/feeds/feed.h"

namespace anabranch::runtime {

namespace {

/// A bool in memory is true if its byte is not zero.
const unsigned char* flags_of(const SourceChunk& items) {
  return static_cast<const unsigned char*>(items.arrays.back().data[0].get());
}

/// Of items that say whether they are kept, in the last array: those that are.
class Filter final : public Feed {
 public:
  explicit Filter(const FeedWork& work) : Feed(work), chunks_(work, 0) {
    info_.live = chunks_.stage().live();
  }

 private:
  bool pull(const Limit& limit, SourceChunk& items, std::vector<ItemRange>& own) override {
    if (!chunks_.next(limit, items)) return false;
    const unsigned char* const kept = flags_of(items);
    for (std::int64_t i = 0; i < items.items;) {
      ItemRange range;
      while (i < items.items && kept[i] == 0) ++i;
      range.begin = i;
      while (i < items.items && kept[i] != 0) ++i;
      range.end = i;
      if (range.begin < range.end) own.push_back(range);
    }
    items.arrays.pop_back();
    return true;
  }

  FedChunks chunks_;
};

/// Those before the first that is not.
class TakeWhile final : public Feed {
 public:
  explicit TakeWhile(const FeedWork& work) : Feed(work), chunks_(work, 0) {
    info_.live = chunks_.stage().live();
  }

 private:
  bool pull(const Limit& limit, SourceChunk& items, std::vector<ItemRange>& own) override {
    if (ended_ || !chunks_.next(limit, items)) return false;
    const unsigned char* const kept = flags_of(items);
    const std::int64_t count = std::find(kept, kept + items.items, 0) - kept;
    ended_ = count < items.items;
    if (count > 0) own.push_back({0, count});
    items.arrays.pop_back();
    return count > 0;
  }

  FedChunks chunks_;
  bool ended_ = false;
};

/// All but the first ones.
class Drop final : public Feed {
 public:
  explicit Drop(const FeedWork& work) : Feed(work), left_(work.uniforms[0]), chunks_(work, 0) {
    if (left_ < 0)
      ir::raise(work.node.label(), ir::negative_items(work.node.label(), left_), work.node.place(),
                work.context.item);
    info_.live = chunks_.stage().live();
    info_.in_memory = chunks_.stage().in_memory();
    if (const auto items = chunks_.stage().items()) info_.items = std::max<std::int64_t>(*items - left_, 0);
  }

 private:
  bool pull(const Limit& limit, SourceChunk& items, std::vector<ItemRange>& own) override {
    if (!chunks_.next(limit, items)) return false;
    const std::int64_t dropped = std::min(left_, items.items);
    left_ -= dropped;
    if (dropped < items.items) own.push_back({dropped, items.items});
    return true;
  }

  std::int64_t left_;
  FedChunks chunks_;
};

/// Those of one stage after the other, each of which is begun when the one before has ended.
class Append final : public Feed {
 public:
  explicit Append(const FeedWork& work) : Feed(work), work_(work) {
    begin(0);
    info_.live = work.live;
  }

 private:
  bool pull(const Limit& limit, SourceChunk& items, std::vector<ItemRange>& own) override {
    while (!chunks_->next(limit, items)) {
      if (next_ == ir::AppendSeq(work_.node).sequences().size()) return false;
      begin(next_);
    }
    own.push_back({0, items.items});
    return true;
  }

  void begin(std::size_t stage) {
    chunks_.reset();  // it may read the same source
    try {
      chunks_ = std::make_unique<FedChunks>(work_, stage);
    } catch (const scheduler::BudgetExceeded& e) {  // what has been opened cannot be opened again
      throw ResourceError(e.what());
    }
    next_ = stage + 1;
  }

  const FeedWork work_;
  std::unique_ptr<FedChunks> chunks_;
  std::size_t next_ = 0;
};

/// The items that items hold: their elements follow each other already.
class Flatten final : public Feed {
 public:
  explicit Flatten(const FeedWork& work) : Feed(work), stage_(work.stage(0)), bounded_(work.bounded) {
    info_.live = stage_->live();
  }

 private:
  bool pull(const Limit& limit, SourceChunk& items, std::vector<ItemRange>& own) override {
    SourceChunk outer;
    if (!stage_->next(limit_of_outer(limit), outer)) return false;
    const std::vector<ArrayInfo>& given = stage_->infos();
    const auto elements = [&](std::size_t a) { return elements_of(outer.arrays[a], given[a], outer.items); };
    std::size_t next = info_.arrays.size();  // of the extents
    items = {};
    for (std::size_t a = 0; a < info_.arrays.size(); ++a) {
      items.work = std::max(items.work, elements(a));
      ArrayChunk& array = items.arrays.emplace_back();
      for (std::size_t c = 0; c < given[a].scalars.size(); ++c)
        array.data.push_back(first_of(outer.arrays[a], given[a], c));
      const std::size_t first = next;
      next += info_.arrays[a].extents.size();
      const std::int64_t count = first == next ? elements(a) : elements(first);
      items.items = count;
      if (first == next) continue;
      std::vector<std::shared_ptr<const std::int64_t>> extents;
      for (std::size_t e = first; e < next; ++e)
        extents.push_back(
            std::static_pointer_cast<const std::int64_t>(first_of(outer.arrays[e], given[e], 0)));
      array.offsets = offsets_of(extents, count);
      if (extents.size() > 1) array.extents = std::move(extents);
    }
    most_inside_ =
        std::max(most_inside_, items.items / outer.items + (items.items % outer.items > 0 ? 1 : 0));
    items.work = std::max(items.work, items.items);
    items.bytes = outer.bytes;
    if (items.items > 0) own.push_back({0, items.items});
    return true;
  }

  /// Where items are taken of them, no more than are needed if each holds as many as those before: one at first. Of a live
  /// stream, where a further one may never come, always one.
  Limit limit_of_outer(const Limit& limit) const {
    Limit outer = limit;
    if (bounded_ && (info_.live || most_inside_ == 0))
      outer.items = 1;
    else if (bounded_)
      outer.items = std::max<std::int64_t>(limit.items / most_inside_, 1);
    return outer;
  }

  static std::shared_ptr<const void> first_of(const ArrayChunk& array, const ArrayInfo& info, std::size_t c) {
    const std::int64_t first = info.regular() ? 0 : *static_cast<const std::int64_t*>(array.offsets.get());
    return {array.data[c], static_cast<const std::byte*>(array.data[c].get()) +
                               first * static_cast<std::int64_t>(size_of(info.scalars[c]))};
  }

  static std::shared_ptr<const void> offsets_of(
      const std::vector<std::shared_ptr<const std::int64_t>>& extents, std::int64_t items) {
    auto offsets = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(items) + 1);
    for (std::int64_t i = 0; i < items; ++i) {
      const std::int64_t size = ir::product_of(extents, [i](const auto& each) { return each.get()[i]; });
      (*offsets)[static_cast<std::size_t>(i) + 1] = (*offsets)[static_cast<std::size_t>(i)] + size;
    }
    return {offsets, offsets->data()};
  }

  std::unique_ptr<FeedingStage> stage_;
  const bool bounded_;
  std::int64_t most_inside_ = 0;  ///< items of an outer item: the largest average of a chunk
};

std::shared_ptr<SourceBase> make_feed(const FeedWork& work) {
  switch (work.node.op().as<ir::SequenceOp>()) {
    case ir::Op::filter_seq:
      return std::make_shared<Filter>(work);
    case ir::Op::take_while_seq:
      return std::make_shared<TakeWhile>(work);
    case ir::Op::drop_seq:
      return std::make_shared<Drop>(work);
    case ir::Op::append_seq:
      return std::make_shared<Append>(work);
    case ir::Op::flatten_seq:
      return std::make_shared<Flatten>(work);
    case ir::Op::windows_seq:
      return make_windows(work);
    case ir::Op::map_accum_seq:
      return make_map_accum(work);
    case ir::Op::map_seq:
    case ir::Op::project_seq:
    case ir::Op::take_seq:
      break;
  }
  throw InternalError("a sequence that nothing feeds");
}

/// Whether one of the streams of a stage may have to wait for its next item, be it behind others.
bool reads_live(const plan::Plan& plan, int stage) {
  for (const ir::StageSource& source : plan.stages[static_cast<std::size_t>(stage)].sources) {
    if (source.node->op() == ir::Op::stream_in) {
      const SourceInfo& info = source.node->payload().source->info();
      if (info.live && !info.in_memory) return true;
    }
    for (const int feeding : source.feeds)
      if (reads_live(plan, feeding)) return true;
  }
  return false;
}

}  // namespace

OpenFed feeds(RunContext& context, RunBackend& backend, GlobalValues& global, const RunBody& run_body,
              const PlacesOfItems& places, bool bounded) {
  return [&, run_body, places, bounded](const plan::StagePlan& stage, std::size_t source, Streams& streams) {
    const ir::StageSource& fed = stage.sources[source];
    const plan::StagePlan::Inputs& inputs = stage.source_inputs[source];
    FeedWork work{.context = context, .node = *fed.node};
    for (const int uniform : inputs.uniforms) work.uniforms.push_back(global.uniform(uniform));
    for (const int array : inputs.arrays) work.arrays.push_back(global.array(array));
    for (const plan::FedArray& array : stage.fed[source]) {
      ArrayInfo& info = work.infos.emplace_back();
      info.scalars = array.scalars;
      work.overlap |= array.overlap;
      for (const int uniform : array.extents) {
        auto& extent = info.extents.emplace_back();
        if (uniform >= 0) extent = global.uniform(uniform);
      }
    }
    work.by_chunk = fed.by_chunk;
    work.bounded = bounded || !stage.group.domains[0].bounds.empty();
    for (const int feeding : fed.feeds) work.live |= reads_live(context.plan, feeding);
    if (!inputs.bodies.empty())
      work.apply = [run_body, body = inputs.bodies[0]](const std::vector<HostArray>& arguments,
                                                       std::int64_t item, std::span<const HostArray> into) {
        return run_body(body, arguments, item, into);
      };
    work.places = places;
    work.stage = [&, run_body, source, fed_stage = &stage, bounded = work.bounded](std::size_t i) {
      return std::make_unique<FeedingStage>(context, backend, fed_stage->sources[source].feeds[i], global,
                                            streams.of_feed(*fed_stage, source, i),
                                            feeds(context, backend, global, run_body, {}, bounded));
    };
    return make_feed(work);
  };
}

}  // namespace anabranch::runtime
