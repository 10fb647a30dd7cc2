#include "run/sources.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "ir/offsets.h"
#include "run/item_range.h"

namespace anabranch::runtime {

namespace {

class Counter final : public SourceBase {
 public:
  explicit Counter(std::int64_t count) : count_(count) {
    info_.name = "produce";
    info_.arrays.push_back({{ScalarType::int64}, {}, 0, OffsetType::int64});
    info_.items = count;
    info_.work = count;
    info_.rewindable = true;
    info_.in_memory = true;
  }
  const SourceInfo& info() const override { return info_; }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    const std::int64_t left = count_ - at_;
    if (left <= 0) return false;
    const std::int64_t items =
        std::max<std::int64_t>(1, std::min({left, limit.items, limit.work, limit.bytes / 8}));
    auto numbers = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(items));
    std::iota(numbers->begin(), numbers->end(), at_);
    at_ += items;
    chunk = SourceChunk{items, items, 8 * items, {}};
    chunk.arrays.resize(1);
    chunk.arrays[0].data.push_back(std::shared_ptr<const void>(numbers, numbers->data()));
    return true;
  }
  void rewind() override { at_ = 0; }

 private:
  std::int64_t count_;
  std::int64_t at_ = 0;
  SourceInfo info_;
};

class Rows final : public SourceBase {
 public:
  explicit Rows(std::shared_ptr<detail::ArrayData> array) : array_(std::move(array)) {
    info_.name = "rows";
    ArrayInfo item;
    item.scalars = array_->scalars;
    for (std::size_t d = 1; d < array_->extents.size(); ++d) {
      item.extents.push_back(array_->extents[d]);
      size_ *= array_->extents[d];
    }
    info_.arrays.push_back(std::move(item));
    info_.items = array_->extents[0];
    info_.work = array_->extents[0] * std::max<std::int64_t>(size_, 1);
    info_.rewindable = true;
    info_.in_memory = true;
  }
  const SourceInfo& info() const override { return info_; }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    const std::int64_t left = *info_.items - at_;
    if (left <= 0) return false;
    const std::int64_t by_work = limit.work / std::max<std::int64_t>(size_, 1);
    const std::int64_t items = std::max<std::int64_t>(1, std::min({left, limit.items, by_work}));
    chunk = SourceChunk{items, items * std::max<std::int64_t>(size_, 1), 0, {}};
    chunk.arrays.resize(1);
    for (std::size_t c = 0; c < array_->scalars.size(); ++c) {
      const auto* start = static_cast<const unsigned char*>(array_->buffers[c].get()) +
                          static_cast<std::size_t>(at_ * size_) * size_of(array_->scalars[c]);
      chunk.arrays[0].data.push_back(std::shared_ptr<const void>(array_, start));
    }
    at_ += items;
    return true;
  }
  void rewind() override { at_ = 0; }

 private:
  std::shared_ptr<detail::ArrayData> array_;
  std::int64_t size_ = 1;
  std::int64_t at_ = 0;
  SourceInfo info_;
};

/// Offsets that fall at last are refused here; each of them is looked at by those who make them from files (src/io).
bool offsets_rise(const ArrayInfo& info, const ArrayChunk& array, std::int64_t items) {
  const std::int64_t first = ir::offset_at(array.offsets.get(), info.offsets, 0);
  return first >= 0 && ir::offset_at(array.offsets.get(), info.offsets, items) >= first;
}

/// A chunk must be what the source declared; kernels rely on it.
void check_chunk(const SourceInfo& info, const SourceChunk& chunk) {
  bool ok = chunk.arrays.size() == info.arrays.size();
  for (std::size_t a = 0; ok && a < chunk.arrays.size(); ++a) {
    const ArrayInfo& declared = info.arrays[a];
    const ArrayChunk& given = chunk.arrays[a];
    ok = given.data.size() == declared.scalars.size() && (declared.regular() || given.offsets);
    if (!ok || declared.regular() || declared.ragged()) continue;
    ok = given.extents.size() == declared.extents.size();
    for (std::size_t d = 0; ok && d < declared.extents.size(); ++d)
      ok = declared.extents[d] || given.extents[d] || chunk.items == 0;
  }
  if (!ok)
    throw RunError(
        fmt::format("source {}: a chunk does not hold the arrays that the source declared", info.name));
  if (chunk.items < 0 || chunk.work < 0 || chunk.bytes < 0)
    throw RunError(fmt::format("source {}: a chunk of {} items, {} elements and {} bytes", info.name,
                               chunk.items, chunk.work, chunk.bytes));
  for (std::size_t a = 0; a < chunk.arrays.size(); ++a)
    if (!info.arrays[a].regular() && !offsets_rise(info.arrays[a], chunk.arrays[a], chunk.items))
      throw RunError(fmt::format("source {}: the offsets of a chunk's {} items fall, or begin below 0",
                                 info.name, chunk.items));
}

}  // namespace

