#include "apps/md5/program.h"

#include <cmath>
#include <optional>
#include <utility>

namespace anabranch::apps {

namespace {

using Word = Exp<std::uint32_t>;
using Words = std::array<Word, 14>;

// ---- Letters, four bytes at a time --------------------------------------------------------------------------

constexpr std::uint32_t each_byte = 0x01010101, high_bits = 0x80808080;

/// The high bit of each byte that is one of low, ..., high, of ASCII: carries stay inside of bytes whose own high bit is out.
Word in_range(const Word& bytes, char low, char high) {
  const Word seven = bytes & ~high_bits;
  const Word from_low = seven + each_byte * static_cast<std::uint32_t>(0x80 - low);
  const Word above_high = seven + each_byte * static_cast<std::uint32_t>(0x7f - high);
  return (from_low ^ above_high) & ~bytes & high_bits;
}
Word upper_letters(const Word& bytes) { return in_range(bytes, 'A', 'Z'); }
Word lower_letters(const Word& bytes) { return in_range(bytes, 'a', 'z'); }
/// Of a letter the bit that lower and upper differ by.
Word case_bit(const Word& letters) { return letters >> 2; }

Word lower(const Word& bytes) { return bytes ^ case_bit(upper_letters(bytes)); }
Word upper(const Word& bytes) { return bytes ^ case_bit(lower_letters(bytes)); }
Word toggled(const Word& bytes) { return lower(bytes) ^ case_bit(lower_letters(bytes)); }

Word leet(const Word& bytes) {
  const Word small = lower(bytes);
  Word out = bytes;
  for (const auto& [letter, digit] :
       {std::pair('a', '4'), {'e', '3'}, {'i', '1'}, {'o', '0'}, {'s', '5'}, {'t', '7'}}) {
    const Word here = (in_range(small, letter, letter) >> 7) * 0xff;
    out = out ^ (here & (out ^ each_byte * static_cast<std::uint32_t>(digit)));
  }
  return out;
}

Word changed(Change change, const Word& bytes, bool with_first) {
  switch (change) {
    case Change::lower:
      return lower(bytes);
    case Change::upper:
      return upper(bytes);
    case Change::capitalize: {
      const Word rest = lower(bytes);
      return with_first ? rest ^ (case_bit(lower_letters(rest)) & 0xff) : rest;
    }
    case Change::toggle:
      return toggled(bytes);
    case Change::leet:
      return leet(bytes);
  }
  return bytes;
}

// ---- Words and messages -------------------------------------------------------------------------------------

template <std::size_t N>
Exp<Numbers<N>> packed(const std::array<Word, N>& words) {
  return std::apply([](const auto&... each) { return pack(each...); }, words);
}
template <std::size_t N>
std::array<Word, N> unpacked(const Exp<Numbers<N>>& words) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Word, N>{get<I>(words)...};
  }(std::make_index_sequence<N>());
}

/// f(j) for word j of a message, but 0 for words beyond its end, which of most messages are all but the first ones.
template <class F>
Words each_word(const Exp<std::int32_t>& size, F f) {
  const auto part = [&]<std::size_t First, std::size_t... I>(std::index_sequence<First, I...>) {
    return cond(size > static_cast<std::int32_t>(4 * First), pack(f(First), f(I)...),
                pack(((void)I, Word(0u))..., Word(0u)));
  };
  const auto low = part(std::index_sequence<0, 1, 2, 3>()), middle = part(std::index_sequence<4, 5, 6, 7>());
  const auto high = part(std::index_sequence<8, 9, 10, 11, 12, 13>());
  return {get<0>(low),    get<1>(low),    get<2>(low),    get<3>(low),  get<0>(middle),
          get<1>(middle), get<2>(middle), get<3>(middle), get<0>(high), get<1>(high),
          get<2>(high),   get<3>(high),   get<4>(high),   get<5>(high)};
}

/// The bytes or zeros. Other than `cond`, which evaluates what it gives where it is needed, and so again and again where many ask.
Word only_if(const Exp<bool>& condition, const Word& bytes) { return bytes & cond(condition, ~0u, 0u); }

