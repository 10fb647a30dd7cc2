#include "apps/md5/found_words.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace anabranch::apps {

namespace {

/// The candidates of words that lie one after the other.
auto compile_candidates(std::vector<Rule> rules) {
  return compile<Vector<std::uint8_t>, Vector<std::int64_t>>(
      [rules = std::move(rules)](const auto& bytes, const auto& offsets) {
        return consume(elements(hashed(from_segments(segments_of_offsets(offsets), bytes), rules)));
      });
}
using CandidatesOf = decltype(compile_candidates({}));

/// So many candidates of suspects are computed at a time.
constexpr std::int64_t candidates_at_once = 1 << 16;

template <class... T>
std::array<std::uint32_t, sizeof...(T)> array_of(const std::tuple<T...>& numbers) {
  return std::apply([](auto... each) { return std::array<std::uint32_t, sizeof...(T)>{each...}; }, numbers);
}

std::string bytes_of(const Numbers<14>& words, std::int32_t size) {
  std::string out;
  const auto numbers = array_of(words);
  for (std::int32_t i = 0; i < size; ++i)
    out += static_cast<char>(numbers[static_cast<std::size_t>(i) / 4] >> (8 * (i % 4)));
  return out;
}

}  // namespace

class FoundWords::Taking final : public SinkBase, public std::enable_shared_from_this<Taking> {
 public:
  Taking(const DigestTable& digests, std::vector<Rule> rules, RunOptions options,
         std::function<void(const std::vector<FoundWord>&)> found, std::function<void()> all)
      : digests_(digests),
        rules_(std::move(rules)),
        per_word_(number_of_candidates(rules_)),
        options_(std::move(options)),
        candidates_of_(compile_candidates(rules_)),
        found_(std::move(found)),
        all_(std::move(all)) {
    info_.name = "found words";
    info_.arrays = {{{ScalarType::boolean}, 0}, {{ScalarType::uint8}, 1}};
  }

  const SinkInfo& info() const override { return info_; }
  std::unique_ptr<SinkPass> begin(const SinkStart& start) override;

  /// The candidates of no words.
  RunReport prepare() const {
    RunReport report;
    candidates_of_.run(options_, &report, Vector<std::uint8_t>(0), Vector<std::int64_t>(1));
    return report;
  }

  void begin_again() {
    is_found_.assign(static_cast<std::size_t>(digests_.distinct()), false);
    words_ = too_long_ = found_count_ = 0;
    without_room_ = {};
  }

  void take(const SinkChunk& chunk) {
    if (found_count_ == digests_.distinct()) return;
    const auto* const flags = static_cast<const unsigned char*>(chunk.arrays[0].data[0].get());
    const auto* const bytes = static_cast<const std::uint8_t*>(chunk.arrays[1].data[0].get());
    const auto* const offsets = static_cast<const std::int64_t*>(chunk.arrays[1].offsets.get());
    count(offsets, chunk.items);
    const auto batch = static_cast<std::size_t>(std::max<std::int64_t>(candidates_at_once / per_word_, 1));
    std::vector<std::int64_t> suspects;
    for (std::int64_t i = 0; i < chunk.items; ++i) {
      const void* const next = std::memchr(flags + i, 1, static_cast<std::size_t>(chunk.items - i));
      if (!next) break;
      i = static_cast<const unsigned char*>(next) - flags;
      suspects.push_back(i);
      if (suspects.size() == batch) look_at(bytes, offsets, std::exchange(suspects, {}));
    }
    look_at(bytes, offsets, suspects);
  }

  std::int64_t words() const { return words_; }
  std::int64_t too_long() const { return too_long_; }
  std::int64_t found() const { return found_count_; }
  std::int64_t candidates() const {
    std::int64_t all = 0;
    for (const Rule& rule : rules_)
      all += rule.count * (words_ - too_long_ - without_room_[static_cast<std::size_t>(rule.digits)]);
    return all;
  }

