#include "support/catch.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "io/text/text_scan.h"
#include "io/text/wide_lines.h"

// Blocks of lines are cut and packed 64 bytes at a time, by vectors that not every processor has, or without: line ends and CRs
// at all places of the 64, in both ways beside what a loop over bytes says.
using namespace anabranch::io::detail;

namespace {

struct Packed {
  std::string bytes;
  std::vector<std::int32_t> offsets{0};
  std::int64_t longest = 0;
};

Packed packed_by_bytes(const std::string& block, bool last_is_open) {
  Packed out;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < block.size(); ++at) {
    if (block[at] != '\n') continue;
    std::size_t end = at;
    const bool artificial = last_is_open && at + 1 == block.size();
    if (end > begin && block[end - 1] == '\r' && !artificial) --end;
    out.bytes += block.substr(begin, end - begin);
    out.offsets.push_back(static_cast<std::int32_t>(out.bytes.size()));
    out.longest = std::max(out.longest, static_cast<std::int64_t>(end - begin));
    begin = at + 1;
  }
  return out;
}

struct Way {
  const char* name;
  TextCut (*cut)(const unsigned char* block, std::int64_t size, std::int64_t most);
  std::int64_t (*count)(const unsigned char* block, std::int64_t size);
  std::int64_t (*pack)(unsigned char* block, std::int64_t size, bool last_is_open, std::int32_t* offsets);
};

std::vector<Way> ways_of_this_processor() {
  std::vector<Way> ways{
      {"plain",
       [](const unsigned char* block, std::int64_t size, std::int64_t most) {
         return cut_plain_text(TextItems::lines, block, size, most);
       },
       count_plain_line_ends, pack_plain_lines},
      {"as chosen",
       [](const unsigned char* block, std::int64_t size, std::int64_t most) {
         return cut_text(TextItems::lines, block, size, most);
       },
       count_line_ends,
       [](unsigned char* block, std::int64_t size, bool last_is_open, std::int32_t* offsets) {
         return pack_text(TextItems::lines, block, size, last_is_open, offsets);
       }}};
  if (has_wide_lines()) ways.push_back({"wide", cut_wide_lines, count_wide_line_ends, pack_wide_lines});
  return ways;
}

void check(const Way& way, const std::string& block, bool last_is_open, const Packed& expected) {
  INFO(way.name);
  const auto items = static_cast<std::int64_t>(expected.offsets.size()) - 1;
  const auto size = static_cast<std::int64_t>(block.size());
  // Nothing behind the block and the offsets is written.
  std::string bytes = block + "guard";
  std::vector<std::int32_t> offsets(expected.offsets.size() + 4, -7);
  auto* const text = reinterpret_cast<unsigned char*>(bytes.data());

  const TextCut all = way.cut(text, size, INT64_MAX);
  CHECK(all.items == items);
  CHECK(all.bytes == size);
  CHECK(way.count(text, size) == items);
  for (const std::int64_t most : {std::int64_t{1}, items / 2, items - 1, items}) {
    if (most < 1) continue;
    const TextCut some = way.cut(text, size, most);
    CHECK(some.items == most);
    CHECK(block[static_cast<std::size_t>(some.bytes) - 1] == '\n');
    CHECK(way.count(text, some.bytes) == most);
  }

  CHECK(way.pack(text, size, last_is_open, offsets.data()) == expected.longest);
  CHECK(bytes.substr(0, expected.bytes.size()) == expected.bytes);
  CHECK(bytes.substr(block.size()) == "guard");
  CHECK(std::vector<std::int32_t>(offsets.begin(), offsets.end() - 4) == expected.offsets);
  CHECK(std::vector<std::int32_t>(offsets.end() - 4, offsets.end()) == std::vector<std::int32_t>(4, -7));
}

/// The last byte ends a line.
void check(const std::string& block, bool last_is_open) {
  static const std::vector<Way> ways = ways_of_this_processor();
  const Packed expected = packed_by_bytes(block, last_is_open);
  for (const Way& way : ways) check(way, block, last_is_open, expected);
}

}  // namespace

TEST_CASE("lines in blocks: ends at all places") {
  for (std::size_t length = 0; length < 140; ++length)
    for (const char* const end : {"\n", "\r\n", "\r\r\n"})
      for (const bool last_is_open : {false, true}) {
        check(std::string(length, 'x') + end, last_is_open);
        check(std::string(length, 'x') + end + "yy" + end, last_is_open);
      }
}

TEST_CASE("lines in blocks: random ones, with CRs anywhere") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const unsigned ends = 1 + random() % 40, returns = 1 + random() % 60;
    std::string block;
    for (auto size = random() % 400; block.size() < size;) {
      const unsigned byte = random();
      block += byte % ends == 0 ? '\n' : byte % returns == 1 ? '\r' : static_cast<char>(byte >> 24);
    }
    check(block + "\n", round % 2 == 0);
  }
  check(std::string(1000, '\n'), false);
  check(std::string(1000, '\r') + "\n", false);
  std::string both;
  for (int i = 0; i < 500; ++i) both += "\r\n";
  check(both, false);
  check(both, true);
}