/// With four bytes and a fifth written behind its end.
Words appended(const Message& message, const Word& four, const Word& fifth) {
  const Exp<std::int32_t> at = message.size >> 2, bits = (message.size & 3) * 8;
  const Word here = four << bits, next = ((four >> 1) >> (31 - bits)) | (fifth << bits);
  Words out = message.words;
  for (std::size_t j = 0; j < out.size(); ++j) {
    const auto place = static_cast<std::int32_t>(j);
    out[j] = out[j] | only_if(at == place, here) | only_if(at == place - 1, next);
  }
  return out;
}

/// A number, of so many decimal digits, as bytes from the first digit on.
Word decimal(const Exp<std::int32_t>& number, int digits) {
  constexpr std::uint32_t zero = '0';
  Word bytes(0u);
  Exp<std::int32_t> left = number;
  for (int place = digits; place-- > 0; left = left / 10)
    bytes = bytes | ((cast<std::uint32_t>(left % 10) + zero) << (8 * place));
  return bytes;
}

/// A candidate before it is one message: the word with its letters changed; four bytes that go behind it, and a fifth: digits, and
/// the bit that ends a message; how many digits there are.
using Parts = Exp<std::tuple<Numbers<14>, std::uint32_t, std::uint32_t, std::int32_t>>;

/// What a rule makes of a word, with this number behind it.
Parts parts_of(const Message& word, const Rule& rule, const Exp<std::int32_t>& number) {
  constexpr std::uint32_t end_of_message = 0x80;
  Words words = word.words;
  for (const Change change : rule.changes)
    words = each_word(word.size, [&](std::size_t j) { return changed(change, words[j], j == 0); });
  const Word digits = decimal(number, rule.digits);
  if (rule.digits == 4)
    return pack(packed(words), digits, Word(end_of_message), Exp<std::int32_t>(rule.digits));
  return pack(packed(words), digits | (end_of_message << (8 * rule.digits)), Word(0u),
              Exp<std::int32_t>(rule.digits));
}

}  // namespace

std::int32_t number_of_candidates(const std::vector<Rule>& rules) {
  std::int32_t count = 0;
  for (const Rule& rule : rules) count += rule.count;
  return count;
}

Message message_of(const Acc<Vector<std::uint8_t>>& word) {
  const auto length = size(word);
  const auto byte = [&](const Exp<std::int64_t>& i) { return cast<std::uint32_t>(word[i]); };
  const auto four = [&](const Exp<std::int64_t>& i) {
    return byte(i) | (byte(i + 1) << 8) | (byte(i + 2) << 16) | (byte(i + 3) << 24);
  };
  // Behind the last whole word: bytes 0 to 2 of it, as they stand at the end of the last four bytes, if there are as many.
  const auto rest = length & 3;
  const auto short_rest = [&] {
    return cond(length > 0, byte(0), 0u) | cond(length > 1, byte(1) << 8, 0u) |
           cond(length > 2, byte(2) << 16, 0u);
  };
  const Word tail =
      cond(length >= 4, (four(length - 4) >> 8) >> cast<std::int32_t>(24 - 8 * rest), short_rest());
  const auto size = cast<std::int32_t>(min(length, std::int64_t{longest_word + 1}));
  const auto whole = size >> 2;
  Words words = each_word(size, [&](std::size_t j) {
    return cond(whole > static_cast<std::int32_t>(j), four(static_cast<std::int64_t>(4 * j)), 0u);
  });
  for (std::size_t j = 0; j < words.size(); ++j)
    words[j] = words[j] | only_if(whole == static_cast<std::int32_t>(j), tail);
  return {words, size};
}

Message candidate(const Message& word, const std::vector<Rule>& rules, const Exp<std::int32_t>& n) {
  // The last rule whose numbers begin at n or below is the one that makes it.
  std::int32_t begin = 0;
  std::optional<Parts> parts;
  for (const Rule& rule : rules) {
    const Parts of_rule = parts_of(word, rule, n - (begin - rule.first));
    parts = parts ? cond(n >= begin, of_rule, *parts) : of_rule;
    begin += rule.count;
  }
  auto [words, behind, fifth_behind, digits] = *parts;
  return {appended({unpacked<14>(words), word.size}, behind, fifth_behind), word.size + digits};
}

