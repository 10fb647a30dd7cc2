#include <array>
#include <ranges>

#include <anabranch/io.h>

#include "agree.h"

// Results own their elements; runs into memory that the caller gives.
namespace anabranch::testing {
namespace {

/// Whether writing to any of the arrays leaves the others as they are.
template <class... As>
bool separate(As... arrays) {
  std::vector<std::pair<const std::byte*, const std::byte*>> places;
  const auto add = [&](const auto& array) {
    const detail::ArrayData& data = *array.erased();
    for (std::size_t c = 0; c < data.buffers.size(); ++c) {
      const auto* begin = static_cast<const std::byte*>(data.buffers[c].get());
      places.emplace_back(begin, begin + static_cast<std::size_t>(data.size()) * size_of(data.scalars[c]));
    }
  };
  (add(arrays), ...);
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (places[i].first < places[j].second && places[j].first < places[i].second) return false;
  return true;
}

std::vector<RunOptions> backends() {
  std::vector<RunOptions> out{{.backend = Backend::interpreter}};
  for (const RunOptions& options : configurations()) out.push_back(options);
  return out;
}

const Vector<double> a{1, 2, 3, 4, 5, 6};

TEST_CASE("a result that is an input has elements of its own") {
  for (const RunOptions& options : backends()) {
    auto r = run(use(a), options);
    require_same(r, a);
    r.set(0, 100);
    REQUIRE(a[0] == 1);
    REQUIRE(run(use(a), options)[0] == 1);
  }
}

TEST_CASE("an argument that is passed through is copied") {
  const auto program = compile<Vector<double>>([](auto x) { return std::tuple(x, x); });
  for (const RunOptions& options : backends()) {
    const auto [y, z] = program.run(options, a);
    REQUIRE(separate(a, y, z));
    require_same(y, a);
    require_same(z, a);
  }
}

TEST_CASE("equal results, and results that could be views of an input, share nothing") {
  using Pair = std::tuple<double, std::int32_t>;
  const Vector<Pair> pairs{{1, 2}, {3, 4}};
  const Matrix<double> m(Index{2, 3}, {1, 2, 3, 4, 5, 6});
  auto [firsts, seconds] = unzip(use(pairs));
  auto x = map([](auto e) { return e + 1.0; }, use(a));
  const auto program = compile(std::tuple(
      use(a), reshape(Index{2, 3}, use(a)), flatten(use(m)), slice(use(m), 1, all), use(pairs), firsts,
      seconds, zip(firsts, seconds), x, x, reshape(Index{3, 2}, x), unit(the(slice(use(a), 0)))));
  for (const RunOptions& options : backends()) {
    const auto results = program.run(options);
    REQUIRE(std::apply([&](const auto&... r) { return separate(a, m, pairs, r...); }, results));
    require_same(std::get<4>(results), pairs);
    require_same(std::get<3>(results), Vector<double>{4, 5, 6});
    require_same(std::get<9>(results), Vector<double>{2, 3, 4, 5, 6, 7});
  }
}

TEST_CASE("parts of a result, and the result itself, share nothing") {
  using Pair = std::tuple<double, std::int64_t>;
  const std::vector<Vector<double>> items{{1, 2, 3}, {4, 5}, {6}};
  const auto program = compile<Vector<Pair>>([&](auto given) {
    const auto pairs = map([](auto e) { return pack(e, cast<std::int64_t>(e)); }, use(a));
    const auto sums =
        scanl1([](auto x, auto y) { return pack(get<0>(x) + get<0>(y), get<1>(x) + get<1>(y)); }, pairs);
    const auto [of_scan, whole] = unzip(sums);
    const auto item = [](auto row) { return map([](auto e) { return pack(e * 2.0, e); }, row); };
    const auto [of_stream, streamed] = unzip(consume(elements(map_seq(item, stream_in(items)))));
    const auto never = [](auto p) { return size(p) < 0; };
    const auto [of_loop, kept] = unzip(awhile(never, [](auto p) { return p; }, given));
    return std::tuple(sums, of_scan, whole, of_scan, of_stream, streamed, of_loop, kept);
  });
  const Vector<Pair> given{{1, 2}, {3, 4}};
  for (const RunOptions& options : backends()) {
    const auto check = [&](const auto&... r) {
      REQUIRE(separate(a, given, r...));
      const auto all = std::tie(r...);
      require_same(std::get<1>(all), Vector<double>{1, 3, 6, 10, 15, 21});
      require_same(std::get<2>(all), Vector<std::int64_t>{1, 3, 6, 10, 15, 21});
      require_same(std::get<3>(all), Vector<double>{1, 3, 6, 10, 15, 21});
      require_same(std::get<4>(all), Vector<double>{2, 4, 6, 8, 10, 12});
      require_same(std::get<5>(all), a);
      require_same(std::get<6>(all), Vector<double>{1, 3});
      require_same(std::get<7>(all), Vector<std::int64_t>{2, 4});
    };
    std::apply(check, program.run(options, given));
    Vector<Pair> sums(Index{6});
    Vector<double> x(Index{6}), y(Index{6}), z(Index{6}), u(Index{6}), v(Index{2});
    Vector<std::int64_t> whole(Index{6}), kept(Index{2});
    program.run_into(std::tie(sums, x, whole, y, z, u, v, kept), options, given);
    check(sums, x, whole, y, z, u, v, kept);
  }
}

TEST_CASE("what the parts of a result lie in counts in the memory bound once") {
  const auto x = numbers<double>(100000);
  const auto pairs = map([](auto e) { return pack(e, e); }, use(x));
  const auto sums =
      scanl1([](auto s, auto e) { return pack(get<0>(s) + get<0>(e), get<1>(s) + get<1>(e)); }, pairs);
  RunReport report;
  run(unzip(sums), {.memory = 2'600'000}, &report);
  REQUIRE(report.peak_bytes >= 2'400'000);
}

TEST_CASE("results of streams share nothing with the items, nor with each other") {
  const std::vector<Vector<double>> items{{1, 2}, {3, 4}};
  auto s = map_seq([](auto row) { return row; }, stream_in(items));
  auto all_elements = consume(elements(s));
  auto rows_of = consume(tabulate(rows(use(Matrix<double>(Index{2, 3}, {1, 2, 3, 4, 5, 6})))));
  const auto program = compile(std::tuple(all_elements, consume(elements(s)), all_elements, rows_of,
                                          consume(tabulate(map_seq([](auto) { return use(a); }, s)))));
  for (const RunOptions& options : backends()) {
    const auto results = program.run(options);
    REQUIRE(std::apply([&](const auto&... r) { return separate(items[0], items[1], a, r...); }, results));
    require_same(std::get<2>(results), Vector<double>{1, 2, 3, 4});
  }
}

TEST_CASE("items streamed out own their elements") {
  const std::vector<Vector<double>> items{{1, 2}, {}, {3, 4, 5}};
  const Matrix<double> m(Index{2, 3}, {1, 2, 3, 4, 5, 6});
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    std::vector<Vector<double>> got;
    for (const auto& item : stream_out(stream_in(items), {.backend = backend})) got.push_back(item);
    REQUIRE(got.size() == 3);
    REQUIRE(separate(items[0], items[2], got[0], got[2]));
    for (auto& item : got)
      for (std::int64_t i = 0; i < item.size(); ++i) item.set(i, -1);
    REQUIRE(items[0][0] == 1);
    for (auto item : stream_out(rows(use(m)), {.backend = backend})) item.set(0, -1);
    REQUIRE(m[0] == 1);
    auto twice = map_seq([](auto row) { return std::tuple(row, row); }, stream_in(items));
    for (auto [x, y] : stream_out(twice, {.backend = backend})) REQUIRE(separate(x, y));
  }
}

TEST_CASE("an item that is kept does not keep the others") {
  auto s = produce(1000, [](auto i) { return fill(100, i); });
  std::vector<std::shared_ptr<void>> owners;
  for (const auto& item : stream_out(s)) {
    const auto& buffer = item.erased()->buffers[0];
    for (const auto& other : owners) REQUIRE((buffer.owner_before(other) || other.owner_before(buffer)));
    if (owners.size() < 5) owners.push_back(buffer);
  }
}

TEST_CASE("a result that is copied counts in the memory bound") {
  const auto x = numbers<double>(100000);
  RunReport report;
  run(use(x), {.memory = 1'700'000}, &report);
  REQUIRE(report.peak_bytes >= 1'600'000);
  REQUIRE_THROWS_AS(run(use(x), {.memory = 1'500'000}), ResourceError);
}

TEST_CASE("handles share elements, copies do not") {
  Vector<double> x{1, 2};
  Vector<double> handle = x;
  const Vector<double> copy = x.copy();
  handle.set(0, 7);
  REQUIRE(x[0] == 7);
  REQUIRE(copy[0] == 1);
}

TEST_CASE("a view of constants is not written") {
  std::array<double, 2> memory{1, 2};
  auto writable = Vector<double>::view(Index{2}, memory.data());
  writable.set(0, 5);
  REQUIRE(memory[0] == 5);
  auto constant = Vector<double>::view(Index{2}, std::as_const(memory).data());
  REQUIRE_THROWS_AS(constant.set(0, 6), ProgramError);
  REQUIRE_THROWS_AS(constant.mutable_data(), ProgramError);
  auto copy = constant.copy();
  copy.set(0, 6);
  REQUIRE(memory[0] == 5);
}

TEST_CASE("a run into memory of the caller") {
  const auto program = compile<Vector<double>>([](auto x) { return map([](auto e) { return e * 2.0; }, x); });
  for (const RunOptions& options : backends()) {
    std::vector<double> memory(8, -1);
    auto y = Vector<double>::view(Index{8}, memory.data());
    const auto old = y;
    RunReport report;
    program.run_into(y, options, &report, a);
    require_same(y, Vector<double>{2, 4, 6, 8, 10, 12});
    REQUIRE(y.data() == memory.data());
    REQUIRE(memory == std::vector<double>{2, 4, 6, 8, 10, 12, -1, -1});
    REQUIRE(old.size() == 8);
    REQUIRE(y.capacity() == 8);
    // Shorter and longer again, in the same memory.
    program.run_into(y, options, Vector<double>{9});
    require_same(y, Vector<double>{18});
    program.run_into(y, options, numbers<double>(8));
    REQUIRE(y.size() == 8);
    REQUIRE(y.data() == memory.data());
  }
}

TEST_CASE("several results into memory of the caller, of every origin") {
  using Pair = std::tuple<double, std::int32_t>;
  const std::vector<Vector<double>> items{{1, 2, 3}, {4}, {5, 6}};
  const auto program = compile<Vector<double>>([&](auto x) {
    auto doubled = map([](auto e) { return e * 2.0; }, x);
    auto s = map_seq([](auto row) { return map([](auto e) { return e + 1.0; }, row); }, stream_in(items));
    auto sums = consume(elements(map_seq([](auto row) { return sum(row); }, s)));
    return std::tuple(x, doubled, doubled, consume(elements(s)), consume(tabulate(s)), sums,
                      zip(x, map([](auto e) { return cast<std::int32_t>(e); }, x)), sum(doubled));
  });
  for (const RunOptions& options : backends()) {
    const auto expected = program.run(options, a);
    Vector<double> passed(Index{6}), once(Index{7}), again(Index{6}), flat(Index{9}), sums(Index{3});
    Matrix<double> stacked(Index{1, 3});  // 3 items of 1 element each are left: the shape does not matter
    Vector<Pair> pairs(Index{6});
    Scalar<double> total;
    const double* at = flat.data();
    program.run_into(std::tie(passed, once, again, flat, stacked, sums, pairs, total), options, a);
    REQUIRE(flat.data() == at);
    REQUIRE(separate(a, passed, once, again, flat, stacked, sums, pairs, total));
    REQUIRE(std::tuple(passed, once, again, flat, stacked, sums, pairs, total) == expected);
  }
}

TEST_CASE("the items of a stream consumed twice into memory of the caller") {
  const std::vector<Vector<double>> items{{1, 2, 3}, {4}, {5, 6}};
  const auto doubled =
      map_seq([](auto row) { return map([](auto e) { return e * 2.0; }, row); }, stream_in(items));
  const auto one = consume(elements(doubled)), two = consume(elements(doubled));
  const auto program = compile(std::tuple(two, one, two));  // two nodes where ANABRANCH_OFF=share
  for (const RunOptions& options : backends()) {
    Vector<double> x(Index{6}), y(Index{6}), z(Index{6});
    const double* const at[] = {x.data(), y.data(), z.data()};
    program.run_into(std::tie(x, y, z), options);
    for (const auto* result : {&x, &y, &z}) require_same(*result, Vector<double>{2, 4, 6, 8, 10, 12});
    REQUIRE((x.data() == at[0] && y.data() == at[1] && z.data() == at[2]));
  }
}

TEST_CASE("memory that is too small, or not to be written, is refused") {
  const auto program = compile<Vector<double>>([](auto x) {
    return consume(elements(map_seq([](auto i) { return fill(the(i) + 1, 1.0); },
                                    rows(map([](auto e) { return cast<std::int64_t>(e); }, x)))));
  });
  const auto doubled = compile<Vector<double>>([](auto x) { return map([](auto e) { return e * 2.0; }, x); });
  const auto both = compile<Vector<double>>([](auto x) {
    auto y = map([](auto e) { return e * 2.0; }, x);
    return std::tuple(y, map([](auto e) { return e + 1.0; }, y));
  });
  const auto passed = compile<Vector<double>>([](auto x) { return x; });
  const auto add = [](auto x, auto y) { return zip_with(plus, x, y); };
  const auto joined = compile<Vector<double>>([=](auto x) {
    const auto row = generate(2000, [=](auto i) { return x[i % size(x)]; });
    return consume(fold_seq(add, row, produce(3, [=](auto) { return row; })));
  });
  const auto batches = compile<Vector<double>>([=](auto x) {
    const auto row = generate(2000, [=](auto i) { return x[i % size(x)]; });
    const auto all_of = [](auto batch) { return consume(elements(batch)); };
    return consume(fold_batch(all_of, add, row, produce(1, [=](auto) { return row; })));
  });
  for (const RunOptions& options : backends()) {
    Vector<double> y(Index{5});
    const auto small = [&](const auto& p) {
      REQUIRE_THROWS_MATCHES(p.run_into(y, options, a), ResourceError,
                             Catch::Matchers::Predicate<ResourceError>([](const ResourceError& e) {
                               const std::string text = e.what();
                               return text.find("run_into: ") != std::string::npos &&
                                      text.find("results_test.cpp") != std::string::npos &&
                                      text.find("holds 5") != std::string::npos;
                             }));
      REQUIRE(y.size() == 5);
    };
    small(program);
    small(doubled);
    small(passed);
    small(joined);
    small(batches);
    Vector<double> enough(Index{27});
    program.run_into(enough, options, a);
    REQUIRE(enough.size() == 27);

    auto own = a.copy();
    REQUIRE_THROWS_AS(doubled.run_into(own, options, own), ProgramError);
    auto part = Vector<double>::view(Index{4}, own.mutable_data() + 2);
    REQUIRE_THROWS_AS(doubled.run_into(part, options, own), ProgramError);
    auto constant = Vector<double>::view(Index{6}, std::as_const(own).data());
    REQUIRE_THROWS_AS(doubled.run_into(constant, options, a), ProgramError);
    Vector<double> z(Index{6});
    auto same = z;
    REQUIRE_THROWS_AS(both.run_into(std::tie(z, same), options, a), ProgramError);
    REQUIRE_THROWS_AS(both.run_into(std::tie(z, z), options, a), ProgramError);
  }
}

TEST_CASE("memory that a source reads from is not written") {
  std::vector<std::int32_t> indptr{0, 2, 3}, columns{0, 1, 1};
  std::vector<double> values{1, 2, 3};
  const auto row_values = [](auto row) {
    auto [c, v] = unzip(row);
    return map([](auto e) { return e * 2.0; }, v);
  };
  const auto program = compile(
      consume(elements(map_seq(row_values, stream_in(io::csr_view(2, 2, std::span<const std::int32_t>(indptr),
                                                                  std::span<const std::int32_t>(columns),
                                                                  std::span<const double>(values)))))));
  auto y = Vector<double>::view(Index{3}, values.data());
  REQUIRE_THROWS_AS(program.run_into(y), ProgramError);
  Vector<double> z(Index{3});
  program.run_into(z);
  require_same(z, Vector<double>{2, 4, 6});
}

TEST_CASE("memory that items of a range are copied from is not written") {
  std::vector<Vector<double>> items{{1, 2}, {3}, numbers<double>(1000), {4, 5, 6}};
  const std::vector<Vector<double>> before{items[0].copy(), items[1].copy(), items[2].copy(),
                                           items[3].copy()};
  const auto largest = [](auto row) { return maximum(row); };
  const auto refuse = [&](auto s) {
    const auto program = compile(consume(elements(map_seq(largest, s))));
    const Vector<double> expected = program();
    for (const char* scheduler : {"adaptive", "fixed:1", "fixed:3"}) {
      REQUIRE_THROWS_MATCHES(program.run_into(items[2], {.scheduler = scheduler}), ProgramError,
                             Catch::Predicate<ProgramError>([](const ProgramError& e) {
                               return std::string(e.what()).find("that of items which a source gives") !=
                                      std::string::npos;
                             }));
      for (std::int64_t i = 0; i < items[2].size(); ++i) items[2].set(i, before[2][i]);
      Vector<double> y(Index{4});
      program.run_into(y, {.scheduler = scheduler});
      require_same(y, expected);
    }
  };
  refuse(stream_in(items));
  refuse(stream_in(items | std::views::transform([](const Vector<double>& v) { return v; })));
  refuse(stream_in(std::views::all(items)));
  // Beside another source, the leading one of which is in memory.
  refuse(
      zip_with_seq([](auto v, auto w) { return zip_with(plus, v, w); }, stream_in(items), stream_in(before)));
}

TEST_CASE("memory that a stage which feeds another one reads is not written") {
  const Ragged<double> items{{1, 2}, {3}, {}, {4, 5, 6}, {7}};
  const auto s = stream_in(items);
  const auto halves = map_seq([](auto row) { return map([](auto x) { return x * 0.5; }, row); }, s);
  const auto is_long = [](auto row) { return unit(size(row) > 0); };
  const auto check = [&](const auto& sequence) {
    const auto program = compile(consume(elements(sequence)));
    for (const char* scheduler : {"adaptive", "fixed:1", "fixed:2"})
      for (const int threads : {1, 2}) {
        Vector<double> y = items.values();
        CHECK_THROWS_AS(program.run_into(y, {.threads = threads, .scheduler = scheduler}), ProgramError);
      }
  };
  check(filter_seq(is_long, halves));
  check(take_while_seq([](auto row) { return unit(size(row) < 9); }, halves));
  check(scan_seq([](auto state, auto row) { return map([=](auto x) { return x + the(sum(state)); }, row); },
                 fill(1, 0.0), halves));
  check(windows(halves, 2, 1));
  check(windows(s, 2, 1));
}

TEST_CASE("memory that a source inside of a loop or a branch reads from is not written") {
  std::vector<std::int32_t> indptr{0, 2, 3}, columns{0, 1, 1};
  std::vector<double> values{1, 2, 3};
  const auto source = io::csr_view(2, 2, std::span<const std::int32_t>(indptr),
                                   std::span<const std::int32_t>(columns), std::span<const double>(values));
  const auto all = [&](auto scale) {
    return sum(consume(elements(map_seq(
        [=](auto row) { return unit(the(sum(get<1>(unzip(row)))) * the(scale)); }, stream_in(source)))));
  };
  const auto filled = map([](auto e) { return e * 2.0; }, use(Vector<double>{0.5, 0.5, 0.5}));
  const auto branch = compile(std::tuple(
      filled, acond(the(sum(filled)) > 0.0, [&] { return all(sum(filled)); }, [&] { return sum(filled); })));
  const auto loop =
      compile(std::tuple(filled, awhile([](auto s) { return the(s) < 10.0; }, all, sum(filled))));
  for (const auto* program : {&branch, &loop})
    for (const RunOptions& options : backends()) {
      Vector<double> y(Index{3});
      Scalar<double> s;
      program->run_into(std::tie(y, s), options);
      REQUIRE(*s.data() == 18);
    }
  auto y = Vector<double>::view(Index{3}, values.data());
  Scalar<double> s;
  for (const auto* program : {&branch, &loop})
    REQUIRE_THROWS_AS(program->run_into(std::tie(y, s)), ProgramError);
}

TEST_CASE("results of equal items of a stream whose length nobody knows into memory of the caller") {
  constexpr std::int64_t window = 64, hop = 16, samples = 40'000, block = 1000;
  const auto signal = numbers<double>(samples);
  std::vector<Vector<double>> blocks;  // windows of a stream: how many there are its end tells
  for (std::int64_t i = 0; i < samples; i += block)
    blocks.push_back(Vector<double>::view(Index{block}, signal.data() + i));
  const auto program = compile(consume(elements(map_seq(
      [](auto w) { return scanl1(plus, w); }, windows(stream_in(std::views::all(blocks)), window, hop)))));
  const auto expected = program.run();
  constexpr std::int64_t size = window * ((samples - window) / hop + 1);
  REQUIRE(expected.size() == size);
  for (RunOptions options : backends()) {
    std::vector<double> memory(size + 3, -1);
    auto y = Vector<double>::view(Index{std::ssize(memory)}, memory.data());
    RunReport report;
    program.run_into(y, options, &report);
    require_same(y, expected);
    REQUIRE(y.data() == memory.data());
    REQUIRE(std::vector(memory.end() - 3, memory.end()) == std::vector<double>{-1, -1, -1});
    auto small = Vector<double>::view(Index{size - 1}, memory.data());
    REQUIRE_THROWS_MATCHES(program.run_into(small, options), ResourceError,
                           Catch::Matchers::Predicate<ResourceError>([](const ResourceError& e) {
                             return std::string(e.what()).find("run_into: ") != std::string::npos;
                           }));
    if (options.backend == Backend::interpreter) continue;
    REQUIRE(report.peak_bytes >= size * 8);
    options.memory = size * 8 - 1;
    REQUIRE_THROWS_AS(program.run_into(y, options), ResourceError);
  }
}

TEST_CASE("an argument that is given twice counts in the memory bound once") {
  const auto x = numbers<double>(100000);
  const auto product = compile<Vector<double>, Vector<double>>(
      [](auto y, auto z) { return fold(plus, 0.0, zip_with(times, y, z)); });
  REQUIRE(product.run({.memory = 1'000'000}, x, x) == product.run({}, x, x.copy()));
  REQUIRE_THROWS_AS(product.run({.memory = 1'000'000}, x, x.copy()), ResourceError);
}

TEST_CASE("what has been trimmed into memory of the caller counts once, and not what it was trimmed of") {
  const auto ragged = produce(200, [](auto i) { return fill(1000 + i % 2, 1.0); });  // 1.6 MB
  const auto program =
      compile(std::tuple(consume(tabulate(ragged)), generate(200'000, [](auto i) { return i; })));
  Array<2, double> y(Index{200, 1000});
  Vector<std::int64_t> z(Index{200'000});
  for (const RunOptions& options : configurations()) {
    RunOptions bounded = options;
    bounded.memory = 4'000'000;
    program.run_into(std::tie(y, z), bounded);
    REQUIRE(y.shape() == Index{200, 1000});
  }
}

TEST_CASE("memory that the caller gives counts in the memory bound") {
  const auto x = numbers<double>(100000);
  const auto program = compile(map([](auto e) { return -e; }, use(x)));
  Vector<double> y(Index{100000});
  RunReport report;
  program.run_into(y, {.memory = 1'700'000}, &report);
  REQUIRE(report.peak_bytes >= 1'600'000);
  REQUIRE_THROWS_AS(program.run_into(y, {.memory = 1'500'000}), ResourceError);
}

}  // namespace
}  // namespace anabranch::testing
