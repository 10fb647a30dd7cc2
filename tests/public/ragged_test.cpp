#include <anabranch/io.h>
#include <anabranch/ragged.h>

#include <algorithm>
#include <numeric>
#include <ranges>

#include "agree.h"
#include "support/files.h"

// Ragged host arrays, and the sources of dense and ragged files, in programs.
namespace anabranch::testing {
namespace {

static_assert(std::random_access_iterator<decltype(std::declval<const Ragged<double>&>().begin())>);
static_assert(std::ranges::random_access_range<const Ragged<double>>);
static_assert(std::is_same_v<std::ranges::range_value_t<Ragged<double>>, Vector<double>>);

const auto total = [](auto row) { return fold(plus, 0.5, row); };

TEST_CASE("ragged arrays: made of vectors, lengths and offsets", "[once]") {
  const Ragged<double> items{{1, 2, 3}, {}, {4}};
  CHECK(items.size() == 3);
  CHECK(items.length(0) == 3);
  CHECK(items[0] == Vector<double>{1, 2, 3});
  CHECK(items[1].size() == 0);
  CHECK(items.offsets() == Vector<std::int64_t>{0, 3, 3, 4});
  CHECK(items.values() == Vector<double>{1, 2, 3, 4});
  CHECK(items ==
        Ragged<double>(std::vector<Vector<double>>{{1, 2, 3}, Vector<double>{}, Vector<double>{4.0}}));
  CHECK(items == Ragged<double>::from_lengths(Vector<std::int64_t>{3, 0, 1}, {1, 2, 3, 4}));
  CHECK(items == Ragged<double>::from_offsets({0, 3, 3, 4}, {1, 2, 3, 4}));
  CHECK_FALSE(items == Ragged<double>::from_offsets({0, 3, 4, 4}, {1, 2, 3, 4}));
  CHECK_FALSE(items == Ragged<double>::from_offsets({0, 3, 3, 4}, {1, 2, 3, 5}));
  CHECK(Ragged<double>().empty());
  CHECK(Ragged<double>() == Ragged<double>(std::vector<Vector<double>>{}));

  std::vector<std::int64_t> lengths;
  for (const Vector<double>& item : items) lengths.push_back(item.size());
  CHECK(lengths == std::vector<std::int64_t>{3, 0, 1});
  CHECK(std::ranges::distance(items) == 3);
  CHECK((*(items.end() - 1))[0] == 4);
  CHECK(items.begin()[2] == items[2]);
}

TEST_CASE("ragged arrays: elements of several components, and memory of the caller", "[once]") {
  using Entry = std::tuple<std::int32_t, double>;
  const Ragged<Entry> entries{{{1, 0.5}, {2, 1.5}}, {}, {{7, 2.5}}};
  CHECK(std::get<0>(entries[2][0]) == 7);
  CHECK(entries.values().component<1>()[1] == 1.5);

  std::vector<float> memory{1, 2, 3, 4, 5};
  const auto view =
      Ragged<float>::from_lengths(Vector<std::int64_t>{2, 3}, Vector<float>::view(Index{5}, memory.data()));
  memory[4] = 9;
  CHECK(view[1] == Vector<float>{3, 4, 9});
  CHECK(view[1].data() == memory.data() + 2);
  Ragged<float> copy = view;
  view[0].copy().set(0, 7);
  CHECK(copy[0][0] == 1);
}

TEST_CASE("ragged arrays: offsets and lengths that divide no values are refused", "[once]") {
  using R = Ragged<float>;
  const Vector<float> values{1, 2, 3};
  const auto message = [&](auto make) -> std::string {
    try {
      make();
    } catch (const RunError& e) {
      return e.what();
    }
    return "";
  };
  using Catch::Matchers::Contains;
  CHECK(message([&] { R::from_offsets({0, 3}, values); }).empty());
  CHECK_THAT(message([&] { R::from_offsets(Vector<std::int64_t>{}, values); }), Contains("no offset"));
  CHECK_THAT(message([&] { R::from_offsets({1, 3}, values); }), Contains("begin with 1, not 0"));
  CHECK_THAT(message([&] { R::from_offsets({0, 2, 1, 3}, values); }), Contains("offset 2 is 1, smaller"));
  CHECK_THAT(message([&] { R::from_offsets({0, 2}, values); }),
             Contains("end with 2, but there are 3 values"));
  CHECK_THAT(message([&] { R::from_lengths(Vector<std::int64_t>{4, -1}, values); }),
             Contains("vector 1 has length -1"));
  CHECK_THAT(message([&] { R::from_lengths(Vector<std::int64_t>{1, INT64_MAX}, values); }),
             Contains("overflows at vector 1"));
}

TEST_CASE("a ragged array as a stream: where its items lie") {
  std::vector<Vector<double>> rows;
  for (std::int64_t n : {5, 0, 64, 1, 0, 0, 130, 17, 33})
    rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n)));
  const Ragged<double> ragged(rows);
  const auto expected = agree(consume(elements(map_seq(total, stream_in(rows)))));
  require_same(agree(consume(elements(map_seq(total, stream_in(ragged))))), expected);
  CHECK(ragged.source().info().in_memory);
  SourceChunk chunk;
  REQUIRE(ragged.source().erased()->next({}, chunk));
  CHECK(chunk.arrays[0].data[0].get() == ragged.values().data());
  check_items(map_seq([](auto row) { return map([](auto x) { return x + 1.0; }, row); }, stream_in(ragged)),
              [&] {
                std::vector<Vector<double>> more;
                for (const auto& row : rows)
                  more.push_back(vector_of(row.size(), [&](std::int64_t i) { return row[i] + 1; }));
                return more;
              }());
  check_items(stream_in(Ragged<double>()), {});
  // In step with itself, and regular where all are equally long.
  check_items(
      zip_with_seq([](auto a, auto b) { return zip_with(plus, a, b); }, stream_in(ragged), stream_in(ragged)),
      [&] {
        std::vector<Vector<double>> twice;
        for (const auto& row : rows)
          twice.push_back(vector_of(row.size(), [&](std::int64_t i) { return row[i] + row[i]; }));
        return twice;
      }());
  const Ragged<float> equal{{1, 2}, {3, 4}};
  check_items(stream_in(equal), {Vector<float>{1, 2}, Vector<float>{3, 4}});
}