 private:
  void count(const std::int64_t* offsets, std::int64_t items) {
    words_ += items;
    for (std::int64_t i = 0; i < items; ++i) {
      const std::int64_t size = offsets[i + 1] - offsets[i];
      if (size + 4 <= longest_word) continue;
      if (size > longest_word)
        ++too_long_;
      else
        for (std::int64_t digits = longest_word - size + 1; digits <= 4; ++digits)
          ++without_room_[static_cast<std::size_t>(digits)];
    }
  }

  void look_at(const std::uint8_t* bytes, const std::int64_t* offsets,
               const std::vector<std::int64_t>& suspects) {
    if (suspects.empty() || found_count_ == digests_.distinct()) return;
    Vector<std::int64_t> ends(static_cast<std::int64_t>(suspects.size()) + 1);
    for (std::size_t k = 0; k < suspects.size(); ++k) {
      const auto at = static_cast<std::int64_t>(k);
      ends.set(at + 1, ends[at] + offsets[suspects[k] + 1] - offsets[suspects[k]]);
    }
    Vector<std::uint8_t> words(ends[ends.size() - 1]);
    for (std::size_t k = 0; k < suspects.size(); ++k)
      std::copy(bytes + offsets[suspects[k]], bytes + offsets[suspects[k] + 1],
                words.mutable_data() + ends[static_cast<std::int64_t>(k)]);
    std::vector<FoundWord> found;
    const Vector<Hashed> candidates = candidates_of_.run(options_, nullptr, words, ends);
    for (std::int64_t i = 0; i < candidates.size(); ++i) {
      const auto [digest, message, size] = candidates[i];
      if (size > longest_word) continue;
      if (const auto which = digests_.find(array_of(digest)); which && !is_found_[*which]) {
        is_found_[*which] = true;
        ++found_count_;
        found.push_back({hex(array_of(digest)), bytes_of(message, size)});
      }
    }
    if (!found.empty()) found_(found);
    if (found_count_ == digests_.distinct()) all_();
  }

  const DigestTable& digests_;
  const std::vector<Rule> rules_;
  const std::int64_t per_word_;
  const RunOptions options_;
  const CandidatesOf candidates_of_;
  std::function<void(const std::vector<FoundWord>&)> found_;
  std::function<void()> all_;
  SinkInfo info_;
  std::vector<bool> is_found_;
  std::int64_t words_ = 0, too_long_ = 0, found_count_ = 0;
  std::array<std::int64_t, 5> without_room_{};  ///< words, not too long, that so many digits make too long
};

class FoundWords::Pass final : public SinkPass {
 public:
  explicit Pass(std::shared_ptr<Taking> taking) : taking_(std::move(taking)) { taking_->begin_again(); }
  void write(const SinkChunk& chunk) override { taking_->take(chunk); }
  // What has been found has been said.
  void finish() override {}
  void commit() override {}

 private:
  std::shared_ptr<Taking> taking_;
};

std::unique_ptr<SinkPass> FoundWords::Taking::begin(const SinkStart&) {
  return std::make_unique<Pass>(shared_from_this());
}

FoundWords::FoundWords(const DigestTable& digests, std::vector<Rule> rules, RunOptions options,
                       std::function<void(const std::vector<FoundWord>&)> found, std::function<void()> all)
    : taking_(std::make_shared<Taking>(digests, std::move(rules), std::move(options), std::move(found),
                                       std::move(all))) {}
FoundWords::~FoundWords() = default;

RunReport FoundWords::prepare() const { return taking_->prepare(); }
Sink<std::tuple<Scalar<bool>, Vector<std::uint8_t>>> FoundWords::sink() const {
  return Sink<std::tuple<Scalar<bool>, Vector<std::uint8_t>>>(taking_);
}
std::int64_t FoundWords::words() const { return taking_->words(); }
std::int64_t FoundWords::too_long() const { return taking_->too_long(); }
std::int64_t FoundWords::candidates() const { return taking_->candidates(); }
std::int64_t FoundWords::found() const { return taking_->found(); }

}  // namespace anabranch::apps
