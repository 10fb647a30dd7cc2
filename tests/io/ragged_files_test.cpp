#include "support/catch.h"

#include <algorithm>

#include <anabranch/io.h>

#include "io/ragged_files.h"
#include "items.h"
#include "matrix_files.h"
#include "mutations.h"

using namespace anabranch;
using namespace io_test;
using Catch::Matchers::Contains;

namespace {

template <class T>
struct Pair {
  std::vector<std::int64_t> offsets{0};
  std::vector<T> values;
  ReadItems items;
};

/// Vectors of lengths 0, 7, 3, ... with an empty first and last one.
template <class T>
Pair<T> sample_pair(std::int64_t count) {
  Pair<T> out;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<T> item;
    for (std::int64_t k = i + 1 == count ? 0 : (i * 7) % 11; k-- > 0;) item.push_back(static_cast<T>(i + k));
    out.values.insert(out.values.end(), item.begin(), item.end());
    out.offsets.push_back(static_cast<std::int64_t>(out.values.size()));
    out.items.push_back(vector_item(item));
  }
  return out;
}

std::string narrow(const std::vector<std::int64_t>& offsets) {
  return npy(std::vector<std::int32_t>(offsets.begin(), offsets.end()));
}

std::shared_ptr<SourceBase> open(const std::string& offsets, const std::string& values,
                                 ScalarType type = ScalarType::float64, int parts = 1,
                                 const io::RaggedOptions& options = {}) {
  return io::detail::open_ragged(
      "x", io::detail::memory_file("x.offsets.npy", {offsets.begin(), offsets.end()}),
      io::detail::memory_file("x.values.npy", {values.begin(), values.end()}), {type, parts}, options);
}

