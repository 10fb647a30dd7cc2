#include <anabranch/io.h>

#include "agree.h"
#include "erased_smvm.h"

// The erased core alone builds, compiles, explains and runs programs: what a front end of another language uses.
namespace anabranch::testing {
namespace {

using Entry = std::tuple<std::int32_t, double>;

struct Matrix {
  Vector<std::int64_t> indptr{0, 3, 3, 4, 9};
  Vector<std::int32_t> indices{0, 2, 4, 1, 0, 1, 2, 3, 4};
  Vector<double> values = numbers<double>(9, 3);
  Vector<double> x = numbers<double>(5, 4);

  Source<Vector<Entry>> source() const { return io::csr_view(4, 5, indptr, indices, values); }
};

/// The same with the templates.
Vector<double> typed(const Matrix& m) {
  const auto x = use(m.x);
  return run(consume(elements(map_seq(
      [=](auto row) {
        auto [columns, values] = unzip(row);
        return fold(plus, 0.0, zip_with(times, values, gather(columns, x)));
      },
      stream_in(m.source())))));
}

TEST_CASE("a program built through the erased core gives what the typed one gives") {
  const Matrix m;
  const auto program = detail::compile({erased_smvm(m.source().erased(), m.x.erased(), "model.py")}, {});
  const HostArrays result = agree_erased(
      [&](const RunOptions& options) { return detail::run(*program, {}, options, nullptr); }, Loc::current());
  REQUIRE(result.size() == 1);
  require_same(Vector<double>(result[0]), typed(m));
}

TEST_CASE("explain and errors name the places and operations of another front end") {
  const Matrix m;
  std::string file = "/somewhere/model.py";
  const auto program = detail::compile({erased_smvm(m.source().erased(), m.x.erased(), file)}, {});
  file.assign(file.size(), '?');  // the names are copies
  const std::string text = detail::explain(*program);
  for (const char* part : {"model.py:6", "model.py:8", "py_take", "py_sum"}) {
    INFO(part);
    CHECK_THAT(text, Catch::Contains(part));
  }
  const Vector<double> short_x{1.0, 2.0};
  const auto wrong = detail::compile({erased_smvm(m.source().erased(), short_x.erased(), "model.py")}, {});
  fails_erased<RunError>([&](const RunOptions& options) { return detail::run(*wrong, {}, options, nullptr); },
                         {"py_take", "out of range 0..1", "model.py:6"}, Loc::current());
}

TEST_CASE("the erased core reports runs, takes arguments and gives items one by one") {
  const Matrix m;
  const Place at(Symbol("model.py"), Symbol("main"), 40);
  const detail::Handle given = detail::array_parameter(1, std::array{ScalarType::float64}, at);
  const detail::Handle a = detail::element_parameter(std::array{ScalarType::float64}, at);
  const detail::Handle doubled = detail::map(
      detail::lambda({a}, {detail::primitive(detail::Primitive::add, {a, a}, at)}, at, {}), {given}, at, {});
  const auto program = detail::compile({doubled}, {given});
  RunReport report;
  const HostArrays out = detail::run(*program, {m.x.erased()}, {}, &report);
  CHECK(report.threads >= 1);
  require_same(Vector<double>(out.at(0)), run(map([](auto e) { return e + e; }, use(m.x))));

  detail::ItemReader reader(erased_row_sums(m.source().erased(), "model.py"), {});
  HostArrays item;
  const Vector<double> sums = run(
      consume(elements(map_seq([](auto row) { return sum(get<1>(unzip(row))); }, stream_in(m.source())))));
  for (std::int64_t i = 0; i < sums.size(); ++i) {
    REQUIRE(reader.next(item));
    require_same(Scalar<double>(item.at(0)), Scalar<double>(sums[i]));
  }
  CHECK_FALSE(reader.next(item));
}

TEST_CASE("the erased core says what a computation gives, and checks types itself") {
  const Matrix m;
  const Place at(Symbol("model.py"), Symbol("main"), 50);
  const detail::Handle sums = erased_row_sums(m.source().erased(), "model.py");
  CHECK_FALSE(detail::is_element(sums));
  REQUIRE(detail::arrays_of(sums).size() == 1);
  CHECK(detail::arrays_of(sums)[0].rank == 0);
  CHECK(detail::arrays_of(sums)[0].scalars == std::vector{ScalarType::float64});
  const detail::Handle x = detail::use(m.x.erased(), at);
  CHECK(detail::arrays_of(x)[0].rank == 1);
  CHECK(detail::scalars_of(x) == std::vector{ScalarType::float64});
  const detail::Handle one = detail::constant(ScalarType::int32, 1, at);
  CHECK(detail::is_element(one));
  CHECK(detail::scalars_of(one) == std::vector{ScalarType::int32});
  const detail::Handle real = detail::constant(ScalarType::float64, 0, at);
  CHECK_THROWS_WITH(detail::primitive(detail::Primitive::add, {one, real}, at),
                    Catch::Contains("model.py:50"));
  CHECK_THROWS_AS(detail::primitive(detail::Primitive::cast, {one}, at), ProgramError);
  CHECK_THROWS_AS(detail::primitive(detail::Primitive::bitcast, {one}, at), ProgramError);
  CHECK(detail::scalars_of(detail::bitcast(ScalarType::float32, one, at)) ==
        std::vector{ScalarType::float32});
  CHECK_THROWS_WITH(detail::bitcast(ScalarType::float64, one, at),
                    Catch::Contains("not int32 to double") && Catch::Contains("model.py:50"));
  CHECK_THROWS_AS(detail::is_element({}), ProgramError);
}

/// Runs f; the message of the ProgramError that it throws.
template <class F>
std::string refused(F f) {
  try {
    f();
  } catch (const ProgramError& e) {
    return e.what();
  }
  return "nothing was refused";
}

const Place here(Symbol("model.py"), Symbol("main"), 60);
const std::array one_double{ScalarType::float64};

TEST_CASE("the erased core refuses to compile what is no program") {
  using Catch::Contains;
  const Matrix m;
  const detail::Handle x = detail::use(m.x.erased(), here);
  const detail::Handle number = detail::constant(ScalarType::int64, 1, here);
  const detail::Handle items = detail::stream_in(m.source().erased(), here);
  const auto compiling = [](detail::Handles results, detail::Handles parameters) {
    return refused([&] { detail::compile(results, parameters); });
  };
  CHECK_THAT(compiling({}, {}), Contains("a result"));
  CHECK_THAT(compiling({x, {}}, {}), Contains("result 1") && Contains("empty handle"));
  CHECK_THAT(compiling({number}, {}), Contains("result 0") && Contains("int64") && Contains("model.py:60"));
  CHECK_THAT(compiling({items}, {}), Contains("result 0") && Contains("Seq"));
  CHECK_THAT(compiling({detail::elements(detail::rows(x, here), here)}, {}), Contains("consume"));
  CHECK_THAT(compiling({x}, {{}}), Contains("parameter 0") && Contains("empty handle"));
  CHECK_THAT(compiling({x}, {x}), Contains("parameter 0") && Contains("model.py:60"));
  CHECK_THAT(compiling({x}, {detail::element_parameter(one_double, here)}), Contains("parameter 0"));
  CHECK_THAT(refused([] { detail::ItemReader({}, {}); }), Contains("empty handle"));
  CHECK_THAT(refused([&] { detail::ItemReader(x, {}); }), Contains("sequence") && Contains("model.py:60"));
  CHECK_THAT(refused([] { compile<Vector<double>>([](auto) { return std::tuple<>(); }); }),
             Contains("a result"));
}

TEST_CASE("the erased core refuses to build on what is not there") {
  using Catch::Contains;
  const detail::Handle none;
  const detail::Handle a = detail::element_parameter(one_double, here);
  const detail::Handle plus_one =
      detail::lambda({a, a}, {detail::primitive(detail::Primitive::add, {a, a}, here)}, here, {});
  CHECK_THAT(refused([] { detail::use(nullptr, here); }), Contains("use") && Contains("model.py:60"));
  CHECK_THAT(refused([] { detail::stream_in(nullptr, here); }),
             Contains("stream_in") && Contains("model.py:60"));
  CHECK_THAT(refused([&] { detail::fold(plus_one, none, none, 0, here, {}); }), Contains("empty handle"));
  CHECK_THAT(refused([&] { detail::scan(plus_one, none, none, 0, {}, here, {}); }), Contains("empty handle"));
  CHECK_THAT(refused([] { detail::array_parameter(5, one_double, here); }), Contains("4 dimensions"));
  CHECK_THAT(refused([] { detail::array_parameter(-1, one_double, here); }), Contains("dimensions"));
}

TEST_CASE("a run takes as many arguments as there are parameters, of their types") {
  const detail::Handle p = detail::array_parameter(1, one_double, here);
  const detail::Handle q = detail::array_parameter(0, std::array{ScalarType::int64}, here);
  const auto program = detail::compile({p, q}, {p, q});
  const HostArray x = Vector<double>{1, 2}.erased(), n = Scalar<std::int64_t>(3).erased();
  const auto running = [&](const HostArrays& arguments) {
    return fails_erased<ProgramError>(
        [&](const RunOptions& options) { return detail::run(*program, arguments, options, nullptr); }, {},
        Loc::current());
  };
  using Catch::Contains;
  CHECK_THAT(running({}), Contains("2 arguments") && Contains("0"));
  CHECK_THAT(running({x}), Contains("2 arguments"));
  CHECK_THAT(running({x, n, n}), Contains("2 arguments"));
  CHECK_THAT(running({x, nullptr}), Contains("argument 1"));
  CHECK_THAT(running({x, x}), Contains("argument 1") && Contains("Vector double") && Contains("model.py:60"));
  CHECK_THAT(running({Vector<float>{1, 2}.erased(), n}), Contains("argument 0") && Contains("Vector float"));
  const auto running_into = [&](const HostArrays& into) {
    return fails_erased<ProgramError>(
        [&](const RunOptions& options) { return detail::run(*program, {x, n}, options, nullptr, into); }, {},
        Loc::current());
  };
  const HostArray y = Vector<double>{0, 0}.erased(), m = Scalar<std::int64_t>(0).erased();
  CHECK_THAT(running_into({y}), Contains("2 results") && Contains("1"));
  CHECK_THAT(running_into({y, nullptr}), Contains("result 1"));
  CHECK_THAT(running_into({m, y}), Contains("result 0") && Contains("Vector double"));
  detail::run(*program, {x, n}, {}, nullptr, {y, m});
  require_same(y, x, Loc::current());
  require_same(Scalar<std::int64_t>(detail::run(*program, {x, n}, {}, nullptr).at(1)),
               Scalar<std::int64_t>(3));
}

}  // namespace
}  // namespace anabranch::testing
