#include "run/sources/zipped_sources.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "run/sources/failure.h"
#include "run/sources/item_range.h"
#include "run/sources/sources.h"

namespace anabranch::runtime {

namespace {

/// Of the largest array of an item; 0: nothing is known of them.
double likely_elements_of_item(const SourceInfo& info) {
  const double items = static_cast<double>(info.items.value_or(0));
  double likely = items > 0 ? static_cast<double>(info.work.value_or(0)) / items : 0.0;
  for (const ArrayInfo& array : info.arrays)
    if (array.regular()) likely = std::max(likely, static_cast<double>(ir::elements_of_item(array)));
  return likely;
}

/// Where the pieces of a source end, counted in items.
std::vector<std::int64_t> ends_of(const std::vector<PartOfPiece>& pieces) {
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (const PartOfPiece& piece : pieces) ends.push_back(end += piece.items());
  return ends;
}

}  // namespace

ZippedPiece::ZippedPiece(const std::vector<std::shared_ptr<SourceBase>>& sources, PieceNumbers& numbers,
                         Pieces pieces, std::int64_t items)
    : sources_(sources),
      numbers_(numbers),
      number_(numbers.add(items)),
      pieces_(std::move(pieces)),
      items_(items) {
  for (const auto& of_source : pieces_)
    for (const PartOfPiece& piece : of_source) {
      work_ += piece.work();
      bytes_ += piece.bytes();
    }
}

/// One source's, who gave one piece.
std::vector<std::vector<SourceChunk>> ZippedPiece::read_and_count() {
  SourceChunk chunk = pieces_[0][0].read();
  items_ = chunk.items;
  numbers_.count(number_, items_);
  std::vector<std::vector<SourceChunk>> parts(1);
  parts[0].push_back(std::move(chunk));
  return parts;
}

std::vector<std::vector<SourceChunk>> ZippedPiece::read() {
  if (items_ < 0) return read_and_count();
  std::vector<std::vector<SourceChunk>> chunks(pieces_.size());
  std::vector<std::vector<std::int64_t>> ends;
  for (std::size_t s = 0; s < pieces_.size(); ++s) {
    for (const PartOfPiece& piece : pieces_[s]) chunks[s].push_back(piece.read());
    ends.push_back(ends_of(pieces_[s]));
  }
  std::vector<std::vector<SourceChunk>> parts;
  std::vector<std::size_t> at(pieces_.size(), 0);  // per source: the piece that the next part lies in
  for (std::int64_t begin = 0; begin < items_;) {
    std::int64_t end = items_;
    for (std::size_t s = 0; s < at.size(); ++s) end = std::min(end, ends[s][at[s]]);
    std::vector<SourceChunk>& part = parts.emplace_back();
    for (std::size_t s = 0; s < at.size(); ++s) {
      SourceChunk& chunk = chunks[s][at[s]];
      const std::int64_t here = ends[s][at[s]] - chunk.items;
      const bool whole = here == begin && ends[s][at[s]] == end;
      part.push_back(whole ? std::move(chunk)
                           : slice(chunk, sources_[s]->info().arrays, begin - here, end - here));
    }
    for (std::size_t s = 0; s < at.size(); ++s) at[s] += ends[s][at[s]] == end;
    begin = end;
  }
  return parts;
}

void ZippedPiece::complete() {
  for (const auto& of_source : pieces_)
    for (const PartOfPiece& piece : of_source) piece.complete();
  numbers_.forget(number_ - 1);
}

ZippedSources::ZippedSources(std::vector<std::shared_ptr<SourceBase>> sources, std::int64_t most)
    : sources_(std::move(sources)),
      read_(sources_.size()),
      bytes_of_item_(sources_.size(), -1.0),
      most_(most),
      split_off_(sources_.size()),
      ended_(sources_.size(), false),
      failed_(sources_.size()) {}

/// What has been read beyond the last item is given back.
bool ZippedSources::end() {
  over_ = true;
  read_.assign(sources_.size(), {});
  return false;
}

/// What an item of each takes of the bytes of a chunk, by what has been read; of all alike before that, but for what is in
/// memory.
std::vector<double> ZippedSources::shares() const {
  if (std::all_of(bytes_of_item_.begin(), bytes_of_item_.end(), [](double bytes) { return bytes >= 0; }))
    return bytes_of_item_;
  std::vector<double> out;
  for (const auto& source : sources_) out.push_back(source->info().in_memory ? 0 : 1);
  return out;
}

/// The next items of one, unless some have been read; false where it is over. `left` is what they leave for the others.
bool ZippedSources::read(std::size_t s, const Limit& own, Limit& left) {
  SourceChunk& read = read_[s];
  const bool is_kept = read.items > 0;  // and left out of what memory there is
  if (!is_kept) {
    if (failed_[s]) std::rethrow_exception(failed_[s]);
    try {
      const SourceInfo& info = sources_[s]->info();
      if (!sources_[s]->next(own, read)) return false;
      if (read.items <= 0 || read.items > own.items) raise_wrong_items(info, read.items, own.items);
      check_chunk(info, read);
    } catch (...) {
      read = {};
      failed_[s] = failure_after_items();
      throw;
    }
    bytes_of_item_[s] = static_cast<double>(read.bytes) / static_cast<double>(read.items);
  }
  left.items = std::min(left.items, read.items);
  // What is read beyond that is for later chunks.
  const auto bytes = static_cast<std::int64_t>(bytes_of_item_[s] * static_cast<double>(left.items));
  left.bytes = std::max<std::int64_t>(1, left.bytes - bytes);
  if (!is_kept) left.memory = std::max<std::int64_t>(0, left.memory - read.bytes);
  return true;
}

/// It has given all the items that it said it has.
bool ZippedSources::known_to_be_over(std::size_t s) const {
  return read_[s].items == 0 && items_before_ >= sources_[s]->info().items.value_or(INT64_MAX);
}

/// One has failed: has another one no further item, so that the stream ends before that? `has_item` asks it for one. Who might
/// have to wait for an item is not asked.
template <class HasItem>
bool ZippedSources::ends_before_failure(std::size_t failed, HasItem&& has_item) {
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    const SourceInfo& info = sources_[s]->info();
    if (s == failed || (info.live && !info.in_memory)) continue;
    try {
      if (!has_item(s)) return true;
    } catch (const Cancelled&) {
      throw;
    } catch (...) {  // NOLINT(bugprone-empty-catch): the first failure is told
    }
  }
  return false;
}

