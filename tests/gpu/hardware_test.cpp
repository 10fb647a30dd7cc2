#include <cstdint>
#include <string>
#include <vector>

#include "gpu/data.h"
#include "gpu/on_gpu.h"

// What a simulated GPU cannot show: threads that really run at once, grids of more blocks than fit, and
// positions beyond 32 bits. The CPU back end says what is right: the interpreter would take minutes.
namespace anabranch::testing {
namespace {

/// Of a race that shows in one run out of ten, twenty runs show nothing in one case out of ten.
constexpr int repetitions = 20;

template <class Program>
void same_every_time(const Program& program) {
  const auto expected = program.run({.backend = Backend::cpu});
  for (int i = 0; i < repetitions; ++i) {
    INFO("run " << i + 1 << " of " << repetitions);
    REQUIRE(same(program.run({.backend = Backend::cuda}).erased(), expected.erased()));
  }
}

template <class Program>
void same_message_every_time(const Program& program) {
  const std::string expected = message_of(program, Backend::cpu);
  CHECK(expected != "no error");
  for (int i = 0; i < repetitions; ++i) {
    INFO("run " << i + 1 << " of " << repetitions);
    REQUIRE(message_of(program, Backend::cuda) == expected);
  }
}

std::vector<Vector<double>> random_rows(std::int64_t rows) {
  std::vector<Vector<double>> out;
  for (std::int64_t i = 0; i < rows; ++i) out.push_back(random_numbers<double>(power_law(i)));
  return out;
}

bool has_room_for(std::int64_t bytes) {
  if (gpu_facts().memory > 4 * bytes && machine_facts().usable_memory() > 8 * bytes) return true;
  WARN("left out: too little memory");
  return false;
}

}  // namespace

TEST_CASE("a matrix with long rows gives the same bits in every run") {
  if (!have_gpu()) return;
  const Matrix a(200'000, 100'000, power_law);
  const auto x = random_numbers<double>(a.cols);
  same_every_time(compile(consume(elements(map_seq(times_row(x), stream_in(a.source()))))));
}

TEST_CASE("items of any shape give the same bits in every run") {
  if (!have_gpu()) return;
  const auto rows = random_rows(20'000);
  const auto centred = [](auto row) {
    const auto total = sum(row);
    return map([=](auto x) { return x - the(total); }, row);
  };
  same_every_time(compile(consume(elements(map_seq(centred, stream_in(rows))))));
}

TEST_CASE("an operator that does not commute gives the same bits in every run") {
  if (!have_gpu()) return;
  const auto rows = random_rows(20'000);
  const auto last = [](auto row) { return fold([](auto a, auto b) { return a / 3.0 + b; }, 0.0, row); };
  same_every_time(compile(consume(elements(map_seq(last, stream_in(rows))))));
}

TEST_CASE("one large sum gives the same bits in every run") {
  if (!have_gpu()) return;
  const auto x = random_numbers<double>(20'000'000);
  same_every_time(compile(fold(plus, 0.0, use(x))));
}

TEST_CASE("many more rows than threads") {
  if (!have_gpu()) return;
  for (const std::int64_t n : {1, 9, 200}) {
    const Matrix a(20'000'000 / n, 1000, [n](auto) { return n; });
    const auto x = random_numbers<double>(a.cols);
    const auto program = compile(consume(elements(map_seq(times_row(x), stream_in(a.source())))));
    CHECK(same(program.run({.backend = Backend::cuda}).erased(),
               program.run({.backend = Backend::cpu}).erased()));
  }
}

TEST_CASE("where every row fails the error is the first one's, and comes soon") {
  if (!have_gpu()) return;
  for (const std::int64_t n : {3, 27, 200}) {
    Matrix a(2'000'000 / n, 1000, [n](auto) { return n; });
    for (auto& column : a.columns) column += 1000;
    a.cols = 2000;
    const auto x = random_numbers<double>(1000);
    same_message_every_time(compile(consume(elements(map_seq(times_row(x), stream_in(a.source()))))));
  }
}

TEST_CASE("where every element of a map fails the error is the first one's, and comes soon") {
  if (!have_gpu()) return;
  const auto x = random_numbers<double>(1000);
  same_message_every_time(
      compile(generate(5'000'000, [x = use(x)](auto i) { return x[i + std::int64_t{1000}]; })));
}

TEST_CASE("positions and extents beyond 32 bits") {
  if (!have_gpu()) return;
  constexpr std::int64_t rows = 65'543, columns = 65'537;
  static_assert(rows * columns > std::int64_t{1} << 32);
  if (!has_room_for(rows * columns)) return;
  const auto element = [](auto i, auto j) { return (i * std::int64_t{31} + j * std::int64_t{17}) & 255; };
  const auto bytes = compile(generate(Index{rows, columns}, [=](auto ix) {
                       return cast<std::uint8_t>(element(ix[0], ix[1]));
                     })).run({.backend = Backend::cuda});
  constexpr std::int64_t step = 65'521;  // a prime: all columns come by
  std::int64_t wrong = 0;
  for (std::int64_t at = 0; at < rows * columns; at += step)
    wrong += bytes.data()[at] != static_cast<std::uint8_t>(element(at / columns, at % columns));
  for (std::int64_t at = rows * columns - step; at < rows * columns; ++at)
    wrong += bytes.data()[at] != static_cast<std::uint8_t>(element(at / columns, at % columns));
  CHECK(wrong == 0);

  const auto total = [](auto all) {
    return fold_all(plus, std::int64_t{0}, map([](auto b) { return cast<std::int64_t>(b); }, all));
  };
  const auto program = compile(total(use(bytes)));
  CHECK(program.run({.backend = Backend::cuda})[0] == program.run({.backend = Backend::cpu})[0]);
}

TEST_CASE("a sum over more positions than 32 bits") {
  if (!have_gpu()) return;
  constexpr std::int64_t n = 5'000'000'011;
  const auto program = compile(fold(plus, std::int64_t{0}, generate(n, [](auto i) { return i & 1023; })));
  constexpr std::int64_t whole = n / 1024, rest = n % 1024;
  CHECK(program.run({.backend = Backend::cuda})[0] == whole * (1023 * 512) + rest * (rest - 1) / 2);
}

}  // namespace anabranch::testing
