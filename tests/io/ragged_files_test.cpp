#include "support/catch.h"

#include <algorithm>
#include <functional>
#include <random>

#include <anabranch/io.h>

#include "io/ragged/ragged_files.h"
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

TEST_CASE("ragged pair: chunks and pieces hold as many items as fit, whatever the lengths are") {
  std::mt19937 random(1);
  const auto uniform = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  const std::function<std::int64_t(std::int64_t)> laws[] = {
      [](std::int64_t) { return std::int64_t{3}; },
      [](std::int64_t i) { return std::int64_t{i < 20'000 ? 0 : 5}; },
      [](std::int64_t i) { return std::int64_t{i < 20'000 ? 5 : 0}; },
      [&](std::int64_t) { return uniform(20); },
      [&](std::int64_t) { return uniform(3) > 0 ? 0 : uniform(20); },
      [&](std::int64_t i) { return i % 5000 == 4999 ? std::int64_t{100'000} : uniform(2); },
  };
  constexpr std::int64_t items = 40'000;
  for (const auto& length : laws) {
    std::vector<std::int64_t> offsets{0};
    for (std::int64_t i = 0; i < items; ++i) offsets.push_back(offsets.back() + length(i));
    const auto source = open(npy(offsets), npy(std::vector<float>(static_cast<std::size_t>(offsets.back()))),
                             ScalarType::float32);
    for (int pass = 0; pass < 20; ++pass) {
      source->rewind();
      SourceChunk chunk;
      for (std::int64_t first = 0; first < items;) {
        // Of another size each time, which no guess foresees.
        Limit limit;
        if (pass % 2 == 0 || uniform(1) == 0) limit.items = std::int64_t{1} << uniform(16);
        if (pass % 3 > 0) limit.work = std::int64_t{1} << uniform(18);
        if (pass % 5 > 0) limit.bytes = std::int64_t{1} << uniform(15);
        std::int64_t last = first;
        const auto fits = [&](std::int64_t end) {
          const std::int64_t elements =
              offsets[static_cast<std::size_t>(end)] - offsets[static_cast<std::size_t>(first)];
          return end - first <= limit.items && elements <= limit.work &&
                 (end - first + 1) * 8 + elements * 4 <= limit.bytes;
        };
        while (last < items && (last == first || fits(last + 1))) ++last;
        if (pass % 4 == 0) {
          REQUIRE(source->next(limit, chunk));
        } else {
          const auto piece = source->split(limit);
          REQUIRE(piece != nullptr);
          REQUIRE(piece->work() ==
                  offsets[static_cast<std::size_t>(last)] - offsets[static_cast<std::size_t>(first)]);
          piece->read(chunk);
          piece->complete();
        }
        REQUIRE(chunk.items == last - first);
        const auto* const given = static_cast<const std::int64_t*>(chunk.arrays[0].offsets.get());
        for (std::int64_t i = first; i <= last; ++i)
          if (given[i - first] !=
              offsets[static_cast<std::size_t>(i)] - offsets[static_cast<std::size_t>(first)])
            FAIL("offset " << i - first << " of a chunk from item " << first << " on");
        first = last;
      }
      CHECK_FALSE(source->next({}, chunk));
    }
  }
}

TEST_CASE("ragged pair: pieces are handed out without reading the offsets of their items") {
  class Counting final : public io::detail::ReadFile {
   public:
    explicit Counting(std::shared_ptr<const ReadFile> file) : file_(std::move(file)) {}
    const std::string& name() const override { return file_->name(); }
    std::int64_t size() const override { return file_->size(); }
    void read(std::int64_t offset, void* into, std::int64_t bytes) const override {
      file_->read(offset, into, bytes);
      ++reads;
      bytes_read += bytes;
    }
    mutable std::int64_t reads = 0, bytes_read = 0;

   private:
    std::shared_ptr<const ReadFile> file_;
  };
  constexpr std::int64_t items = 1'000'000;
  std::vector<std::int64_t> offsets{0};
  std::mt19937 random(1);
  for (std::int64_t i = 0; i < items; ++i) offsets.push_back(offsets.back() + (random() % 3));
  const std::string file = npy(offsets),
                    values = npy(std::vector<float>(static_cast<std::size_t>(offsets.back())));
  const auto counting =
      std::make_shared<Counting>(io::detail::memory_file("x.offsets.npy", {file.begin(), file.end()}));
  const auto source = io::detail::open_ragged(
      "x", counting, io::detail::memory_file("x.values.npy", {values.begin(), values.end()}),
      {ScalarType::float32, 1}, {});
  counting->reads = counting->bytes_read = 0;
  std::vector<std::unique_ptr<SourcePiece>> pieces;
  while (auto piece = source->split({.work = 50'000})) pieces.push_back(std::move(piece));
  CHECK(pieces.size() == 20);
  CHECK(counting->reads <= 3 * 20);
  CHECK(counting->bytes_read < items * 8 / 10);
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
      items_of(*open(npy(offsets), npy(values), ScalarType::float64, 1, {.memory = (16 << 10) + 815})),
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
