#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include <anabranch/anabranch.h>

/// The programs that the command `anabranch md5` runs: which words of a stream, changed by rules, have one of many MD5 digests.
/// Each lane of a vector, each thread of a GPU hashes a word of its own.
namespace anabranch::apps {

/// Longer words are not hashed: with what ends it and its length a message of 55 bytes fills one block of MD5.
inline constexpr std::int64_t longest_word = 55;

/// What happens to a word's letters, those of ASCII. All other bytes stay as they are.
enum class Change : std::uint8_t {
  lower,       ///< all letters
  upper,       ///< all letters
  capitalize,  ///< the first byte upper, all others lower
  toggle,      ///< lower ones become upper, and the other way round
  leet,        ///< a, e, i, o, s, t become 4, 3, 1, 0, 5, 7, whether they are lower or upper
};

/// Candidates that are made of a word: its letters changed, one change after the other, and a number behind it, of `digits` decimal
/// digits, 0 to 4: `first`, `first` + 1, ..., `count` candidates in all. Without digits there is one.
struct Rule {
  std::vector<Change> changes{};
  int digits = 0;
  std::int32_t first = 0, count = 1;
};
std::int32_t number_of_candidates(const std::vector<Rule>& rules);

/// Bytes, four in a number, the first one in its low bits; behind them zeros.
struct Message {
  std::array<Exp<std::uint32_t>, 14> words;
  Exp<std::int32_t> size;  ///< of a longer word more than `longest_word`
};
Message message_of(const Acc<Vector<std::uint8_t>>& word);
/// Candidate number `n` (from 0, rule after rule) that the rules make of a word, with the bit behind it by which MD5 knows its end.
Message candidate(const Message& word, const std::vector<Rule>& rules, const Exp<std::int32_t>& n);

/// a, b, c, d of RFC 1321.
using Digest = std::array<Exp<std::uint32_t>, 4>;
Digest md5(const Message& candidate);

/// N numbers as one element.
template <std::size_t N>
using Numbers = decltype(std::tuple_cat(std::array<std::uint32_t, N>()));
/// A candidate as the host sees it: its digest, its bytes and their number.
using Hashed = std::tuple<Numbers<4>, Numbers<14>, std::int32_t>;

/// Digests that are looked for, by their first 32 bits. Most candidates are none of them, which a bit tells that is gathered from
/// little memory; where it is set they are searched for.
struct Targets {
  Acc<Vector<std::uint32_t>> firsts;  ///< in rising order
  Acc<Vector<std::int32_t>>
      begins;  ///< where those with these high bits begin, and behind the last; a power of two, and one
  Acc<Vector<std::uint32_t>> bits;  ///< one for each value that low bits can have; 32 or more, a power of two
};

/// Whether one of them begins with these bits.
Exp<bool> contains(const Targets& targets, const Exp<std::uint32_t>& first);

/// Each word, and whether one of its candidates has a digest that begins as one that is looked for.
Seq<std::tuple<Scalar<bool>, Vector<std::uint8_t>>> suspects(const Seq<Vector<std::uint8_t>>& words,
                                                             const std::vector<Rule>& rules,
                                                             const Targets& targets);

/// Each word's candidates, in the order of their numbers.
Seq<Vector<Hashed>> hashed(const Seq<Vector<std::uint8_t>>& words, const std::vector<Rule>& rules);

}  // namespace anabranch::apps
