#include "shapes.h"

// What may be expected of a program: met, or an error that names the operation, its place and the reason.
namespace anabranch::testing {
namespace {

using Floats = Vector<float>;

std::vector<Floats> rows() { return {Floats{1, 2, 3}, Floats{}, Floats{4}}; }
auto sums() {
  return consume(elements(map_seq([](auto row) { return sum(row); }, stream_in(rows()))));
}
auto scanned(const Floats& a) { return scanl1(plus, use(a)); }

/// What is said where the program is not as expected; empty where it is.
template <class P>
std::string broken(const P& program, Expect expected) {
  try {
    program.require(expected);
    return {};
  } catch (const ProgramError& e) {
    return e.what();
  }
}
template <class P>
void check_broken(const P& program, Expect expected, const std::string& pattern) {
  const std::string text = broken(program, expected);
  INFO(text);
  CHECK_THAT(text, Catch::Matches(pattern));
}

TEST_CASE("require: no intermediate arrays", "[once]") {
  CHECK(broken(compile(sums()), Expect::no_intermediates).empty());
  CHECK(broken(compile(sum(map([](auto x) { return x + 1; }, use(Floats{1, 2})))), Expect::no_intermediates)
            .empty());
  const Floats a{1, 2, 3};
  CHECK(broken(compile(scanned(a)), Expect::no_intermediates).empty());
  // Stored by one kernel, read by another.
  check_broken(compile(sum(scanned(a))), Expect::no_intermediates,
               "require no_intermediates: scanl1 \\(expect_test.cpp:[0-9]+\\) is stored by kernel 1 \\(a "
               "scan.*\\), and read by "
               "kernel 2, sum@expect_test.cpp:[0-9]+");
  // What a stream gives, read again; and there is more than one such array.
  check_broken(compile(sum(map([](auto x) { return x + 1; }, scanl1(plus, sums())))),
               Expect::no_intermediates, "require no_intermediates: .* is stored by .*\\(1 more\\)");
  // A routine of the library.
  check_broken(compile(sum(sort(map([](auto x) { return x + 1; }, use(a))))), Expect::no_intermediates,
               "require no_intermediates: .*");
  // The sizes of items are no arrays of the program.
  const auto ones = [](auto row) { return generate(size(row) + 1, [](auto) { return 1.0f; }); };
  CHECK(
      broken(compile(consume(elements(map_seq(ones, stream_in(rows()))))), Expect::no_intermediates).empty());
  // A result is stored as it has to be, whoever else reads it.
  const auto squares = map([](auto x) { return x * x; }, use(a));
  CHECK(broken(compile(std::tuple{squares, scanl1(plus, squares)}), Expect::no_intermediates).empty());
  // A loop keeps its state.
  const auto low = [](auto v) { return v[0] < 100; };
  const auto twice = [](auto v) { return map([](auto x) { return x * 2; }, v); };
  check_broken(
      compile(awhile(low, twice, use(a))), Expect::no_intermediates,
      "require no_intermediates: awhile \\(expect_test.cpp:[0-9]+\\) keeps its state from round to round");
}

TEST_CASE("require: regular arrays only", "[once]") {
  const auto total = [](auto row) { return sum(row); };
  const std::vector<Floats> alike{Floats{1, 2}, Floats{3, 4}};
  CHECK(
      broken(compile(consume(elements(map_seq(total, stream_in(regular(Index{2}), alike))))), Expect::regular)
          .empty());
  CHECK(broken(compile(sum(use(Floats{1}))), Expect::regular).empty());
  check_broken(compile(sums()), Expect::regular,
               "require regular: stream_in \\(expect_test.cpp:[0-9]+\\) is segmented: an item of the source, "
               "whose shape "
               "differs");
  const auto positive = [](auto row) { return std::get<0>(filter([](auto x) { return x > 0; }, row)); };
  check_broken(compile(consume(elements(map_seq(positive, stream_in(regular(Index{2}), alike))))),
               Expect::regular, "require regular: .* is segmented: .*");
}

TEST_CASE("require: one pass", "[once]") {
  CHECK(broken(compile(sums()), Expect::one_pass).empty());
  const Floats a{1, 2, 3};
  const auto x = use(a);
  CHECK(broken(compile(std::tuple{sum(x), maximum(x)}), Expect::one_pass).empty());
  // An array that two kernels read.
  check_broken(compile(std::tuple{scanl1(plus, x), scanr1(plus, x)}), Expect::one_pass,
               "require one_pass: use \\(expect_test.cpp:[0-9]+\\) is read by kernel 1, "
               "scan.1@expect_test.cpp:[0-9]+ and "
               "kernel 2, scan.1@expect_test.cpp:[0-9]+");
  // So does a row that is divided by its sum.
  const auto share_of = [](auto row) {
    auto total = sum(row);
    return map([=](auto e) { return e / the(total); }, row);
  };
  const auto stream = stream_in(rows());
  check_broken(compile(consume(elements(map_seq(share_of, stream)))), Expect::one_pass,
               "require one_pass: stream_in \\(expect_test.cpp:[0-9]+\\) is read by kernel 1, sum.* and "
               "kernel 2, map.*");
  // A stream that is read for what another pass over it gives.
  const auto all = the(sum(consume(elements(map_seq([](auto row) { return sum(row); }, stream)))));
  const auto share = [=](auto row) { return map([=](auto e) { return e / all; }, row); };
  check_broken(
      compile(consume(elements(map_seq(share, stream)))), Expect::one_pass,
      "require one_pass: stream_in \\(expect_test.cpp:[0-9]+\\) is read 2 times, by stream 0 and stream 1.*");
  // An array that a loop reads in every round.
  const auto low = [](auto v) { return the(sum(v)) < 100; };
  const auto add = [=](auto v) { return zip_with(plus, v, x); };
  check_broken(
      compile(awhile(low, add, generate(3, [](auto) { return 1.0f; }))), Expect::one_pass,
      "require one_pass: use \\(.*\\) is read by kernel [0-9]+, zip_with@.* of awhile, in every round");
  // A stream that is read in every round.
  const auto next = [=](auto v) {
    return consume(elements(map_seq([=](auto row) { return unit(the(sum(row)) + v[0]); }, stream)));
  };
  const auto short_of = [](auto v) { return v[0] < 100; };
  check_broken(
      compile(awhile(short_of, next, generate(3, [](auto) { return 1.0f; }))), Expect::one_pass,
      "require one_pass: stream_in \\(expect_test.cpp:[0-9]+\\) is read by stream 0 of body of awhile, "
      "in every round");
  // Items that two kernels read, in one side of a branch.
  const auto shares = consume(elements(map_seq(share_of, stream)));
  check_broken(compile(acond(the(sum(x)) > 1, shares, fill(0, 0.0f))), Expect::one_pass,
               "require one_pass: stream_in .* is read by kernel [0-9]+, sum.* and kernel [0-9]+, map.*");
}

TEST_CASE("require: streaming", "[once]") {
  CHECK(broken(compile(sums()), Expect::streaming).empty());
  check_broken(compile(sum(use(Floats{1}))), Expect::streaming,
               "require streaming: sum \\(expect_test.cpp:[0-9]+\\): the program reads no stream");
  check_broken(compile(scanl1(plus, sums())), Expect::streaming,
               "require streaming: consume \\(expect_test.cpp:[0-9]+\\) holds all that stream 0 gives, as it "
               "is read by kernel "
               "[0-9]+, scanl1@expect_test.cpp:[0-9]+");
  // Held for its size, which says how many elements there are.
  check_broken(
      compile(unit(size(sums()))), Expect::streaming,
      "require streaming: consume \\(expect_test.cpp:[0-9]+\\) holds all that stream 0 gives, and is no "
      "result: only its size is asked");
  const auto held = sums();
  CHECK(broken(compile(std::tuple{held, unit(size(held))}), Expect::streaming).empty());
  // A stream of rows is as long as what they are the rows of.
  const auto of_rows = [](auto matrix) {
    return consume(elements(map_seq([](auto row) { return sum(row); }, anabranch::rows(matrix))));
  };
  const Array<2, float> matrix(Index{3, 2});
  CHECK(broken(compile(of_rows(use(matrix))), Expect::streaming).empty());
  check_broken(
      compile(of_rows(map([](auto x) { return x * 2; }, use(matrix)))), Expect::streaming,
      "require streaming: map \\(expect_test.cpp:[0-9]+\\) is stored whole by kernel 1 \\(.*\\), and read "
      "by stream 0, rows");
}

TEST_CASE("require: several expectations, of programs and of runs", "[once]") {
  const auto program = compile(sums())
                           .require(Expect::no_intermediates | Expect::one_pass | Expect::streaming)
                           .require(Expect::nothing);
  CHECK(program()[0] == 6);
  CHECK(broken(program, Expect::no_intermediates | Expect::regular) == broken(program, Expect::regular));

  // Before anything is read.
  int asked = 0;
  const auto more = run(sums(), {.require = Expect::one_pass});
  CHECK(more[0] == 6);
  RunOptions options;
  options.require = Expect::regular;
  options.progress = [&](const Progress&) { ++asked; };
  for (const Backend backend : {Backend::cpu, Backend::interpreter}) {
    options.backend = backend;
    CHECK_THROWS_WITH(program.run(options), Catch::Contains("require regular: "));
  }
  const auto halves =
      map_seq([](auto row) { return map([](auto x) { return x / 2; }, row); }, stream_in(rows()));
  CHECK_THROWS_WITH(stream_out(halves, {.require = Expect::regular}), Catch::Contains("require regular: "));
  std::size_t items = 0;
  for (const Floats& item : stream_out(halves, {.require = Expect::streaming | Expect::no_intermediates}))
    items += item.size() >= 0;
  CHECK(items == 3);
  CHECK(asked == 0);
}

}  // namespace
}  // namespace anabranch::testing
