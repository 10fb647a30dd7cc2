#include "apps/md5/program.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "md5_by_hand.h"
#include "public/agree.h"

// The programs of `anabranch md5`: candidates, their messages and digests; words of which one may be looked for.
namespace anabranch::testing {
namespace {

using apps::Change;
using apps::DigestTable;
using apps::DigestWords;
using apps::Rule;

using Words = std::vector<std::string>;

struct Known {
  std::string message, digest;
};

/// RFC 1321, A.5.
const std::vector<Known> suite{
    {"", "d41d8cd98f00b204e9800998ecf8427e"},
    {"a", "0cc175b9c0f1b6a831c399e269772661"},
    {"abc", "900150983cd24fb0d6963f7d28e17f72"},
    {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
    {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"},
    {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
     "57edf4a22be3c955ac49da2e2107b67a"}};

/// The words as they are, every change, changes one after the other, and every number of digits.
const std::vector<Rule> all_rules{{},
                                  {.changes = {Change::lower}},
                                  {.changes = {Change::upper}},
                                  {.changes = {Change::capitalize}},
                                  {.changes = {Change::toggle}},
                                  {.changes = {Change::leet}},
                                  {.changes = {Change::upper, Change::leet, Change::toggle}},
                                  {.changes = {}, .digits = 1, .first = 0, .count = 10},
                                  {.changes = {Change::capitalize}, .digits = 2, .first = 8, .count = 4},
                                  {.changes = {}, .digits = 3, .first = 98, .count = 4},
                                  {.changes = {Change::leet}, .digits = 4, .first = 1998, .count = 4}};

std::string letters(std::size_t length) {
  const std::string all = "aEiOsT zQ9~ToSAe";
  std::string out;
  while (out.size() < length) out += all[out.size() % all.size()];
  return out;
}

/// Some of them are as long as may be, or longer, or are so with digits; and bytes beside the letters.
Words some_words() {
  Words out{"@AZ[`az{", "\x80\xc1\xda\xe1\xfa\xff", std::string("nul\0Nul", 7),
            "correct horse BATTERY staple"};
  for (const std::size_t length : {0, 1, 3, 4, 5, 8, 50, 51, 52, 53, 54, 55, 56, 200})
    out.push_back(letters(length));
  return out;
}

std::vector<Vector<std::uint8_t>> as_vectors(const Words& words) {
  std::vector<Vector<std::uint8_t>> out;
  for (const std::string& word : words) out.emplace_back(std::vector<std::uint8_t>(word.begin(), word.end()));
  return out;
}

template <class... T>
std::array<std::uint32_t, sizeof...(T)> as_array(const std::tuple<T...>& numbers) {
  return std::apply([](auto... each) { return std::array<std::uint32_t, sizeof...(T)>{each...}; }, numbers);
}

std::string bytes_of(const apps::Numbers<14>& words) {
  std::string out;
  for (const std::uint32_t word : as_array(words))
    for (int byte = 0; byte < 4; ++byte) out += static_cast<char>(word >> (8 * byte));
  return out;
}

/// With the bit behind it by which MD5 knows its end, and zeros.
std::string with_end(const std::string& candidate) {
  std::string out = candidate + '\x80';
  out.resize(56, '\0');
  return out;
}

Vector<apps::Hashed> hashed_words(const Words& words) {
  return agree(consume(elements(apps::hashed(stream_in(as_vectors(words)), all_rules))));
}

}  // namespace

TEST_CASE("md5: the suite of RFC 1321") {
  for (const Known& known : suite) CHECK(apps::hex(md5_by_hand(known.message)) == known.digest);
  Words words;
  for (const Known& known : suite) words.push_back(known.message);
  const auto got = hashed_words(words);
  const std::int64_t each = apps::number_of_candidates(all_rules);
  REQUIRE(got.size() == each * std::ssize(words));
  for (std::size_t i = 0; i < suite.size(); ++i) {
    const auto [digest, message, size] = got[static_cast<std::int64_t>(i) * each];  // the word as it is
    INFO(suite[i].message);
    if (is_hashed(suite[i].message))
      CHECK(apps::hex(as_array(digest)) == suite[i].digest);
    else
      CHECK(size > apps::longest_word);
  }
}

TEST_CASE("md5: candidates, their messages and digests, as plain loops have them") {
  const Words words = some_words();
  const auto got = hashed_words(words);
  REQUIRE(got.size() == apps::number_of_candidates(all_rules) * std::ssize(words));
  std::int64_t at = 0;
  for (const std::string& word : words)
    for (const std::string& candidate : candidates_by_hand(all_rules, word)) {
      INFO("candidate " << at << ", " << candidate.size() << " bytes: " << candidate);
      const auto [digest, message, size] = got[at++];
      if (!is_hashed(candidate)) {
        CHECK(size > apps::longest_word);
        continue;
      }
      CHECK(size == std::ssize(candidate));
      CHECK(bytes_of(message) == with_end(candidate));
      CHECK(as_array(digest) == md5_by_hand(candidate));
    }
  CHECK(at == got.size());
}

namespace {

/// Digests of candidates, some twice; such as begin alike; such as have only their low bits, by which they are looked up first,
/// and the bucket in common; and a thousand others.
DigestTable some_digests(const Words& words, const std::vector<Rule>& rules) {
  std::vector<DigestWords> out;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t one = mixed(2 * i), other = mixed(2 * i + 1);
    out.push_back({static_cast<std::uint32_t>(one), static_cast<std::uint32_t>(one >> 32),
                   static_cast<std::uint32_t>(other), static_cast<std::uint32_t>(other >> 32)});
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    Words candidates = candidates_by_hand(rules, words[i]);
    std::erase_if(candidates, [](const std::string& c) { return !is_hashed(c); });
    if (candidates.empty()) {
      out.push_back(md5_by_hand(words[i]));  // nobody finds it
      continue;
    }
    const auto [a, b, c, d] = md5_by_hand(candidates[i % candidates.size()]);
    switch (i % 4) {
      case 0:
        out.insert(out.end(), 2, {a, b, c, d});
        break;
      case 1:
        out.push_back({a, b + 1, c, d});
        break;
      case 2:
        out.push_back({a ^ 0x00080000U, b, c, d});
        break;
      default:
        out.push_back({a ^ 0x80000000U, b, c, d});
    }
  }
  return DigestTable(std::move(out));
}

bool has_first(const DigestTable& table, std::uint32_t first) {
  for (std::int64_t i = 0; i < table.distinct(); ++i)
    if (table[static_cast<std::size_t>(i)][0] == first) return true;
  return false;
}

void check_suspects(const std::vector<Rule>& rules) {
  const Words words = some_words();
  std::string all;
  for (const std::string& word : words) all += word;
  const auto program = compile<Vector<std::uint32_t>, Vector<std::int32_t>, Vector<std::uint32_t>>(
      [&](const auto& firsts, const auto& begins, const auto& bits) {
        const auto [flags, same] =
            unzip_seq(apps::suspects(stream_in(as_vectors(words)), rules, {firsts, begins, bits}));
        return std::tuple(consume(elements(flags)), consume(elements(same)));
      });
  const DigestTable none(std::vector<DigestWords>{}), other(std::vector<DigestWords>{{1, 2, 3, 4}});
  for (const DigestTable& table : {none, other, some_digests(words, rules)}) {
    INFO(table.distinct() << " digests");
    const auto [flags, same] = agree_on(program, table.firsts(), table.begins(), table.bits());
    CHECK(std::string(same.begin(), same.end()) == all);
    REQUIRE(flags.size() == std::ssize(words));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Words candidates = candidates_by_hand(rules, words[i]);
      const bool expected = std::any_of(candidates.begin(), candidates.end(), [&](const std::string& c) {
        return is_hashed(c) && has_first(table, md5_by_hand(c)[0]);
      });
      INFO(words[i]);
      CHECK(flags[static_cast<std::int64_t>(i)] == expected);
    }
  }
}

}  // namespace

TEST_CASE("md5: suspects among words as they are") { check_suspects(std::vector<Rule>(1)); }

TEST_CASE("md5: suspects among the candidates of rules") {
  check_suspects({{},
                  {.changes = {Change::leet}},
                  {.changes = {Change::capitalize}, .digits = 2, .first = 9, .count = 3}});
}

TEST_CASE("md5: digests that are given twice count once, and are found only whole", "[once]") {
  const DigestTable table(std::vector<DigestWords>{{3, 1, 1, 1}, {1, 2, 3, 4}, {3, 1, 1, 1}, {1, 2, 3, 5}});
  CHECK(table.given() == 4);
  CHECK(table.distinct() == 3);
  CHECK(table.find({1, 2, 3, 4}) == 0U);
  CHECK(table.find({1, 2, 3, 5}) == 1U);
  CHECK(table.find({3, 1, 1, 1}) == 2U);
  CHECK_FALSE(table.find({1, 2, 3, 6}).has_value());
  CHECK_FALSE(table.find({3, 1, 1, 0}).has_value());
  CHECK(apps::hex({0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}) == "0123456789abcdeffedcba9876543210");
}

TEST_CASE("md5: the tables of many digests lead to each of them", "[once]") {
  const DigestTable table = some_digests(some_words(), all_rules);
  const auto firsts = table.firsts();
  const auto begins = table.begins();
  const auto bits = table.bits();
  const std::int64_t buckets = begins.size() - 1;
  REQUIRE(std::has_single_bit(static_cast<std::uint64_t>(buckets)));
  REQUIRE(std::has_single_bit(static_cast<std::uint64_t>(bits.size())));
  REQUIRE(firsts.size() == table.distinct());
  CHECK(std::is_sorted(begins.begin(), begins.end()));
  CHECK(begins[buckets] == table.distinct());
  for (std::int64_t i = 0; i < table.distinct(); ++i) {
    const std::int64_t first = firsts[i], bucket = first * buckets >> 32, bit = first % (32 * bits.size());
    REQUIRE(firsts[i] == table[static_cast<std::size_t>(i)][0]);
    REQUIRE((begins[bucket] <= i && i < begins[bucket + 1]));
    REQUIRE((bits[bit / 32] >> (bit % 32) & 1) == 1);
  }
}

}  // namespace anabranch::testing