std::string fault(const std::string& offsets, const std::string& values,
                  ScalarType type = ScalarType::float64, int parts = 1, bool convert = false) {
  try {
    items_of(*open(offsets, values, type, parts, {.convert = convert}), {50});
  } catch (const DataError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("ragged pair: both widths of offsets, in chunks and pieces of any size") {
  for (const std::int64_t count : {0, 1, 2, 1000}) {
    const auto pair = sample_pair<double>(count);
    for (const bool wide : {false, true}) {
      const auto source = open(wide ? npy(pair.offsets) : narrow(pair.offsets), npy(pair.values));
      CHECK(source->info().items == count);
      CHECK(source->info().work == static_cast<std::int64_t>(pair.values.size()));
      CHECK(source->info().splits);
      CHECK(source->info().arrays[0].offsets == (wide ? OffsetType::int64 : OffsetType::int32));
      check_source(*source, pair.items);
    }
  }
}

TEST_CASE("ragged pair: from files, converted, complex, bools") {
  TemporaryDirectory dir;
  const auto pair = sample_pair<float>(300);
  write_file(dir / "x.offsets.npy", npy(pair.offsets));
  write_file(dir / "x.values.npy", npy(pair.values));
  const auto source = io::open_ragged<float>(dir / "x");
  CHECK(source.info().name == dir / "x");
  check_source(*source.erased(), pair.items);
  CHECK_THROWS_WITH(io::open_ragged<double>(dir / "x"), Contains("x.values.npy: elements of type float"));
  check_source(*io::open_ragged<double>(dir / "x", {.convert = true}).erased(),
               sample_pair<double>(300).items);
  CHECK_THROWS_WITH(io::open_ragged<float>(dir / "y"), Contains("y.offsets.npy"));
  CHECK_THROWS_AS(io::open_ragged<float>(dir / "y"), IoError);

  const std::vector<std::int64_t> offsets{0, 2, 2, 3};
  const auto complex = open(npy(offsets), npy("<c8", "(3,)", raw(std::vector<float>{1, 2, 3, 4, 5, 6})),
                            ScalarType::float32, 2);
  const auto item = [](const std::vector<float>& re, const std::vector<float>& im) -> ReadItem {
    return {{{static_cast<std::int64_t>(re.size())}, {bytes_of(re), bytes_of(im)}}};
  };
  check_source(*complex, {item({1, 3}, {2, 4}), item({}, {}), item({5}, {6})});
  const auto bools = open(npy(offsets), npy("|b1", "(3,)", std::string("\1\0\1", 3)), ScalarType::boolean);
  CHECK(items_of(*bools).size() == 3);
  CHECK_THAT(fault(npy(offsets), npy("|b1", "(3,)", std::string("\1\0\7", 3)), ScalarType::boolean),
             Contains("element 2 is the byte 7"));
}

TEST_CASE("ragged pair: larger than the buffers of offsets and elements") {
  const auto pair = sample_pair<double>(60'000);
  const auto source = open(npy(pair.offsets), npy(pair.values));
  CHECK(items_of(*source, {}) == pair.items);
  source->rewind();
  CHECK(items_of(*source, {INT64_MAX, 100'000}) == pair.items);
  source->rewind();
  CHECK(items_in_pieces(*source, {7000}) == pair.items);
}

TEST_CASE("ragged pair: a vector that does not fit is refused, and given when it does") {
  const std::vector<std::int64_t> offsets{0, 1, 101, 102};
  const std::vector<double> values(102, 0.5);
  const auto source = open(npy(offsets), npy(values));
  SourceChunk chunk;
  Limit limit;
  limit.memory = 800;
  REQUIRE(source->next(limit, chunk));
  CHECK(chunk.items == 1);
  try {
    source->next(limit, chunk);
    FAIL("an item of 816 bytes in 800 bytes of memory");
  } catch (const ItemTooBig& e) {
    CHECK(e.bytes() == 816);
    CHECK_THAT(e.what(), Contains("x: item 1 has 100 elements"));
  }
  CHECK_THROWS_AS(source->split(limit), ItemTooBig);
  limit.memory = 816;
  REQUIRE(source->next(limit, chunk));
  CHECK(chunk.items == 1);
  CHECK(chunk.work == 100);
  CHECK(items_of(*source).size() == 1);
  CHECK_THROWS_WITH(
      items_of(*open(npy(offsets), npy(values), ScalarType::float64, 1, {.memory = (64 << 10) + 815})),
      Contains("item 1 has 100 elements") && Contains("the source may use"));
}

TEST_CASE("ragged pair: what does not fit together is refused") {
  const auto pair = sample_pair<double>(200);
  const std::string offsets = npy(pair.offsets), values = npy(pair.values);
  REQUIRE(fault(offsets, values).empty());
  const auto changed = [&](std::size_t at, std::int64_t to) {
    auto other = pair.offsets;
    other[at] = to;
    return fault(npy(other), values);
  };
  const std::int64_t count = pair.offsets.back();
  CHECK_THAT(changed(0, 1), Contains("x.offsets.npy: begins with 1, not 0"));
  CHECK_THAT(changed(200, count + 1), Contains("ends with") && Contains("x.values.npy has"));
  CHECK_THAT(changed(200, -1), Contains("ends with -1"));
  CHECK_THAT(changed(100, pair.offsets[99] - 1),
             Contains("offset 100 is") && Contains("smaller than the one before"));
  CHECK_THAT(changed(100, INT64_MIN), Contains("offset 100 is -9223372036854775808"));
  CHECK_THAT(changed(100, count + 1), Contains("offset 101 is") && Contains("smaller"));
  CHECK_THAT(changed(100, INT64_MAX), Contains("smaller than the one before it, 9223372036854775807"));
  auto beyond = pair.offsets;
  for (std::size_t i = 100; i < 200; ++i) beyond[i] = count + 5;
  CHECK_FALSE(fault(npy(beyond), values).empty());
  CHECK_THAT(fault(npy("<f8", "(2,)", raw(std::vector<double>{0, 1})), values),
             Contains("double cannot be an offset"));
  CHECK_THAT(fault(npy("<u8", "(1,)", std::string(8, '\0')), values), Contains("uint64 cannot be an offset"));
  CHECK_THAT(fault(npy(std::vector<std::int64_t>{}), values), Contains("there is no offset"));
  CHECK_THAT(fault(npy("<i8", "(1, 1)", std::string(8, '\0')), values), Contains("rank 2"));
  CHECK_THAT(fault(offsets, npy("<f8", "(1, 1)", std::string(8, '\0'))),
             Contains("x.values.npy: an array of rank 2"));
  CHECK_THAT(fault(offsets, values, ScalarType::float32), Contains("elements of type double"));
  CHECK_THAT(fault(offsets, values, ScalarType::int32, 1, true), Contains("cannot be converted"));
  CHECK_THAT(fault(values, values), Contains("x.offsets.npy: double cannot be an offset"));
  for (std::size_t n = 0; n < offsets.size(); n += 7)
    CHECK_FALSE(fault(offsets.substr(0, n), values).empty());
  for (std::size_t n = 0; n < values.size(); n += 31)
    CHECK_FALSE(fault(offsets, values.substr(0, n)).empty());
}

TEST_CASE("ragged pair: offsets that are read in several blocks are checked across them") {
  std::vector<std::int64_t> offsets(20'001);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<std::int64_t>(i / 2);
  const std::string values = npy(std::vector<double>(10'000, 1.0));
  REQUIRE(fault(npy(offsets), values).empty());
  offsets[8193] = 0;  // the first of its block
  CHECK_THAT(fault(npy(offsets), values), Contains("offset 8193 is 0, smaller than the one before it, 4096"));
}

TEST_CASE("ragged pair: files that change while they are read") {
  for (const char* part : {"x.offsets.npy", "x.values.npy"}) {
    TemporaryDirectory dir;
    const auto pair = sample_pair<float>(300);
    write_file(dir / "x.offsets.npy", npy(pair.offsets));
    write_file(dir / "x.values.npy", npy(pair.values));
    const auto source = io::open_ragged<float>(dir / "x");
    SourceChunk chunk;
    REQUIRE(source.erased()->next({100}, chunk));
    write_file(dir / part, read_file(dir / part));
    CHECK_THROWS_WITH(items_of(*source.erased(), {100}),
                      Contains(part) && Contains("changed while it was read"));
    source.erased()->rewind();
    CHECK_THROWS_WITH(items_in_pieces(*source.erased(), {100}), Contains("changed while it was read"));
  }
}

TEST_CASE("ragged pair: random mutations are refused, or change values only") {
  const auto pair = sample_pair<double>(40);
  const std::string offsets = npy(pair.offsets), values = npy(pair.values);
  int refused = 0;
  const auto look = [&](const std::string& changed_offsets, const std::string& changed_values) {
    const std::string why = fault(changed_offsets, changed_values);
    if (why.empty()) {
      const ReadItems items = items_of(*open(changed_offsets, changed_values));
      std::size_t bytes = 0;
      for (const ReadItem& item : items) bytes += item[0].components[0].size();
      CHECK(bytes == pair.values.size() * 8);
    } else {
      CHECK_THAT(why, Catch::StartsWith("x."));
      ++refused;
    }
  };
  mutate(offsets, 300, 1, [&](const std::string& bytes) { look(bytes, values); });
  mutate(values, 300, 2, [&](const std::string& bytes) { look(offsets, bytes); });
  CHECK(refused > 200);
}
