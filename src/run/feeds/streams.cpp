#include "run/feeds/streams.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "ir/cancelled.h"
#include "ir/staged.h"
#include "run/sources/failure.h"

namespace anabranch::runtime {

namespace {

/// A limit under which a source is stopped by whoever read it, and when the pass is given up.
class StoppedToo {
 public:
  StoppedToo(const Limit& limit, const std::stop_source& pass)
      : limit_(limit), readers_(limit.stop, Request{pass}) {
    limit_.stop = pass.get_token();
  }
  const Limit& limit() const { return limit_; }

 private:
  struct Request {
    std::stop_source pass;
    void operator()() { pass.request_stop(); }
  };
  Limit limit_;
  std::stop_callback<Request> readers_;
};

/// A stream that one place reads.
class OneReader final : public SourceBase {
 public:
  OneReader(const std::shared_ptr<SourceBase>& source, const Place& reader, const std::stop_source& stop)
      : source_(source), pass_(source, reader), stop_(stop) {}
  ~OneReader() override { source_->use_memory({}); }
  OneReader(const OneReader&) = delete;
  OneReader& operator=(const OneReader&) = delete;
  const SourceInfo& info() const override { return source_->info(); }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    const StoppedToo limits(limit, stop_);
    pass_.reads();
    return source_->next(limits.limit(), chunk);
  }
  std::unique_ptr<SourcePiece> split(const Limit& limit) override {
    const StoppedToo limits(limit, stop_);
    pass_.reads();
    return source_->split(limits.limit());
  }
  std::int64_t resident_bytes() const override { return source_->resident_bytes(); }
  void use_memory(const ChunkMemory& memory) override { source_->use_memory(memory); }

 private:
  std::shared_ptr<SourceBase> source_;
  SourcePass pass_;
  std::stop_source stop_;
};

/// As many items of a chunk as the limit allows, one at least.
std::int64_t fitting(const SourceChunk& chunk, const Limit& limit) {
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

}  // namespace

/// What several places read: each has a queue of chunks that others have read before.
class SharedStream {
 public:
  SharedStream(PassStreams& pass, std::shared_ptr<SourceBase> source, const Place& reader,
               const std::vector<int>& members)
      : pass_(pass), source_(std::move(source)), reading_(source_, reader) {
    for (const int member : members) queues_.push_back({member, {}, true});
  }

  const SourceInfo& info() const { return source_->info(); }
  std::int64_t resident_bytes() const { return source_->resident_bytes(); }

  bool next(std::size_t place, const Limit& limit, SourceChunk& chunk) {
    PassStreams::Lock lock(pass_.mutex_);
    Queue& own = queues_[place];
    if (!fill(own, limit, lock)) return false;
    Kept& first = own.chunks.front();
    const std::int64_t items = fitting(first.chunk, limit);
    chunk = slice(first.chunk, info().arrays, 0, items);
    if (items == first.chunk.items)
      own.chunks.pop_front();
    else
      first.chunk = slice(first.chunk, info().arrays, items, first.chunk.items);
    gave_back();
    return true;
  }
  /// The place reads no more.
  void close(std::size_t place) {
    const PassStreams::Lock lock(pass_.mutex_);
    queues_[place].open = false;
    queues_[place].chunks.clear();
    gave_back();
  }

 private:
  struct Kept {
    SourceChunk chunk;
    std::shared_ptr<const scheduler::Reservation> memory;  ///< until the last place has had it
  };
  struct Queue {
    int member;
    std::deque<Kept> chunks;
    bool open;
  };
  /// Of another member that is behind: then who reads waits.
  static constexpr std::size_t most_ahead = 4;

  void changed() { pass_.has_changed(); }
  void gave_back() {
    ++pass_.times_given_back_;
    changed();
  }

  /// There is a chunk in the queue; false at the end of the stream.
  bool fill(Queue& own, const Limit& limit, PassStreams::Lock& lock) {
    while (own.chunks.empty()) {
      if (pass_.aborted_) ir::raise_cancelled();
      if (failed_) std::rethrow_exception(failed_);
      if (over_) return false;
      const bool waits = reads_now_ || !reads(own.member) || is_far_ahead(own.member);
      if (waits && pass_.wait(lock)) continue;
      if (!read(limit, lock)) return false;
    }
    return true;
  }

