#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/md5/digests.h"
#include "apps/md5/program.h"

/// What the programs of `anabranch md5` are compared with: RFC 1321 and the rules byte by byte, of messages of any length.
namespace anabranch::testing {

inline apps::DigestWords md5_by_hand(std::string message) {
  const std::uint64_t bits = 8 * static_cast<std::uint64_t>(message.size());
  message += '\x80';
  while (message.size() % 64 != 56) message += '\0';
  for (int byte = 0; byte < 8; ++byte) message += static_cast<char>(bits >> (8 * byte));
  constexpr std::array<int, 16> turns{7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
  apps::DigestWords digest{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (std::size_t block = 0; block < message.size(); block += 64) {
    std::array<std::uint32_t, 16> x{};
    for (std::size_t i = 0; i < 64; ++i)
      x[i / 4] |= static_cast<std::uint32_t>(static_cast<unsigned char>(message[block + i])) << (8 * (i % 4));
    auto [a, b, c, d] = digest;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::array<std::uint32_t, 4> functions{(b & c) | (~b & d), (b & d) | (c & ~d), b ^ c ^ d,
                                                   c ^ (b | ~d)};
      const std::array<std::size_t, 4> places{i, 5 * i + 1, 3 * i + 5, 7 * i};
      const std::size_t round = i / 16;
      const auto sine =
          static_cast<std::uint32_t>(4294967296.0 * std::abs(std::sin(static_cast<double>(i + 1))));
      const std::uint32_t sum = a + functions[round] + x[places[round] % 16] + sine;
      a = d;
      d = c;
      c = b;
      b += std::rotl(sum, turns[4 * round + i % 4]);
    }
    digest = {digest[0] + a, digest[1] + b, digest[2] + c, digest[3] + d};
  }
  return digest;
}

inline std::string changed_by_hand(apps::Change change, std::string word) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto lower = [&](char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; };
  const auto upper = [&](char c) { return is_lower(c) ? static_cast<char>(c - 32) : c; };
  const std::string letters = "aeiost", digits = "431057";
  for (std::size_t i = 0; i < word.size(); ++i) {
    char& c = word[i];
    switch (change) {
      case apps::Change::lower:
        c = lower(c);
        break;
      case apps::Change::upper:
        c = upper(c);
        break;
      case apps::Change::capitalize:
        c = i == 0 ? upper(c) : lower(c);
        break;
      case apps::Change::toggle:
        c = is_lower(c) ? upper(c) : lower(c);
        break;
      case apps::Change::leet:
        if (const auto at = letters.find(lower(c)); at != std::string::npos) c = digits[at];
        break;
    }
  }
  return word;
}

/// All candidates of a word, in the order of their numbers, also those that are too long.
inline std::vector<std::string> candidates_by_hand(const std::vector<apps::Rule>& rules,
                                                   const std::string& word) {
  std::vector<std::string> out;
  for (const apps::Rule& rule : rules) {
    std::string letters = word;
    for (const apps::Change change : rule.changes) letters = changed_by_hand(change, letters);
    for (std::int32_t n = rule.first; n < rule.first + rule.count; ++n) {
      std::string number;
      for (std::int32_t left = n; std::ssize(number) < rule.digits; left /= 10)
        number.insert(number.begin(), static_cast<char>('0' + left % 10));
      out.push_back(letters + number);
    }
  }
  return out;
}

inline bool is_hashed(const std::string& candidate) { return std::ssize(candidate) <= apps::longest_word; }

}  // namespace anabranch::testing