std::shared_ptr<SourceBase> make_counter(std::int64_t count) { return std::make_shared<Counter>(count); }
std::shared_ptr<SourceBase> make_rows(std::shared_ptr<detail::ArrayData> array) {
  return std::make_shared<Rows>(std::move(array));
}

SourceChunk slice(const SourceChunk& chunk, const std::vector<ArrayInfo>& infos, std::int64_t begin,
                  std::int64_t end) {
  SourceChunk part;
  part.items = end - begin;
  for (std::size_t a = 0; a < chunk.arrays.size(); ++a) {
    const ArrayChunk& from = chunk.arrays[a];
    const ArrayInfo& info = infos[a];
    ArrayChunk to = from;
    std::int64_t elements = 0;
    if (info.regular()) {
      const std::int64_t size = size_of_item(info);
      const bool lies_over = overlap(from, info);
      if (lies_over) to.extents.back() = {from.extents.back(), from.extents.back().get() + begin};
      for (std::size_t c = 0; c < to.data.size() && !lies_over; ++c) {
        const auto* start = static_cast<const unsigned char*>(from.data[c].get()) +
                            static_cast<std::size_t>(begin * size) * size_of(info.scalars[c]);
        to.data[c] = std::shared_ptr<const void>(from.data[c], start);
      }
      elements = size * part.items;
    } else {
      const auto width = static_cast<std::size_t>(ir::offset_bytes(info.offsets));
      const auto* start =
          static_cast<const unsigned char*>(from.offsets.get()) + static_cast<std::size_t>(begin) * width;
      to.offsets = std::shared_ptr<const void>(from.offsets, start);
      for (auto& e : to.extents)
        if (e) e = std::shared_ptr<const std::int64_t>(e, e.get() + begin);
      elements = ir::offset_at(to.offsets.get(), info.offsets, part.items) -
                 ir::offset_at(to.offsets.get(), info.offsets, 0);
    }
    part.work = std::max(part.work, elements);
    part.arrays.push_back(std::move(to));
  }
  part.first = chunk.first + begin;
  part.bytes = chunk.items == 0 ? 0 : chunk.bytes / chunk.items * part.items;
  return part;
}

namespace {

/// Of the largest array of an item; 0: nothing is known of them.
double likely_elements_of_item(const SourceInfo& info) {
  const double items = static_cast<double>(info.items.value_or(0));
  double likely = items > 0 ? static_cast<double>(info.work.value_or(0)) / items : 0.0;
  for (const ArrayInfo& array : info.arrays)
    if (array.regular()) likely = std::max(likely, static_cast<double>(size_of_item(array)));
  return likely;
}

std::string wrong_items(const SourceInfo& info, std::int64_t given, std::int64_t most) {
  return fmt::format("source {}: gave {} items where 1 to {} were asked for", info.name, given, most);
}

/// Where the pieces of a source end, counted in items.
std::vector<std::int64_t> ends_of(const std::vector<std::unique_ptr<SourcePiece>>& pieces) {
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (const auto& piece : pieces) ends.push_back(end += piece->items());
  return ends;
}

}  // namespace

ZippedPiece::ZippedPiece(const std::vector<std::shared_ptr<SourceBase>>& sources, Pieces pieces,
                         std::int64_t first, std::int64_t items)
    : sources_(sources), pieces_(std::move(pieces)), first_(first), items_(items) {
  for (const auto& of_source : pieces_)
    for (const auto& piece : of_source) {
      work_ += piece->work();
      bytes_ += piece->bytes();
    }
}

