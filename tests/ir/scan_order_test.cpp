// The canonical order of scans: against results written out by hand, and its promises.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/scan_order.h"
#include "support/catch.h"

using namespace anabranch;

namespace {

std::string joined(const std::string& a, const std::string& b) { return "(" + a + " " + b + ")"; }

std::vector<std::string> scanned(std::int64_t length, const std::optional<std::string>& seed = {}) {
  std::vector<std::string> out;
  ir::scan_order::scan_row(
      length, seed, [](std::int64_t i) { return std::to_string(i); }, joined,
      [&](std::int64_t, std::string value) { out.push_back(std::move(value)); });
  return out;
}

/// The numbers in a term, as they stand.
std::vector<std::int64_t> operands(const std::string& term) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < term.size();) {
    const std::size_t end = term.find_first_not_of("0123456789", i);
    if (end != i) out.push_back(std::stoll(term.substr(i, end - i)));
    i = end == i ? i + 1 : std::min(end, term.size());
  }
  return out;
}

}  // namespace

TEST_CASE("the order of scans written out") {
  CHECK(scanned(0).empty());
  CHECK(scanned(5) ==
        std::vector<std::string>{"0", "(0 1)", "(0 (1 2))", "((0 1) (2 3))", "(0 ((1 2) (3 4)))"});
  CHECK(scanned(2, "z") == std::vector<std::string>{"(z 0)", "(z (0 1))"});
  const auto long_row = scanned(65);
  CHECK(long_row[32] == "(" + long_row[31] + " 32)");
  CHECK(long_row[33] == "(" + long_row[31] + " (32 33))");
  CHECK(long_row[64] == "(" + long_row[63] + " 64)");
}

TEST_CASE("an element of a scan has all elements up to its own, in order, and depends on no others") {
  for (const std::int64_t length : {1, 2, 31, 32, 33, 64, 100, 4095, 4096, 4097, 8193}) {
    const auto row = scanned(length);
    REQUIRE(row.size() == static_cast<std::size_t>(length));
    const auto last = operands(row.back());
    REQUIRE(last.size() == row.size());
    for (std::int64_t i = 0; i < length; ++i) REQUIRE(last[static_cast<std::size_t>(i)] == i);
  }
  const auto whole = scanned(300);
  for (const std::int64_t length : {1, 17, 32, 33, 255, 299}) {
    const auto prefix = scanned(length);
    CHECK(std::equal(prefix.begin(), prefix.end(), whole.begin()));
  }
}

TEST_CASE("blocks of a scan are carried by their totals, as fold's counter tree joins them") {
  // Sums of 1, told apart by the value that the blocks' borders give: what a block adds is counted in 2^40.
  struct Value {
    std::int64_t sum = 0;
    int depth = 0;
  };
  const auto join = [](const Value& a, const Value& b) {
    return Value{a.sum + b.sum, std::max(a.depth, b.depth) + 1};
  };
  std::vector<Value> out;
  ir::scan_order::scan_row(
      5 * std::int64_t{4096} + 1, std::optional<Value>{Value{1000, 0}},
      [](std::int64_t) { return Value{1, 0}; }, join, [&](std::int64_t, Value v) { out.push_back(v); });
  for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(out[i].sum == static_cast<std::int64_t>(i) + 1001);
  // The chain of 128 groups is the deepest part; the carries add no more than their tree.
  CHECK(out[4095].depth == 5 + 128);
  CHECK(out[4096].depth == 5 + 127 + 2);      // seed o t0, then the element
  CHECK(out[5 * 4096].depth == 5 + 127 + 5);  // ((t0 t1) (t2 t3)) t4, the seed, the element
}
