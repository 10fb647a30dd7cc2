#include "run/feeds/feed.h"

#include <algorithm>
#include <utility>

#include "ir/cancelled.h"
#include "ir/views.h"
#include "run/sources/failure.h"

namespace anabranch::runtime {

Feed::Feed(const FeedWork& work)
    : context_(work.context), builder_(info_.arrays, work.context.memory, work.context.executor) {
  info_.name = work.node.label();
  info_.arrays = work.infos;
  info_.live = false;
}

bool Feed::next(const Limit& limit, SourceChunk& chunk) {
  while (!is_enough(limit)) {
    if (given_ == own_.size() && !refill(limit)) break;
    if (take_all(limit)) {
      if (is_half(limit)) break;
      continue;
    }
    const std::int64_t before = builder_.items();
    if (take_some(limit, chunk)) return true;
    if (builder_.items() == before) break;  // the next one does not fit
    if (is_half(limit)) break;
  }
  if (builder_.items() == 0) return false;
  chunk = builder_.finish();
  return true;
}

/// Gathers all that is left, if there are several ranges of it and they fit.
bool Feed::take_all(const Limit& limit) {
  const std::span<const ItemRange> left = std::span<const ItemRange>(own_).subspan(given_);
  const std::int64_t items = left.back().end - left.front().begin;  // at most
  if (left.size() == 1 || 2 * left.front().items() >= items_.items ||
      builder_.fitting(items_, {left.front().begin, left.back().end}, limit) < items)
    return false;
  if (builder_.items() == 0 && !may_copy(left.front().begin, limit.memory)) return false;
  builder_.append(items_, left);
  given_ = own_.size();
  return true;
}

/// Of the next range what fits: gathers it, or, where nothing has been gathered and it follows each other and is most of a
/// chunk or all that is asked for, or no memory is left for a copy, gives it where it lies.
bool Feed::take_some(const Limit& limit, SourceChunk& chunk) {
  ItemRange& range = own_[given_];
  const std::int64_t items = builder_.fitting(items_, range, limit);
  if (items == 0) return false;
  const ItemRange taken{range.begin, range.begin + items};
  range.begin = taken.end;
  const bool ended = range.items() == 0;
  if (ended) ++given_;
  if (builder_.items() == 0 &&
      (2 * items >= items_.items || !ended || !may_copy(taken.begin, limit.memory))) {
    chunk = items == items_.items ? items_ : slice(items_, info_.arrays, taken.begin, taken.end);
    return true;
  }
  builder_.append(items_, {&taken, 1});
  return false;
}

/// More items of one's own; false where what there is has to do.
bool Feed::refill(const Limit& limit) {
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  try {
    return pull_some(limit);
  } catch (...) {
    if (builder_.items() == 0) throw;
    failed_ = failure_after_items();
    return false;
  }
}

bool Feed::pull_some(const Limit& limit) {
  items_ = {};
  own_.clear();
  given_ = 0;
  // No more than may be missing: of a sequence that is taken from nothing is asked for further items.
  Limit missing = limit;
  missing.items = std::max<std::int64_t>(limit.items - builder_.items(), 1);
  missing.work = std::max<std::int64_t>(limit.work - builder_.work(), 1);
  missing.bytes = std::max<std::int64_t>(limit.bytes - builder_.bytes(), 1);
  while (own_.empty() && !over_) {
    const bool stop = limit.stop.stop_requested() || context_.options.stop.stop_requested();
    if (builder_.items() > 0 && (stop || std::chrono::steady_clock::now() >= limit.until)) return false;
    if (stop) ir::raise_cancelled();
    over_ = !pull(missing, items_, own_);
  }
  return !own_.empty();
}

/// Rather than ask for ever smaller chunks of those that are missing.
bool Feed::is_half(const Limit& limit) const {
  const auto at_least = [](std::int64_t there, std::int64_t most) { return there >= most - there; };
  return at_least(builder_.items(), limit.items) || at_least(builder_.work(), limit.work) ||
         at_least(builder_.bytes(), limit.bytes);
}

bool Feed::is_enough(const Limit& limit) const {
  return builder_.items() >= limit.items || builder_.work() >= limit.work || builder_.bytes() >= limit.bytes;
}

/// Is there memory for a copy of an item?
bool Feed::may_copy(std::int64_t item, std::int64_t memory) const {
  const SourceChunk first = slice(items_, info_.arrays, item, item + 1);
  std::int64_t bytes = 0;
  for (std::size_t a = 0; a < info_.arrays.size(); ++a)
    bytes += elements_of(first.arrays[a], info_.arrays[a], 1) * width_of(info_.arrays[a]);
  return bytes <= memory;
}

FedChunks::FedChunks(const FeedWork& work, std::size_t stage)
    : stage_(work.stage(stage)), infos_(work.infos) {}

bool FedChunks::next(const Limit& limit, SourceChunk& chunk) {
  if (!stage_->next(limit, chunk)) return false;
  const std::vector<ArrayInfo>& given = stage_->infos();
  if (given.size() < infos_.size()) throw InternalError("a stage feeds fewer arrays than are read");
  SourceChunk out = with_layout(chunk, given, infos_);
  for (std::size_t a = infos_.size(); a < given.size(); ++a) out.arrays.push_back(std::move(chunk.arrays[a]));
  chunk = std::move(out);
  return true;
}

}  // namespace anabranch::runtime