/// As read; false too where this one fails and the stream ends before that.
bool ZippedSources::read_or_end(std::size_t s, const Limit& own, Limit& left) {
  try {
    return read(s, own, left);
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    const auto has_item = [&](std::size_t other) {
      Limit one = left, rest = left;
      one.items = 1;
      return read(other, one, rest);
    };
    if (failed_[s] && ends_before_failure(s, has_item)) return false;
    throw;
  }
}

/// The one with the largest items is read first, and says how many items there are. Each leaves bytes for those after it.
bool ZippedSources::read_in_step(Limit& mine) {
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    Limit left = mine;
    if (known_to_be_over(s) && !read_or_end(s, mine, left)) return false;
    // Nothing behind the end of the shortest is read.
    const std::int64_t known = sources_[s]->info().items.value_or(INT64_MAX);
    if (known > items_before_) mine.items = std::min(mine.items, known - items_before_);
  }
  const std::vector<double> shares = this->shares();
  std::vector<std::size_t> order(sources_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  double rest = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (const std::size_t s : order) {
    Limit own = mine;
    if (rest > shares[s] && mine.bytes != INT64_MAX)
      own.bytes = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(static_cast<double>(mine.bytes) * (shares[s] / rest)));
    if (!read_or_end(s, own, mine)) return false;
    rest -= shares[s];
  }
  return true;
}

bool ZippedSources::next(const Limit& limit, std::vector<SourceChunk>& chunks) {
  chunks.assign(sources_.size(), {});
  if (over_ || items_before_ >= most_) return end();
  Limit mine = limit;
  mine.items = std::min(mine.items, most_ - items_before_);
  if (sources_.size() == 1) {
    const Limit all = mine;
    if (!read(0, all, mine)) return end();
  } else if (!read_in_step(mine)) {
    return end();
  }
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    SourceChunk read = std::exchange(read_[s], {});
    if (read.items > mine.items) {
      const std::vector<ArrayInfo>& infos = sources_[s]->info().arrays;
      read_[s] = slice(read, infos, mine.items, read.items);
      read = slice(read, infos, 0, mine.items);
    }
    chunks[s] = std::move(read);
  }
  for (SourceChunk& chunk : chunks) chunk.first = items_before_;
  items_before_ += mine.items;
  return true;
}

