#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "cpu/abi.h"
#include "cpu/pieces.h"

namespace anabranch::cpu {

/// The long rows of a launch that scans, shared out among threads.
///
/// A thread takes the next blocks of a row at which no other thread is, if there is one, and scans them in one
/// pass. Else it joins the threads at a row. There it computes the totals of its blocks first, beside the others;
/// when the blocks before have their carries, its own get theirs, which takes no time; and then it scans them,
/// beside the others and with the elements still in its caches. (A scan by chained carries: Merrill and Garland,
/// Single-pass parallel prefix scan with decoupled look-back, 2016.) Where the blocks before are late, as their
/// thread has lost its processor, it leaves its own to whoever is free then, and goes on to further ones.
///
/// Blocks are taken in the row's order, whichever order tasks are begun in. Carries are joined in the canonical
/// order: nothing depends on which thread does what.
class LongScans {
 public:
  /// Calls an entry for blocks [begin, end) of a row; says whether it succeeded.
  using Call =
      std::function<bool(int entry, std::size_t row, std::int64_t begin, std::int64_t end, bool in_order)>;

  LongScans(const Cut& plan, Call call);

  /// One task's work, of some row. All is done when it was called once for each task of a long row.
  void work();
  /// Whether all blocks of a row have got their carries, so that its last one can be scanned.
  bool complete(std::size_t row) const { return rows_[row].turn.load() == plan_.long_rows[row].blocks; }

 private:
  /// Some blocks of a row.
  struct Share {
    std::size_t row = 0;
    std::int64_t begin = 0, end = 0;
  };
  struct Waiting {
    Share share;
    bool is_left = false;  ///< to whoever is free
  };
  struct Row {
    std::int64_t taken = 0;  ///< blocks
    int threads = 0;         ///< at work
    /// The first block without a carry. `failed`: there will be no more.
    std::atomic<std::int64_t> turn = 0;
    std::map<std::int64_t, Waiting> waiting;  ///< shares that have their totals, by their first block
    bool hands_on = false;                    ///< a thread is at their carries
  };
  static constexpr std::int64_t failed = -1;
  using Lock = std::unique_lock<std::mutex>;

  // All are called with the lock held, and give it up during calls of entries.
  void work(Lock& lock);
  Share take();
  void leave(const Share& share);
  void in_one_pass(Lock& lock, const Share& share);
  void in_two_passes(Lock& lock, const Share& share);
  void hand_on(Lock& lock, Row& row);
  void fail(Row& row);
  void scan_what_was_left(Lock& lock);
  bool call(Lock& lock, int entry, const Share& share, bool in_order = false);
  std::int64_t blocks_left(std::size_t row) const { return plan_.long_rows[row].blocks - rows_[row].taken; }

  const Cut& plan_;
  const Call call_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Row> rows_;
  std::size_t begun_ = 0;           ///< rows
  std::size_t first_ = 0;           ///< row that may have blocks left
  std::vector<std::size_t> alone_;  ///< begun rows with blocks left, and no thread there
  std::vector<Share> left_;         ///< that have carries, for whoever is free
  std::int64_t untaken_ = 0;        ///< shares
  std::int64_t unfinished_ = 0;     ///< shares
  bool is_broken_ = false;
};

}  // namespace anabranch::cpu
