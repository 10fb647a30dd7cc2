#include "kernel/access.h"

#include "support/catch.h"
#include "tests/cpu/support/map_kernels.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;
using ir::Ref;
using kernel::AccessPattern;
using kernel::Motion;

// What is said of reads is what code is made of them.
namespace {

/// A map over a vector that reads two avoided arrays: a vector, and a matrix of eight rows.
struct Reading {
  Reading() : k(kernel::Map{}) {
    n = k.uniform_extent(100);
    a = k.array(kernel::Form::avoided, {ScalarType::float64}, {n}, k.buffer(doubles(1000)));
    b = k.array(kernel::Form::avoided, {ScalarType::float64}, {constant_extent(8), n},
                k.buffer(doubles(800)));
    k.output(kernel::Form::avoided, {ScalarType::float64}, {n}, 100);
    i = k.kernel().index[0];
    length = k.scalar_parameter(n);
  }
  /// Not all that a body reads is at its own position, so that it runs along the dimension.
  void body(const Ref& read) { k.kernel().body = {times(read, ir::cast(ScalarType::float64, i))}; }

  KernelBuilder k;
  kernel::KernelExtent n;
  Ref a, b, i, length;
};

std::string code_of(const kernel::Kernel& kernel) {
  std::string text;
  cpu::CompileOptions options;
  options.lanes = 8;
  options.ir = &text;
  cpu::compile(kernel, options);
  return text.substr(0, text.find("; after the passes"));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The tail of a loop loads with a mask: vectors where lanes are neighbours, else one by one.
void check_code(const kernel::Kernel& kernel, AccessPattern pattern) {
  const std::string code = code_of(kernel);
  const bool vector = pattern == AccessPattern::contiguous || pattern == AccessPattern::backwards;
  CHECK(has(code, "load <8 x double>, ") == vector);
  CHECK(has(code, "@llvm.masked.load.v8f64") == vector);
  const bool apart = pattern == AccessPattern::strided || pattern == AccessPattern::gathered;
  CHECK(has(code, "@llvm.masked.gather.v8f64") == apart);
  CHECK(has(code, "<i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>") ==
        (pattern == AccessPattern::backwards));
}

}  // namespace

TEST_CASE("neighbouring items have neighbouring numbers") {
  KernelBuilder k(kernel::Map{}, true, 100);
  const kernel::KernelExtent n = k.uniform_extent(1000);
  const Ref a = k.array(kernel::Form::avoided, {ScalarType::float64}, {n}, k.buffer(doubles(1000)));
  k.output(kernel::Form::regular, {ScalarType::float64}, {}, 100);
  const Ref read = ir::index(a, k.scalar_parameter(k.number_extent(40)));
  k.kernel().body = {read};
  k.find_checks();
  CHECK(kernel::Accesses(k.kernel()).of(*read) == Motion::steady(1));
  check_code(k.kernel(), AccessPattern::contiguous);
}

TEST_CASE("how reads of a map move from lane to lane, and the code they become") {
  struct Case {
    const char* what;
    std::function<Ref(const Reading&)> read;
    AccessPattern pattern;
    Motion motion;
  };
  const auto at = [](auto position) {
    return [=](const Reading& r) { return ir::index(r.a, position(r), {}, true); };
  };
  const Motion even{Motion::Kind::even, 0, {}};
  const std::vector<Case> cases{
      {"i", at([](const Reading& r) { return r.i; }), AccessPattern::contiguous, Motion::steady(1)},
      {"i + 5", at([](const Reading& r) { return plus(r.i, ir::int64(5)); }), AccessPattern::contiguous,
       Motion::steady(1)},
      {"n - 1 - i", at([](const Reading& r) { return minus(minus(r.length, ir::int64(1)), r.i); }),
       AccessPattern::backwards, Motion::steady(-1)},
      {"3 i + 1", at([](const Reading& r) { return plus(times(r.i, ir::int64(3)), ir::int64(1)); }),
       AccessPattern::strided, Motion::steady(3)},
      {"i + i - i", at([](const Reading& r) { return minus(plus(r.i, r.i), r.i); }),
       AccessPattern::contiguous, Motion::steady(1)},
      {"5000 i", at([](const Reading& r) { return times(r.i, ir::int64(5000)); }), AccessPattern::strided,
       even},
      {"i + i, and so on", at([](const Reading& r) {
         Ref i = r.i;
         for (int times = 0; times < 40; ++times) i = plus(i, i);
         return i;
       }),
       AccessPattern::strided, even},
      {"n i", at([](const Reading& r) { return times(r.i, r.length); }), AccessPattern::strided, even},
      {"i i", at([](const Reading& r) { return times(r.i, r.i); }), AccessPattern::gathered, Motion{}},
      {"i % 7", at([](const Reading& r) { return ir::primitive(Primitive::bit_and, {r.i, ir::int64(7)}); }),
       AccessPattern::gathered, Motion{}},
      {"n - 2", at([](const Reading& r) { return minus(r.length, ir::int64(2)); }), AccessPattern::broadcast,
       Motion::same()},
      {"a row of a matrix",
       [](const Reading& r) { return ir::index(r.b, ir::tuple({ir::int64(2), r.i}), {}, true); },
       AccessPattern::contiguous, Motion::steady(1)},
      {"a column of a matrix",
       [](const Reading& r) { return ir::index(r.b, ir::tuple({r.i, ir::int64(2)}), {}, true); },
       AccessPattern::strided, even},
      {"by position",
       [](const Reading& r) { return ir::linear_index(r.b, plus(r.i, ir::int64(8)), {}, true); },
       AccessPattern::contiguous, Motion::steady(1)},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    Reading r;
    const Ref read = c.read(r);
    r.body(read);
    r.k.find_checks();
    const kernel::Accesses accesses(r.k.kernel());
    REQUIRE(accesses.reads() == std::vector<const ir::Node*>{read.get()});
    CHECK(kernel::lanes_of(r.k.kernel()).kind == kernel::Lanes::Kind::innermost);
    const Motion motion = accesses.of(*read);
    CHECK(motion.kind == c.motion.kind);
    CHECK(motion.step == c.motion.step);
    CHECK(kernel::pattern_of(motion) == c.pattern);
    check_code(r.k.kernel(), c.pattern);
  }
}

TEST_CASE("items as lanes read where their parts begin") {
  for (const bool of_four : {false, true}) {
    KernelBuilder k(kernel::Map{}, true, 50);
    const auto four = constant_extent(4);
    const Ref a = of_four
                      ? k.array(kernel::Form::regular, {ScalarType::float64}, {four}, k.buffer(doubles(200)))
                      : k.array(kernel::Form::regular, {ScalarType::float64}, {}, k.buffer(doubles(50)));
    k.output(kernel::Form::regular, {ScalarType::float64}, {}, 50);
    const Ref read = ir::index(a, of_four ? ir::int64(1) : ir::tuple({}), {}, true);
    k.kernel().body = {times(read, read)};
    const Motion motion = kernel::Accesses(k.kernel()).of(*read);
    CHECK(kernel::lanes_of(k.kernel()).kind == kernel::Lanes::Kind::items);
    CHECK(motion == Motion::steady(of_four ? 4 : 1));
    check_code(k.kernel(), of_four ? AccessPattern::strided : AccessPattern::contiguous);
  }
}

TEST_CASE("inside of borders minimums are positions, and a counter of a loop is the same in all lanes") {
  Reading r;
  const Ref last = minus(r.length, ir::int64(1));
  const Ref next = ir::primitive(Primitive::minimum, {plus(r.i, ir::int64(1)), last});
  const Ref read = ir::index(r.a, next);
  r.body(read);
  r.k.find_checks();
  const kernel::Kernel& kernel = r.k.kernel();
  CHECK(kernel::pattern_of(kernel::Accesses(kernel).of(*read)) == AccessPattern::gathered);
  const auto interior = kernel::interior_of(kernel, kernel::Regions(kernel.body));
  REQUIRE(interior);
  CHECK(kernel::pattern_of(kernel::Accesses(kernel, interior->assumed()).of(*read)) ==
        AccessPattern::contiguous);
  CHECK(interior->assumed().contains(read.get()));
  const std::string code = code_of(kernel);
  CHECK(has(code, "load <8 x double>, "));
  CHECK(has(code, "@llvm.masked.gather.v8f64"));

  // Sums of b[k, i], k counts: the column moves with the lane, the row is the same in all.
  Reading loop;
  const ir::Type state = ir::Type::element({ScalarType::int64, ScalarType::float64});
  const Ref before = ir::parameter(state), now = ir::parameter(state);
  const Ref counter = ir::project(now, 0, 1);
  const Ref element = ir::index(loop.b, ir::tuple({counter, loop.i}), {}, true);
  const Ref body =
      ir::lambda({now}, {ir::tuple({plus(counter, ir::int64(1)), plus(ir::project(now, 1, 1), element)})});
  // Lanes end after different numbers of rounds.
  const Ref most = ir::primitive(Primitive::bit_and, {loop.i, ir::int64(7)});
  const Ref predicate = ir::lambda({before}, {less(ir::project(before, 0, 1), most)});
  const Ref sums = ir::while_loop(predicate, body, ir::tuple({ir::int64(0), ir::literal(0.0)}));
  loop.k.kernel().body = {ir::project(sums, 1, 1)};
  loop.k.find_checks();
  CHECK(kernel::Accesses(loop.k.kernel()).of(*element) == Motion::steady(1));
  CHECK(!has(code_of(loop.k.kernel()), "@llvm.masked.gather.v8f64"));
}