  /// The first member that has not ended and has a place here.
  bool reads(int member) const {
    return std::none_of(queues_.begin(), queues_.end(),
                        [&](const Queue& queue) { return reads_on(queue) && queue.member < member; });
  }
  bool is_far_ahead(int member) const {
    return std::any_of(queues_.begin(), queues_.end(), [&](const Queue& queue) {
      return reads_on(queue) && queue.member != member &&
             (queue.chunks.size() >= most_ahead || bytes_of(queue) >= pass_.most_kept_);
    });
  }
  static std::int64_t bytes_of(const Queue& queue) {
    std::int64_t bytes = 0;
    for (const Kept& kept : queue.chunks) bytes += kept.chunk.bytes;
    return bytes;
  }

  /// A further chunk, for all places.
  bool read(const Limit& limit, PassStreams::Lock& lock) {
    Kept kept;
    reads_now_ = true;
    bool there = false;
    forget_ended();
    lock.unlock();
    try {
      const StoppedToo limits(limit, pass_.stop_);
      reading_.reads();
      if (SourceChunk chunk; !read_ && source_->next(limits.limit(), chunk)) read_ = std::move(chunk);
      there = read_.has_value();
      if (there && read_->bytes > 0)
        kept.memory = std::make_shared<const scheduler::Reservation>(
            pass_.budget_.reserve("items of streams that are read in several places", read_->bytes));
      if (read_) kept.chunk = std::move(*read_);
      read_.reset();
    } catch (...) {
      lock.lock();
      reads_now_ = false;
      failed_ = failure_after_items();
      if (failed_) changed();  // where memory is short there is nothing new for others
      throw;
    }
    lock.lock();
    reads_now_ = false;
    over_ = !there;
    for (Queue& queue : queues_)
      if (there && reads_on(queue)) queue.chunks.push_back(kept);
    changed();
    return there;
  }
  bool reads_on(const Queue& queue) const { return queue.open && pass_.is_open(queue.member); }
  /// A member that has ended has not closed its places yet.
  void forget_ended() {
    for (Queue& queue : queues_)
      if (!reads_on(queue)) queue.chunks.clear();
  }