/// What has been split off and waits.
ZippedSources::SplitOff ZippedSources::size_of(const std::vector<PartOfPiece>& pieces) {
  SplitOff size;
  for (const PartOfPiece& piece : pieces) {
    size.items += piece.items();
    size.bytes += piece.bytes();
  }
  return size;
}

/// The next piece of a source, behind those that have been split off and wait; false where it is over.
bool ZippedSources::split_off(std::size_t s, const Limit& limit) {
  if (ended_[s]) return false;
  if (failed_[s]) std::rethrow_exception(failed_[s]);
  try {
    const SourceInfo& info = sources_[s]->info();
    auto piece = sources_[s]->split(limit);
    if (!piece) {
      ended_[s] = true;
      return false;
    }
    split_off_[s].emplace_back(std::move(piece), info, limit);
    return true;
  } catch (...) {
    failed_[s] = failure_after_items();
    throw;
  }
}

/// As split_off; false too where this one fails, but has items that wait, or the stream ends before that.
bool ZippedSources::split_off_or_end(std::size_t s, const Limit& limit) {
  try {
    return split_off(s, limit);
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    if (!failed_[s]) throw;
    const auto has_item = [&](std::size_t other) {
      Limit one = limit;
      one.items = 1;
      return !split_off_[other].empty() || split_off(other, one);
    };
    if (!split_off_[s].empty() || ends_before_failure(s, has_item)) return false;
    throw;
  }
}

/// As many items as there are of what has been split off, but not more.
std::vector<PartOfPiece> ZippedSources::take_off(std::size_t s, std::int64_t items) {
  std::vector<PartOfPiece>& from = split_off_[s];
  std::vector<PartOfPiece> taken;
  std::size_t whole = 0;
  for (; whole < from.size() && items >= from[whole].items(); ++whole) {
    items -= from[whole].items();
    taken.push_back(std::move(from[whole]));
  }
  from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(whole));
  if (items > 0 && !from.empty()) taken.push_back(from.front().take_off(items));
  return taken;
}

/// Of a source that does not say how many: pieces until there are as many items, or as many bytes, of which it has one at
/// least.
ZippedSources::SplitOff ZippedSources::split_off_until(std::size_t s, std::int64_t items,
                                                       const Limit& limit) {
  SplitOff there = size_of(split_off_[s]);
  while (there.items < items && (there.items == 0 || there.bytes < limit.bytes)) {
    const Limit left{.items = items - there.items,
                     .bytes = std::max<std::int64_t>(1, limit.bytes - there.bytes),
                     .memory = limit.memory,
                     .stop = limit.stop,
                     .written = limit.written};
    if (!split_off_or_end(s, left)) break;
    there = size_of(split_off_[s]);
  }
  return there;
}

/// Of the only source, whose piece need not be parted.
std::unique_ptr<ZippedPiece> ZippedSources::take_whole() {
  std::vector<PartOfPiece> whole = std::exchange(split_off_[0], {});
  if (whole.empty()) {
    over_ = true;
    return nullptr;
  }
  const std::int64_t items = whole[0].items();
  ZippedPiece::Pieces pieces;
  pieces.push_back(std::move(whole));
  return std::make_unique<ZippedPiece>(sources_, numbers_, std::move(pieces), items);
}