TEST_CASE("the rows of an .npy file and the vectors of a ragged pair in programs") {
  const TemporaryDirectory dir;
  const auto matrix =
      array_of(Index{37, 19}, [](std::int64_t i) { return number<double>(static_cast<std::uint64_t>(i)); });
  io::write_npy(dir / "m.npy", matrix);
  const auto sums = agree(consume(elements(map_seq(total, rows(use(matrix))))));
  require_same(
      agree(consume(elements(map_seq(total, stream_in(io::open_npy_rows<2, double>(dir / "m.npy")))))), sums);
  const auto cube = array_of(Index{5, 3, 4}, [](std::int64_t i) { return static_cast<float>(i); });
  io::write_npy(dir / "c.npy", cube);
  const auto planes = stream_in(io::open_npy_rows<3, float>(dir / "c.npy"));
  require_same(agree(consume(tabulate(map_seq([](auto plane) { return transpose(plane, {1, 0}); }, planes)))),
               agree(consume(
                   tabulate(map_seq([](auto plane) { return transpose(plane, {1, 0}); }, rows(use(cube)))))));
  const Ragged<float> ragged{{1, 2, 3}, {}, {4, 5}, {6}};
  io::write_npy(dir / "x.offsets.npy", ragged.offsets());
  io::write_npy(dir / "x.values.npy", ragged.values());
  check_items(stream_in(io::open_ragged<float>(dir / "x")),
              {Vector<float>{1, 2, 3}, Vector<float>{}, Vector<float>{4, 5}, Vector<float>{6.0F}});
}

}  // namespace
}  // namespace anabranch::testing