  PassStreams& pass_;
  std::shared_ptr<SourceBase> source_;
  SourcePass reading_;
  std::vector<Queue> queues_;
  std::optional<SourceChunk> read_;  ///< and waits for memory
  std::exception_ptr failed_;        ///< of the source, which is not asked again
  bool reads_now_ = false;
  bool over_ = false;
};

namespace {

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

namespace {

using Set = PassStreams::Set;

/// All that a stage reads, with those that feed it.
void add_streams(const plan::Plan& plan, int stage, Set& streams);

void add_streams(const plan::Plan& plan, const ir::StageSource& source, Set& streams) {
  if (source.node->op() == ir::Op::stream_in) streams.insert(source.node->payload().source.get());
  for (const int feed : source.feeds) add_streams(plan, feed, streams);
}

void add_streams(const plan::Plan& plan, int stage, Set& streams) {
  for (const ir::StageSource& source : plan.stages[static_cast<std::size_t>(stage)].sources)
    add_streams(plan, source, streams);
}

bool is_appended(const ir::StageSource& source) { return source.node->op() == ir::Op::append_seq; }

/// What is read while feed i of a source is: by the stage's other sources, and by the other feeds, but for those of sequences
/// that are joined one after the other.
Set read_beside(const plan::Plan& plan, const std::vector<ir::StageSource>& sources, std::size_t source,
                std::size_t i, Set meanwhile) {
  for (std::size_t s = 0; s < sources.size(); ++s)
    if (s != source) add_streams(plan, sources[s], meanwhile);
  const ir::StageSource& own = sources[source];
  for (std::size_t f = 0; f < own.feeds.size() && !is_appended(own); ++f)
    if (f != i) add_streams(plan, own.feeds[f], meanwhile);
  return meanwhile;
}

}  // namespace

PassStreams::PassStreams(const plan::Plan& plan, const std::vector<int>& stages, scheduler::Budget& budget,
                         const Set& elsewhere)
    : budget_(budget), most_kept_(bytes_of_member(std::ssize(stages))) {
  for (std::size_t m = 0; m < stages.size(); ++m) {
    Set meanwhile = elsewhere;
    for (std::size_t other = 0; other < stages.size(); ++other)
      if (other != m) add_streams(plan, stages[other], meanwhile);
    Places& places = places_.emplace_back(places_of(plan, stages[m], meanwhile));
    for (const SourceBase* const stream : elsewhere) places.erase(stream);
  }
}
PassStreams::~PassStreams() = default;

/// How many places of a stage read a stream in one pass. Sequences that are joined one after the other pass over it one after
/// the other, each on its own, unless it is read `meanwhile`, too.
PassStreams::Places PassStreams::places_of(const plan::Plan& plan, int stage, const Set& meanwhile) {
  Places places;
  const auto& sources = plan.stages[static_cast<std::size_t>(stage)].sources;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    if (sources[s].node->op() == ir::Op::stream_in) ++places[sources[s].node->payload().source.get()];
    for (std::size_t i = 0; i < sources[s].feeds.size(); ++i) {
      const Set beside = read_beside(plan, sources, s, i, meanwhile);
      for (const auto& [stream, count] : places_of(plan, sources[s].feeds[i], beside))
        if (!is_appended(sources[s]) || beside.contains(stream)) places[stream] += count;
    }
  }
  return places;
}

int PassStreams::passes_over(const plan::Plan& plan, int stage, const SourceBase& stream,
                             const Set& meanwhile) {
  return (places_of(plan, stage, meanwhile).contains(&stream) ? 1 : 0) +
         passes_of_appended(plan, stage, stream, meanwhile);
}

/// Those of sequences that are joined one after the other.
int PassStreams::passes_of_appended(const plan::Plan& plan, int stage, const SourceBase& stream,
                                    const Set& meanwhile) {
  int passes = 0;
  const auto& sources = plan.stages[static_cast<std::size_t>(stage)].sources;
  for (std::size_t s = 0; s < sources.size(); ++s)
    for (std::size_t i = 0; i < sources[s].feeds.size(); ++i) {
      const Set beside = read_beside(plan, sources, s, i, meanwhile);
      const bool own = is_appended(sources[s]) && !beside.contains(&stream);
      passes += own ? passes_over(plan, sources[s].feeds[i], stream, beside)
                    : passes_of_appended(plan, sources[s].feeds[i], stream, beside);
    }
  return passes;
}

std::shared_ptr<SourceBase> PassStreams::open(int member, const ir::Node& stream, const Place& reader) {
  const std::shared_ptr<SourceBase>& source = stream.payload().source;
  std::vector<int> members;  // one for each place
  for (std::size_t m = 0; m < places_.size(); ++m)
    if (const auto found = places_[m].find(source.get()); found != places_[m].end())
      members.insert(members.end(), static_cast<std::size_t>(found->second), static_cast<int>(m));
  if (members.size() == 1) return std::make_shared<OneReader>(source, reader, stop_);
  // What has been made of it closes itself when something throws, for which it takes the lock.
  std::shared_ptr<SharedStream> shared;
  std::vector<std::vector<std::shared_ptr<SourceBase>>> made;
  const Lock lock(mutex_);
  auto& opened = opened_[source.get()];
  opened.resize(places_.size());
  auto& own = opened[static_cast<std::size_t>(member)];
  if (own.empty()) {
    shared = std::make_shared<SharedStream>(*this, source, reader, members);
    made.resize(places_.size());
    for (auto& of_member : made) of_member.reserve(members.size());
    for (std::size_t place = members.size(); place-- > 0;) {
      auto& of_member = made[static_cast<std::size_t>(members[place])];
      of_member.push_back(std::make_shared<OneOfSeveral>(shared, place));
    }
    for (std::size_t m = 0; m < made.size(); ++m) opened[m].reserve(opened[m].size() + made[m].size());
    for (std::size_t m = 0; m < made.size(); ++m)
      for (auto& place : made[m]) opened[m].push_back(std::move(place));
  }
  std::shared_ptr<SourceBase> place = std::move(own.back());
  own.pop_back();
  return place;
}

void PassStreams::ended(int member) {
  const Lock lock(mutex_);
  ended_.insert(member);
  ++times_given_back_;
  has_changed();
}

void PassStreams::abort() {
  {
    const Lock lock(mutex_);
    aborted_ = true;
    has_changed();
  }
  stop_.request_stop();
}

std::int64_t PassStreams::bytes_of_member(std::int64_t members) const {
  if (budget_.unlimited()) return INT64_MAX;
  return members == 1 ? budget_.available() : budget_.available() / (members + 2);
}

void PassStreams::gave_back_chunk() {
  const Lock lock(mutex_);
  --held_chunks_;
  ++times_given_back_;
}

/// Each member but the one that asks waits for items, or has had no memory since some was given back last; and nobody holds
/// a chunk, which would be given back.
bool PassStreams::all_stand_still() const {
  const auto without = static_cast<int>(short_of_.count(times_given_back_));
  return waiting_ + without + 1 >= open_members() && held_chunks_ == 0;
}

bool PassStreams::wait_for_memory(std::int64_t times_given_back) {
  Lock lock(mutex_);
  if (aborted_) ir::raise_cancelled();
  if (times_given_back_ != times_given_back) return true;
  if (all_stand_still()) return false;
  const auto own = short_of_.insert(times_given_back);
  // Who gives memory back need not say so, and one that has been woken may be about to wait again.
  changed_.wait_for(lock, std::chrono::microseconds(200));
  short_of_.erase(own);
  return times_given_back_ != times_given_back || !all_stand_still();
}

bool PassStreams::wait(Lock& lock) {
  if (waiting_ + 1 >= open_members()) return false;
  const std::int64_t seen = changes_;
  ++waiting_;
  ++times_given_back_;  // by now the member has given back what it held before
  changed_.wait(lock, [&] { return changes_ != seen; });
  return true;
}

/// From now on nobody waits: whoever did may have slept on for a while when the next one asks.
void PassStreams::has_changed() {
  ++changes_;
  waiting_ = 0;
  changed_.notify_all();
}

// ---- The streams of a stage

Streams::Streams(const plan::Plan& plan, PassStreams& pass, int member)
    : plan_(plan), pass_(pass), member_(member) {
  for (std::size_t m = 0; m < pass.places_.size(); ++m)
    if (static_cast<int>(m) != member)
      for (const auto& [stream, count] : pass.places_[m]) meanwhile_.insert(stream);
}

Streams::Streams(Streams& outer, PassStreams::Set meanwhile)
    : plan_(outer.plan_),
      pass_(outer.pass_),
      member_(outer.member_),
      outer_(&outer),
      meanwhile_(std::move(meanwhile)) {}

Streams Streams::of_feed(const plan::StagePlan& stage, std::size_t source, std::size_t i) {
  Streams streams(*this, read_beside(plan_, stage.sources, source, i, meanwhile_));
  if (is_appended(stage.sources[source]))
    streams.own_ = std::make_unique<PassStreams>(plan_, std::vector{stage.sources[source].feeds[i]},
                                                 pass_.budget_, streams.meanwhile_);
  if (streams.own_) streams.own_->stop_ = pass_.stop_;
  return streams;
}

std::shared_ptr<SourceBase> Streams::open(const ir::Node& stream, const Place& reader) {
  const bool is_own = own_ && !meanwhile_.contains(stream.payload().source.get());
  if (is_own) return own_->open(0, stream, reader);
  return outer_ != nullptr ? outer_->open(stream, reader) : pass_.open(member_, stream, reader);
}

}  // namespace anabranch::runtime