Digest md5(const Message& candidate) {
  constexpr std::array<std::array<int, 4>, 4> turns{
      {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
  const Digest start{Word(0x67452301u), Word(0xefcdab89u), Word(0x98badcfeu), Word(0x10325476u)};
  auto [a, b, c, d] = start;
  for (int step = 0; step < 64; ++step) {
    const int round = step / 16;
    // Of b, c and d no two are beside each other in two steps of the third round: what those had in common would be computed once,
    // and cost more than an instruction of three operands does.
    const Word mixed = round == 0   ? d ^ (b & (c ^ d))
                       : round == 1 ? c ^ (d & (b ^ c))
                       : round == 2 ? (b ^ d) ^ c
                                    : c ^ (b | ~d);
    const int k = round == 0   ? step
                  : round == 1 ? (5 * step + 1) % 16
                  : round == 2 ? (3 * step + 5) % 16
                               : 7 * step % 16;
    const auto sine = static_cast<std::uint32_t>(std::floor(std::ldexp(std::abs(std::sin(step + 1.0)), 32)));
    const Word input = k < 14    ? candidate.words[static_cast<std::size_t>(k)]
                       : k == 14 ? cast<std::uint32_t>(candidate.size) * 8
                                 : Word(0u);
    const Word next = b + rotl(a + (input + sine) + mixed,
                               turns[static_cast<std::size_t>(round)][static_cast<std::size_t>(step % 4)]);
    a = d;
    d = c;
    c = b;
    b = next;
  }
  return {start[0] + a, start[1] + b, start[2] + c, start[3] + d};
}

Exp<bool> contains(const Targets& targets, const Word& first) {
  // In 32 bits, as many of which are in a vector as hashes.
  const Word bit = first & (cast<std::uint32_t>(size(targets.bits)) * 32u - 1u);
  const auto is_marked = test_bit(targets.bits[bit >> 5], bit & 31u);
  const auto bucket = (cast<std::int64_t>(first) * (size(targets.begins) - 1)) >> 32;
  const auto search = [&] {
    const auto is_below = [&](const auto& at) {
      return at < targets.begins[bucket + 1] && targets.firsts[at] < first;
    };
    const auto found = while_loop(is_below, [](const auto& at) { return at + 1; }, targets.begins[bucket]);
    return found < targets.begins[bucket + 1] && targets.firsts[found] == first;
  };
  return is_marked && search();
}

Seq<std::tuple<Scalar<bool>, Vector<std::uint8_t>>> suspects(const Seq<Vector<std::uint8_t>>& words,
                                                             const std::vector<Rule>& rules,
                                                             const Targets& targets) {
  const std::int32_t candidates = number_of_candidates(rules);
  const auto is_wanted = [&](const Message& message) {
    return message.size <= static_cast<std::int32_t>(longest_word) && contains(targets, md5(message)[0]);
  };
  const auto look = [&](const Acc<Vector<std::uint8_t>>& word) {
    const Message message = message_of(word);
    if (candidates == 1)
      return std::tuple(unit(is_wanted(candidate(message, rules, Exp<std::int32_t>(0)))), word);
    // The message is part of the state: it is made once.
    const auto found =
        while_loop([=](const auto& state) { return get<0>(state) < candidates; },
                   [&](const auto& state) {
                     auto [n, any, words_of, size_of] = state;
                     const Message here{unpacked<14>(words_of), size_of};
                     const auto wanted = is_wanted(candidate(here, rules, n));
                     return pack(n + 1, any || wanted, words_of, size_of);
                   },
                   pack(Exp<std::int32_t>(0), Exp<bool>(false), packed(message.words), message.size));
    return std::tuple(unit(get<1>(found)), word);
  };
  return map_seq(look, words);
}

Seq<Vector<Hashed>> hashed(const Seq<Vector<std::uint8_t>>& words, const std::vector<Rule>& rules) {
  return map_seq(
      [&](const Acc<Vector<std::uint8_t>>& word) {
        const Message message = message_of(word);
        return generate(Index{number_of_candidates(rules)}, [&](const auto& at) {
          const Message one = candidate(message, rules, cast<std::int32_t>(at[0]));
          return pack(packed(md5(one)), packed(one.words), one.size);
        });
      },
      words);
}

}  // namespace anabranch::apps
