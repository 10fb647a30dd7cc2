#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <vector>

#include "plan/plan.h"
#include "run/sources/sources.h"
#include "scheduler/budget.h"

/// The streams that stages read, and those that feed them. A stream that is read in several places, at paces of their own, is
/// read once: what one place has read is kept for the others until they come there.
namespace anabranch::runtime {

class SharedStream;

/// The streams of a pass: of one stage, its only member, or of several that run at the same time, each by a thread of its
/// own, because they read a stream that can be read only once. The first of these that has not ended reads; the others wait
/// for it, and it waits for them before it is too far ahead. Thread-safe.
class PassStreams {
 public:
  using Set = std::set<const SourceBase*>;
  /// `stages`: of the plan, one for each member. What is kept counts against the budget. `elsewhere`: streams of which others
  /// open the places.
  PassStreams(const plan::Plan& plan, const std::vector<int>& stages, scheduler::Budget& budget,
              const Set& elsewhere = {});
  ~PassStreams();

  /// The stream of a stream_in node for one of the places of a member that read it, which `reader` names in messages. As long
  /// as it lives the stream serves no other run.
  std::shared_ptr<SourceBase> open(int member, const ir::Node& stream, const Place& reader);
  using Turn = std::unique_lock<std::recursive_mutex>;
  /// Back ends serve one stage at a time. Held by nobody who waits for a stream; nothing where there is one member.
  Turn turn() { return places_.size() > 1 ? Turn(turn_) : Turn(); }
  int members() const { return static_cast<int>(places_.size()); }
  /// What each of so many members may have of the memory, as has what is kept for those behind.
  std::int64_t bytes_of_member(std::int64_t members) const;
  /// The member reads no more.
  void ended(int member);
  /// A member has read a chunk and holds it, or has given one back.
  void holds_chunk() { ++held_chunks_; }
  void gave_back_chunk();
  /// How often members may have given back memory that they share.
  std::int64_t times_given_back() const { return times_given_back_; }
  void may_have_given_back() { ++times_given_back_; }
  /// A member that holds no chunk has found no memory to read, since memory was given back so many times: waits until others
  /// may have given some back. False where they will not, as they wait for items, too.
  bool wait_for_memory(std::int64_t times_given_back);
  /// Nobody reads any more: whoever does, or waits for it, gets Cancelled.
  void abort();
  bool aborted() const { return aborted_; }

  /// How often a stage passes over a stream, while others read those of `meanwhile`.
  static int passes_over(const plan::Plan& plan, int stage, const SourceBase& stream,
                         const Set& meanwhile = {});

 private:
  friend class SharedStream;
  friend class Streams;
  using Places = std::map<const SourceBase*, int>;
  using Lock = std::unique_lock<std::mutex>;
  static Places places_of(const plan::Plan& plan, int stage, const Set& meanwhile);
  static int passes_of_appended(const plan::Plan& plan, int stage, const SourceBase& stream,
                                const Set& meanwhile);
  bool is_open(int member) const { return !ended_.contains(member); }
  int open_members() const { return static_cast<int>(places_.size() - ended_.size()); }
  bool all_stand_still() const;
  /// Until something has changed; false where everybody waits, so that nothing will.
  bool wait(Lock& lock);
  void has_changed();

  scheduler::Budget& budget_;
  const std::int64_t most_kept_;  ///< for a member that is behind; then who reads waits
  std::recursive_mutex turn_;
  std::vector<Places> places_;  ///< per member: how many places read a stream
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> ended_;
  int waiting_ = 0;                       ///< members: for items
  std::multiset<std::int64_t> short_of_;  ///< and for memory: since it was given back so many times
  std::atomic<int> held_chunks_ = 0;
  std::atomic<std::int64_t> times_given_back_ = 0;
  std::int64_t changes_ = 0;
  std::atomic<bool> aborted_ = false;
  std::stop_source stop_;  ///< of who reads a stream, and waits there for items
  /// Of streams with several places: per member what has been opened for it and not been taken.
  std::map<const SourceBase*, std::vector<std::vector<std::shared_ptr<SourceBase>>>> opened_;
};

/// Those that a stage of one member reads.
class Streams {
 public:
  Streams(const plan::Plan& plan, PassStreams& pass, int member);
  std::shared_ptr<SourceBase> open(const ir::Node& stream, const Place& reader);
  /// Those of feed i of a source of the stage, which is of the same plan. They live no longer than these.
  Streams of_feed(const plan::StagePlan& stage, std::size_t source, std::size_t i);
  PassStreams::Turn turn() { return pass_.turn(); }
  int members() const { return pass_.members(); }
  std::int64_t bytes_of_member() const { return pass_.bytes_of_member(members()); }
  void holds_chunk() { pass_.holds_chunk(); }
  void gave_back_chunk() { pass_.gave_back_chunk(); }
  std::int64_t times_given_back() const { return pass_.times_given_back(); }
  void may_have_given_back() { pass_.may_have_given_back(); }
  bool wait_for_memory(std::int64_t times_given_back) {
    return members() > 1 && pass_.wait_for_memory(times_given_back);
  }
  /// The member has failed: the others are not waited for, and do not wait for it.
  void failed() { pass_.abort(); }
  /// A member has.
  bool aborted() const { return pass_.aborted(); }

 private:
  Streams(Streams& outer, PassStreams::Set meanwhile);

  const plan::Plan& plan_;
  PassStreams& pass_;
  int member_;
  Streams* outer_ = nullptr;    ///< of which this is a feed
  PassStreams::Set meanwhile_;  ///< that others read at the same time
  /// A sequence that is appended to another one passes over those anew that nobody reads meanwhile.
  std::unique_ptr<PassStreams> own_;
};

}  // namespace anabranch::runtime