/// Of the sources that split, of all where none does, the one with the largest items says how many; of the others pieces
/// are taken until they have as many, or twice the bytes that they may have. Items that one has more than others wait for
/// the next piece.
std::unique_ptr<ZippedPiece> ZippedSources::split(const Limit& limit) {
  if (over_ || items_before_ >= most_) return nullptr;
  const auto lead = [](const auto& source) {
    const SourceInfo& info = source->info();
    return std::pair(info.splits, likely_elements_of_item(info));
  };
  const auto leads_less = [&](const auto& a, const auto& b) { return lead(a) < lead(b); };
  const auto leading = static_cast<std::size_t>(
      std::max_element(sources_.begin(), sources_.end(), leads_less) - sources_.begin());
  // What has been split off of one source stays where another one fails: then this is called again.
  Limit mine = limit;
  mine.items = std::min(limit.items, most_ - items_before_);
  mine.counted = limit.counted || sources_.size() > 1 || most_ != INT64_MAX;
  Limit of_others{.bytes = limit.bytes > INT64_MAX / 2 ? INT64_MAX : 2 * limit.bytes,
                  .memory = limit.memory,
                  .stop = limit.stop,
                  .written = limit.written};
  if (const auto count = static_cast<std::int64_t>(sources_.size()); count > 1) {
    // Half of the memory is left for what is computed of them.
    const std::int64_t share = std::max<std::int64_t>(1, limit.memory / (2 * count));
    for (Limit* const of_one : {&mine, &of_others}) of_one->bytes = std::min(of_one->bytes, share);
  }
  // Nothing behind the end of the shortest is read.
  for (const auto& source : sources_)
    if (const std::int64_t known = source->info().items.value_or(INT64_MAX); known > items_before_)
      mine.items = std::min(mine.items, known - items_before_);
  if (split_off_[leading].empty()) split_off_or_end(leading, mine);
  if (!mine.counted) return take_whole();
  std::int64_t items = size_of(split_off_[leading]).items;
  for (std::size_t s = 0; s < sources_.size(); ++s)
    if (s != leading) items = std::min(items, split_off_until(s, items, of_others).items);
  ZippedPiece::Pieces pieces;
  for (std::size_t s = 0; s < sources_.size(); ++s) pieces.push_back(take_off(s, items));
  // One that is over has been taken whole: what others have more is behind the end.
  for (std::size_t s = 0; s < sources_.size(); ++s) over_ = over_ || (ended_[s] && split_off_[s].empty());
  if (items == 0) over_ = true;
  if (over_) split_off_.assign(sources_.size(), {});
  if (items == 0) return nullptr;
  items_before_ += items;
  return std::make_unique<ZippedPiece>(sources_, numbers_, std::move(pieces), items);
}

void ZippedSources::close() {
  end();
  split_off_.clear();
  sources_.clear();
}

bool ZippedSources::is_over() const { return over_ || items_before_ >= most_; }

bool ZippedSources::splits() const {
  const auto gives = [](const auto& s) { return s->info().splits; };
  return std::any_of(sources_.begin(), sources_.end(), gives) &&
         std::all_of(sources_.begin(), sources_.end(),
                     [&](const auto& s) { return gives(s) || s->info().in_memory; });
}

bool ZippedSources::in_memory() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const auto& s) { return s->info().in_memory; });
}

bool ZippedSources::live() const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const auto& s) { return s->info().live && !s->info().in_memory; });
}

bool ZippedSources::depends() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const auto& s) {
    const SourceInfo& info = s->info();
    return info.live && !info.in_memory && !info.independent;
  });
}

std::optional<std::int64_t> ZippedSources::items() const {
  std::optional<std::int64_t> fewest;
  for (const auto& s : sources_) {
    if (!s->info().items) return std::nullopt;  // it might be the shortest
    fewest = std::min(fewest.value_or(INT64_MAX), *s->info().items);
  }
  return fewest ? std::min(*fewest, most_) : fewest;
}

std::optional<std::int64_t> ZippedSources::work() const {
  std::int64_t work = 0;
  for (const auto& s : sources_) {
    const bool whole = most_ == INT64_MAX || (s->info().items && *s->info().items <= most_);
    if (!s->info().work || !whole) return std::nullopt;
    work += *s->info().work;
  }
  return work;
}

std::optional<scheduler::ChunkSize> ZippedSources::extent() const {
  const auto all = items(), elements = work();
  if (!all || !elements) return std::nullopt;
  return scheduler::ChunkSize{*all, *elements, 0};
}

std::int64_t ZippedSources::kept_bytes() const {
  std::int64_t bytes = 0;
  for (const SourceChunk& read : read_) bytes += read.bytes;
  for (const auto& of_source : split_off_)
    for (const PartOfPiece& piece : of_source) bytes += piece.bytes_read();
  return bytes;
}

std::int64_t ZippedSources::resident_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& s : sources_) bytes += s->resident_bytes();
  return bytes;
}

}  // namespace anabranch::runtime