std::vector<std::vector<SourceChunk>> ZippedPiece::read() {
  std::vector<std::vector<SourceChunk>> chunks(pieces_.size());
  std::vector<std::vector<std::int64_t>> ends;
  for (std::size_t s = 0; s < pieces_.size(); ++s) {
    const SourceInfo& info = sources_[s]->info();
    for (const auto& piece : pieces_[s]) {
      SourceChunk& chunk = chunks[s].emplace_back();
      piece->read(chunk);
      if (chunk.items != piece->items()) throw RunError(wrong_items(info, chunk.items, piece->items()));
      check_chunk(info, chunk);
    }
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
      part.back().first = first_ + begin;
    }
    for (std::size_t s = 0; s < at.size(); ++s) at[s] += ends[s][at[s]] == end;
    begin = end;
  }
  return parts;
}

void ZippedPiece::complete() {
  for (const auto& of_source : pieces_)
    for (const auto& piece : of_source) piece->complete();
}

ZippedSources::ZippedSources(std::vector<std::shared_ptr<SourceBase>> sources, std::int64_t most)
    : sources_(std::move(sources)),
      read_(sources_.size()),
      bytes_of_item_(sources_.size(), -1.0),
      most_(most) {}

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
    const SourceInfo& info = sources_[s]->info();
    if (!sources_[s]->next(own, read)) return false;
    if (read.items <= 0 || read.items > own.items) throw RunError(wrong_items(info, read.items, own.items));
    check_chunk(info, read);
    bytes_of_item_[s] = static_cast<double>(read.bytes) / static_cast<double>(read.items);
  }
  left.items = std::min(left.items, read.items);
  // What is read beyond that is for later chunks.
  const auto bytes = static_cast<std::int64_t>(bytes_of_item_[s] * static_cast<double>(left.items));
  left.bytes = std::max<std::int64_t>(1, left.bytes - bytes);
  if (!is_kept) left.memory = std::max<std::int64_t>(0, left.memory - read.bytes);
  return true;
}

/// The one with the largest items is read first, and says how many items there are. Each leaves bytes for those after it.
bool ZippedSources::read_in_step(Limit& mine) {
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
    if (!read(s, own, mine)) return false;
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

/// Of the sources that split, of all where none does, the one with the largest items says how many; of the others pieces
/// are taken until they have as many.
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
  split_off_.resize(sources_.size());
  const auto items_of = [&](std::size_t s) {
    const std::vector<std::int64_t> ends = ends_of(split_off_[s]);
    return ends.empty() ? 0 : ends.back();
  };
  // Null where the source is over.
  const auto take = [&](std::size_t s, const Limit& mine) {
    auto piece = sources_[s]->split(mine);
    if (piece && (piece->items() <= 0 || piece->items() > mine.items))
      throw RunError(wrong_items(sources_[s]->info(), piece->items(), mine.items));
    if (piece && (piece->work() < 0 || piece->bytes() < 0))
      throw RunError(fmt::format("source {}: a piece of {} elements and {} bytes", sources_[s]->info().name,
                                 piece->work(), piece->bytes()));
    const std::int64_t given = piece ? piece->items() : 0;
    if (piece) split_off_[s].push_back(std::move(piece));
    return given;
  };
  Limit mine = limit;
  mine.items = std::min(limit.items, most_ - items_before_);
  if (split_off_[leading].empty()) take(leading, mine);
  std::int64_t items = items_of(leading);
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    if (s == leading) continue;
    std::int64_t have = items_of(s);
    for (std::int64_t given = 1; have < items && given > 0; have += given)
      given = take(s, {.items = items - have, .memory = limit.memory});
    items = std::min(items, have);
  }
  if (items == 0) {
    over_ = true;
    split_off_.clear();
    return nullptr;
  }
  items_before_ += items;
  return std::make_unique<ZippedPiece>(sources_, std::exchange(split_off_, {}), items_before_ - items, items);
}

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
  return bytes;
}

std::int64_t ZippedSources::resident_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& s : sources_) bytes += s->resident_bytes();
  return bytes;
}

}  // namespace anabranch::runtime
