#include "support/catch.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "io/text_scan.h"

// Blocks of lines are cut and packed by vectors of 64 bytes where the processor has them: line ends and CRs at all places of
// them, beside what a plain loop says.
using namespace anabranch::io::detail;

namespace {

struct Packed {
  std::string bytes;
  std::vector<std::int32_t> offsets{0};
  std::int64_t longest = 0;
};

Packed packed_plainly(const std::string& block, bool last_is_open) {
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

/// The last byte ends a line.
void check(const std::string& block, bool last_is_open) {
  const Packed expected = packed_plainly(block, last_is_open);
  const auto items = static_cast<std::int64_t>(expected.offsets.size()) - 1;
  const auto size = static_cast<std::int64_t>(block.size());
  // Nothing behind the block and the offsets is written.
  std::string bytes = block + "guard";
  std::vector<std::int32_t> offsets(expected.offsets.size() + 4, -7);
  auto* const text = reinterpret_cast<unsigned char*>(bytes.data());

  const TextCut all = cut_text(TextItems::lines, text, size, INT64_MAX);
  CHECK(all.items == items);
  CHECK(all.bytes == size);
  CHECK(count_line_ends(text, size) == items);
  for (const std::int64_t most : {std::int64_t{1}, items / 2, items - 1, items}) {
    if (most < 1) continue;
    const TextCut some = cut_text(TextItems::lines, text, size, most);
    CHECK(some.items == most);
    CHECK(block[static_cast<std::size_t>(some.bytes) - 1] == '\n');
    CHECK(count_line_ends(text, some.bytes) == most);
  }

  CHECK(pack_text(TextItems::lines, text, size, last_is_open, offsets.data()) == expected.longest);
  CHECK(bytes.substr(0, expected.bytes.size()) == expected.bytes);
  CHECK(bytes.substr(block.size()) == "guard");
  CHECK(std::vector<std::int32_t>(offsets.begin(), offsets.end() - 4) == expected.offsets);
  CHECK(std::vector<std::int32_t>(offsets.end() - 4, offsets.end()) == std::vector<std::int32_t>(4, -7));
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
