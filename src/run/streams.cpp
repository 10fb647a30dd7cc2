#include "run/streams.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "ir/staged.h"

namespace anabranch::runtime {

namespace {

/// A stream that one place reads.
class OneReader final : public SourceBase {
 public:
  OneReader(const std::shared_ptr<SourceBase>& source, const Place& reader)
      : source_(source), pass_(source, reader) {}
  const SourceInfo& info() const override { return source_->info(); }
  bool next(const Limit& limit, SourceChunk& chunk) override { return source_->next(limit, chunk); }
  std::unique_ptr<SourcePiece> split(const Limit& limit) override { return source_->split(limit); }
  std::int64_t resident_bytes() const override { return source_->resident_bytes(); }

 private:
  std::shared_ptr<SourceBase> source_;
  SourcePass pass_;
};

/// What several places read: each has a queue of chunks that others have read before.
class SharedStream {
 public:
  SharedStream(const std::shared_ptr<SourceBase>& source, const Place& reader, int places,
               scheduler::Budget& budget)
      : source_(source), pass_(source, reader), budget_(budget), queues_(static_cast<std::size_t>(places)) {}

  const SourceInfo& info() const { return source_->info(); }
  std::int64_t resident_bytes() const { return source_->resident_bytes(); }

  bool next(std::size_t place, const Limit& limit, SourceChunk& chunk) {
    Queue& own = queues_[place];
    if (own.chunks.empty() && !read(place, limit)) return false;
    Kept& first = own.chunks.front();
    const std::int64_t items = fitting(first.chunk, limit);
    chunk = slice(first.chunk, info().arrays, 0, items);
    if (items == first.chunk.items)
      own.chunks.pop_front();
    else
      first.chunk = slice(first.chunk, info().arrays, items, first.chunk.items);
    return true;
  }
  /// The place reads no more.
  void close(std::size_t place) {
    queues_[place].open = false;
    queues_[place].chunks.clear();
  }

 private:
  struct Kept {
    SourceChunk chunk;
    std::shared_ptr<const scheduler::Reservation> memory;  ///< until the last place has had it
  };
  struct Queue {
    std::deque<Kept> chunks;
    bool open = true;
  };

  /// A further chunk, for all places.
  bool read(std::size_t place, const Limit& limit) {
    Kept kept;
    if (over_ || !source_->next(limit, kept.chunk)) {
      over_ = true;
      return false;
    }
    const bool is_alone = std::none_of(queues_.begin(), queues_.end(), [&](const Queue& queue) {
      return queue.open && &queue != &queues_[place];
    });
    if (!is_alone && kept.chunk.bytes > 0)
      kept.memory = std::make_shared<const scheduler::Reservation>(
          budget_.reserve("items of streams that are read at different paces", kept.chunk.bytes));
    for (Queue& queue : queues_)
      if (queue.open) queue.chunks.push_back(kept);
    return true;
  }

  static std::int64_t fitting(const SourceChunk& chunk, const Limit& limit) {
    std::int64_t items = std::min(chunk.items, limit.items);
    const auto share = [&](std::int64_t all, std::int64_t allowed) {
      if (all > allowed)
        items = std::min<std::int64_t>(
            items, static_cast<std::int64_t>(static_cast<double>(chunk.items) * static_cast<double>(allowed) /
                                             static_cast<double>(all)));
    };
    share(chunk.work, limit.work);
    share(chunk.bytes, limit.bytes);
    return std::max<std::int64_t>(items, 1);
  }

  std::shared_ptr<SourceBase> source_;
  SourcePass pass_;
  scheduler::Budget& budget_;
  std::vector<Queue> queues_;
  bool over_ = false;
};

/// One of the places that read a shared stream.
class OneOfSeveral final : public SourceBase {
 public:
  OneOfSeveral(std::shared_ptr<SharedStream> stream, std::size_t place)
      : stream_(std::move(stream)), place_(place), info_(stream_->info()) {
    info_.splits = false;
  }
  ~OneOfSeveral() override { stream_->close(place_); }
  OneOfSeveral(const OneOfSeveral&) = delete;
  OneOfSeveral& operator=(const OneOfSeveral&) = delete;

  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override { return stream_->next(place_, limit, chunk); }
  std::int64_t resident_bytes() const override { return place_ == 0 ? stream_->resident_bytes() : 0; }

 private:
  std::shared_ptr<SharedStream> stream_;
  std::size_t place_;
  SourceInfo info_;
};

}  // namespace

Streams::Streams(const plan::Plan& plan, int stage, scheduler::Budget& budget) : budget_(budget) {
  count(plan, stage);
}

/// Of sequences that are joined one after the other each is read when those before have ended, so a stream is shared only
/// by what is read in step.
void Streams::count(const plan::Plan& plan, int stage) {
  const auto source_of = [](const ir::Node& node) { return node.payload().source.get(); };
  for (const ir::StageSource& source : plan.stages[static_cast<std::size_t>(stage)].sources) {
    if (source.node->op() == ir::Op::stream_in) ++places_[source_of(*source.node)];
    const auto before = places_;
    for (const int feed : source.feeds) {
      Streams of_feed(plan, feed, budget_);
      for (const auto& [stream, places] : of_feed.places_) {
        const auto known = before.find(stream);
        int& all = places_[stream];
        all = std::max(all, (known == before.end() ? 0 : known->second) + places);
      }
    }
  }
}

std::shared_ptr<SourceBase> Streams::open(const ir::Node& stream, const Place& reader) {
  const std::shared_ptr<SourceBase>& source = stream.payload().source;
  const int places = places_.at(source.get());
  if (places == 1) return std::make_shared<OneReader>(source, reader);
  std::vector<std::shared_ptr<SourceBase>>& ready = opened_[source.get()];
  if (ready.empty()) {
    const auto shared = std::make_shared<SharedStream>(source, reader, places, budget_);
    for (int place = places; place-- > 0;)
      ready.push_back(std::make_shared<OneOfSeveral>(shared, static_cast<std::size_t>(place)));
  }
  std::shared_ptr<SourceBase> opened = std::move(ready.back());
  ready.pop_back();
  return opened;
}

}  // namespace anabranch::runtime
