#include <regex>
#include <set>
#include <string>

#include "cuda/unit.h"
#include "support/catch.h"
#include "tests/cpu/support/map_kernels.h"
#include "tests/cpu/support/primitive_table.h"
#include "tests/cpu/support/random_kernel.h"
#include "tests/cuda/support/run.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;
using ir::Ref;

namespace {

template <class Row>
constexpr ScalarType type_of_row =
    anabranch::detail::scalar_type<typename anabranch::detail::TypeOfRow<Row>::type>;

}  // namespace

TEST_CASE("cuda: elementwise maps run over flat positions") {
  for (const auto n : lengths) {
    KernelBuilder k(kernel::Map{});
    const auto extent = k.uniform_extent(n);
    const Ref a = k.array(kernel::Form::avoided, {ScalarType::float64}, {extent}, k.buffer(doubles(n)));
    k.output(kernel::Form::avoided, {ScalarType::float64, ScalarType::boolean}, {extent}, n);
    const Ref v = ir::index(a, k.kernel().index[0]);
    k.kernel().body = {plus(times(v, v), ir::literal(0.1)), less(v, ir::literal(0.0))};
    CHECK(cuda_disagreement(k) == "");
    k.split_output({1, 1});
    CHECK(cuda_disagreement(k) == "");
  }
}

TEST_CASE("cuda: segmented maps: flat, with the index, with item values and gathers") {
  std::vector<std::int64_t> mostly_empty(20'000);
  mostly_empty[3] = 5;
  mostly_empty[9000] = 700;
  mostly_empty[19'999] = 600;
  for (const auto& rows : std::vector<std::vector<std::int64_t>>{
           lengths, {}, {0, 0, 0}, {0, 5, 0, 0, 100, 0}, std::vector<std::int64_t>(3000, 3), mostly_empty}) {
    {
      Ragged r(rows);
      r.segmented_output(ScalarType::float64);
      const Ref v = ir::index(r.values, r.k.kernel().index[0], {}, true);
      r.k.kernel().body = {times(v, ir::literal(3.0))};
      CHECK(cuda_disagreement(r.k) == "");
    }
    {
      Ragged r(rows);
      r.segmented_output(ScalarType::float64);
      const Ref i = r.k.kernel().index[0];
      const Ref v = ir::index(r.values, i, {}, true);
      const Ref scale = ir::cast(ScalarType::float64, ir::index(r.item, ir::tuple({}), {}, true));
      const Ref mod = ir::primitive(Primitive::remainder, {times(i, ir::int64(17)), ir::int64(100)});
      r.k.kernel().body = {plus(times(v, scale), ir::index(r.x, mod))};
      CHECK(cuda_disagreement(r.k) == "");
    }
    {
      Ragged r(rows);
      r.segmented_output(ScalarType::float64);
      const Ref i = r.k.kernel().index[0];
      const Ref n = r.k.scalar_parameter(r.extent);
      const Ref back = minus(minus(n, ir::int64(1)), i);
      const Ref third = ir::primitive(Primitive::minimum, {times(i, ir::int64(3)), minus(n, ir::int64(1))});
      r.k.kernel().body = {plus(ir::index(r.values, back), ir::linear_index(r.values, third))};
      CHECK(cuda_disagreement(r.k) == "");
    }
  }
}

TEST_CASE("cuda: items of one element") {
  Ragged r(lengths);
  r.k.output(kernel::Form::regular, {ScalarType::float64}, {}, static_cast<std::int64_t>(lengths.size()));
  const Ref n = r.k.scalar_parameter(r.extent);
  const Ref number = ir::index(r.item, ir::tuple({}), {}, true);
  const Ref half = ir::primitive(Primitive::divide, {n, ir::int64(2)});
  const Ref middle = ir::cond(less(ir::int64(0), n), ir::index(r.values, half), ir::literal(-1.0));
  r.k.kernel().body = {plus(middle, ir::cast(ScalarType::float64, number))};
  CHECK(cuda_disagreement(r.k) == "");
  r.k.kernel().body = {ir::index(r.values, half)};  // fails on the empty item only
  CHECK(cuda_disagreement(r.k) == "");
}

TEST_CASE("cuda: the number of an item in its stream") {
  for (const std::int64_t items : {1, 33, 35, 50}) {
    auto k = read_by_number(items);
    CHECK(cuda_disagreement(k) == "");
  }
  auto k = scaled_by_number(lengths);
  CHECK(cuda_disagreement(k) == "");
}

TEST_CASE("cuda: arrays of rank 0 to 4, in and outside streams, shifted and transposed reads") {
  for (const bool over_items : {false, true})
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{
             {}, {40}, {5, 33}, {33, 5}, {3, 4, 20}, {2, 3, 4, 17}, {4, 0, 3}, {1, 1, 1, 1}}) {
      const std::int64_t items = over_items ? 3 : 1;
      std::int64_t n = items;
      for (const auto e : shape) n *= e;
      const auto form = over_items ? kernel::Form::regular : kernel::Form::avoided;
      KernelBuilder k(kernel::Map{}, over_items, items);
      std::vector<kernel::KernelExtent> extents;
      for (const auto e : shape) extents.push_back(k.uniform_extent(e));
      const Ref a = k.array(form, {ScalarType::float64}, extents, k.buffer(doubles(n)));
      auto reversed = extents;
      std::reverse(reversed.begin(), reversed.end());
      const Ref t = k.array(form, {ScalarType::float64}, reversed, k.buffer(doubles(n)));
      k.output(form, {ScalarType::float64, ScalarType::int64}, extents, n);
      auto& kernel = k.kernel();
      auto back = kernel.index;
      std::reverse(back.begin(), back.end());
      Ref sum = ir::int64(1);
      for (const auto& i : kernel.index) sum = plus(times(sum, ir::int64(10)), i);
      const Ref own = ir::index(a, all_of(kernel.index), {}, true);
      INFO("rank " << shape.size() << (over_items ? " over items" : ""));
      kernel.body = {plus(own, ir::index(t, all_of(back))), sum};
      CHECK(cuda_disagreement(k) == "");
      kernel.body = {times(own, own), ir::int64(7)};
      CHECK(cuda_disagreement(k) == "");
      if (shape.empty()) continue;
      auto shifted = kernel.index;
      shifted.back() = plus(shifted.back(), ir::int64(1));
      kernel.body = {ir::index(a, all_of(shifted)), ir::int64(7)};
      CHECK(cuda_disagreement(k) == "");
    }
}

TEST_CASE("cuda: irregular items of rank 2, extents per item") {
  const std::vector<std::int64_t> rows{3, 0, 1, 20, 4, 0}, columns{5, 7, 0, 133, 16, 0};
  std::vector<std::int64_t> offsets{0};
  for (std::size_t i = 0; i < rows.size(); ++i) offsets.push_back(offsets.back() + rows[i] * columns[i]);
  const auto n = offsets.back();
  KernelBuilder k(kernel::Map{}, true, static_cast<std::int64_t>(rows.size()));
  const int off = k.buffer(offsets);
  const std::vector<kernel::KernelExtent> extents{k.per_item_extent(rows), k.per_item_extent(columns)};
  const Ref a = k.array(kernel::Form::segmented, {ScalarType::float64}, extents, k.buffer(doubles(n)), off);
  k.output(kernel::Form::segmented, {ScalarType::float64}, extents, n, off);
  auto& kernel = k.kernel();
  const Ref own = ir::index(a, ir::tuple(kernel.index), {}, true);
  kernel.body = {times(own, own)};
  CHECK(cuda_disagreement(k) == "");
  const Ref first = ir::index(a, ir::tuple({kernel.index[0], ir::int64(0)}));
  kernel.body = {plus(times(own, first), ir::cast(ScalarType::float64, kernel.index[1]))};
  CHECK(cuda_disagreement(k) == "");
}

TEST_CASE("cuda: the lowest failing position is reported") {
  KernelBuilder k(kernel::Map{});
  const Ref a =
      k.array(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(5)}, k.buffer(doubles(5)));
  k.output(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(3000)}, 3000);
  const Ref i = k.kernel().index[0];
  k.kernel().body = {ir::index(a, minus(i, ir::int64(2990)), Place(std::source_location::current()))};
  k.find_checks();
  for (const CudaWay& way : all_ways(k.kernel())) {
    const auto error = run_cuda(k, way).error;
    CHECK(error.position == 0);
    CHECK(error.value == -2990);
    CHECK(error.bound == 5);
    CHECK(error.lock == 0);
  }
  CHECK(cuda::generate(k.kernel()).source.find("map_test.cpp\"") != std::string::npos);
}

TEST_CASE("cuda: conditionals and loops") {
  for (const std::int64_t n : {1, 17, 1000}) {
    KernelBuilder k(kernel::Map{});
    const auto extent = k.uniform_extent(n);
    const Ref a = k.array(kernel::Form::avoided, {ScalarType::float64}, {extent}, k.buffer(doubles(n)));
    const Ref none =
        k.array(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(0)}, k.buffer(doubles(0)));
    k.output(kernel::Form::avoided, {ScalarType::float64}, {extent}, n);
    auto& kernel = k.kernel();
    const Ref i = kernel.index[0];
    const Ref v = ir::index(a, i, {}, true);
    const Ref never = less(v, ir::literal(-100.0));
    // A side that would fail is not entered; nor what two sides share, nor a loop without end.
    const Ref bad = ir::index(none, i);
    const Ref p = ir::parameter(ir::Type::element(ScalarType::float64));
    const Ref q = ir::parameter(ir::Type::element(ScalarType::float64));
    const Ref forever =
        ir::while_loop(ir::lambda({p}, {ir::literal(true)}), ir::lambda({q}, {plus(q, ir::literal(1.0))}), v);
    kernel.body = {plus(ir::cond(never, plus(bad, v), v),
                        ir::cond(never, times(plus(bad, forever), bad), ir::literal(1.0)))};
    CHECK(cuda_disagreement(k) == "");
    // A loop whose end depends on a read that fails.
    const Ref stuck =
        ir::while_loop(ir::lambda({p}, {less(p, ir::literal(1.0))}),
                       ir::lambda({q}, {ir::index(none, ir::cast(ScalarType::int64, q))}), ir::literal(0.0));
    kernel.body = {stuck};
    CHECK(cuda_disagreement(k) == "");
    const auto pair = ir::Type::element(ir::Scalars{ScalarType::int64, ScalarType::int64});
    const Ref s = ir::parameter(pair), t = ir::parameter(pair);
    const Ref x = ir::project(t, 0, 1);
    const Ref even =
        ir::primitive(Primitive::equal, {ir::primitive(Primitive::bit_and, {x, ir::int64(1)}), ir::int64(0)});
    const Ref next = ir::cond(even, ir::primitive(Primitive::divide, {x, ir::int64(2)}),
                              plus(times(x, ir::int64(3)), ir::int64(1)));
    const Ref steps =
        ir::while_loop(ir::lambda({s}, {less(ir::int64(1), ir::project(s, 0, 1))}),
                       ir::lambda({t}, {ir::tuple({next, plus(ir::project(t, 1, 1), ir::int64(1))})}),
                       ir::tuple({plus(i, ir::int64(1)), ir::int64(0)}));
    kernel.body = {ir::cast(ScalarType::float64, ir::project(steps, 1, 1))};
    CHECK(cuda_disagreement(k) == "");
    for (const std::int64_t guard : {3, 0}) {
      const Ref d = ir::primitive(Primitive::remainder, {i, ir::int64(5)});
      const Ref asked = ir::primitive(Primitive::less_equal, {ir::int64(guard ? 1 : 0), d});
      kernel.body = {
          ir::cast(ScalarType::float64,
                   ir::cond(asked, ir::primitive(Primitive::divide, {ir::int64(1000), d}), ir::int64(-1)))};
      CHECK(cuda_disagreement(k) == "");
    }
  }
}

// A case for each type: the texts of all would take a compiler too long.
TEMPLATE_LIST_TEST_CASE("cuda: every primitive on every type, bit for bit", "",
                        anabranch::detail::ScalarRows) {
  constexpr ScalarType type = type_of_row<TestType>;
  for (int p = 0; p < ir::primitive_count; ++p) {
    const auto primitive = static_cast<Primitive>(p);
    if (converts(primitive) || !ir::accepts(ir::info(primitive).operands, type)) continue;
    const ScalarType result = ir::info(primitive).boolean_result ? ScalarType::boolean : type;
    INFO(ir::info(primitive).name << " on " << name_of(type));
    auto k = table(primitive, type, result, [&](std::span<const interp::Bits> row) {
      return interp::apply(primitive, type, result, row).has_value();
    });
    CHECK(cuda_disagreement(k) == "");
  }
}

TEST_CASE("cuda: kernels call the recipes, no mathematical library") {
  static const std::regex call(R"(([\w:]*(?:exp|log|sin|cos|tan|pow|erf|cbrt|hypot|rsqrt)\w*)\s*\()");
  for (const ScalarType type : {ScalarType::float16, ScalarType::float32, ScalarType::float64})
    for (int p = 0; p < ir::primitive_count; ++p) {
      const auto primitive = static_cast<Primitive>(p);
      if (!ir::info(primitive).mathematical) continue;
      auto k = table(primitive, type, type, [](auto) { return true; });
      // (The kernel's listing is in comments.)
      const std::string text =
          std::regex_replace(cuda::generate(k.kernel()).source, std::regex("//[^\n]*"), "");
      int calls = 0;
      for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at, ++calls) {
        INFO(ir::info(primitive).name << " on " << name_of(type) << ": " << at->str(1));
        CHECK(at->str(1).starts_with("math::"));
      }
      CHECK(calls > 0);
    }
}

namespace {

/// Routines of CUDA's library whose results IEEE 754 prescribes to the last bit (fmod, too: a remainder is a float), and
/// what the hardware does by itself.
const std::set<std::string> exact_routines{"fabs", "fma",   "sqrt",     "floor",
                                           "ceil", "trunc", "copysign", "fmod"};
const std::set<std::string> intrinsics{"__ballot_sync",   "__clz",
                                       "__clzll",         "__double_as_longlong",
                                       "__ffs",           "__ffsll",
                                       "__float_as_uint", "__ldcv",
                                       "__ldg",           "__longlong_as_double",
                                       "__nanosleep",     "__popc",
                                       "__popcll",        "__shfl_down_sync",
                                       "__shfl_sync",     "__shfl_up_sync",
                                       "__syncthreads",   "__syncthreads_or",
                                       "__threadfence",   "__uint_as_float",
                                       "__umul64hi",      "atomicAdd",
                                       "atomicCAS",       "atomicExch",
                                       "atomicMin",       "__activemask"};

std::string without_remarks(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(//[^\n]*|#[^\n]*|__launch_bounds__\([^)]*\) )"), "");
}

/// Names that are called in a text, but for members of classes and namespaces, and those that it defines: functions, types, and what types are parameters.
struct Names {
  std::set<std::string> called, defined;
  void add(const std::string& text) {
    static const std::regex call(R"((\.|\btemplate |\w::|\b)([A-Za-z_]\w*)(?:<[^;(){}=]*>)?\s*\()");
    static const std::regex declared(R"((?:([A-Za-z_]\w*)[&*]?|\w>[&*]?)\s+([A-Za-z_]\w*)\s*[({;=,>)])");
    const std::set<std::string> no_type{"return", "else", "case"};
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at)
      if (at->str(1).empty()) called.insert(at->str(2));
    for (std::sregex_iterator at(text.begin(), text.end(), declared), end; at != end; ++at)
      if (!no_type.contains(at->str(1))) defined.insert(at->str(2));
  }
};

/// What a kernel's text calls that is neither its own nor the library's, but for the above.
std::set<std::string> foreign_calls(const cuda::Unit& unit) {
  static const std::set<std::string> words{
      "if",  "while", "for",    "return", "switch", "static_cast",       "reinterpret_cast", "static_assert",
      "asm", "bool",  "double", "float",  "sizeof", "__builtin_bit_cast"};
  static const Names of_headers = [] {
    Names names;
    for (const cuda::Header& header : cuda::headers()) names.add(without_remarks(header.text));
    return names;
  }();
  Names names = of_headers;
  names.add(without_remarks(unit.source));
  std::set<std::string> out;
  for (const std::string& name : names.called) {
    const bool of_floats = name.ends_with('f') && exact_routines.contains(name.substr(0, name.size() - 1));
    if (!names.defined.contains(name) && !words.contains(name) && !intrinsics.contains(name) && !of_floats &&
        !exact_routines.contains(name))
      out.insert(name);
  }
  return out;
}

}  // namespace

TEST_CASE("cuda: kernels call no routine of CUDA's library that is not exact") {
  using Set = std::set<std::string>;
  for (const ScalarType type : all_types)
    for (int p = 0; p < ir::primitive_count; ++p) {
      const auto primitive = static_cast<Primitive>(p);
      if (converts(primitive) || !ir::accepts(ir::info(primitive).operands, type)) continue;
      INFO(ir::info(primitive).name << " on " << name_of(type));
      const ScalarType result = ir::info(primitive).boolean_result ? ScalarType::boolean : type;
      auto k = table(primitive, type, result, [](auto) { return true; });
      CHECK(foreign_calls(cuda::generate(k.kernel())) == Set{});
    }
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("random kernel " << seed);
    auto k = random_kernel(seed);
    k.find_checks();
    CHECK(foreign_calls(cuda::generate(k.kernel())) == Set{});
  }
  // The test would see one.
  cuda::Unit unit;
  unit.source =
      "__device__ float f(float x) { return expf(x) + x * __fdividef(x, 2.0f) > sqrtf(x); } // logf(x)";
  CHECK(foreign_calls(unit) == Set{"__fdividef", "expf"});
}

/// Of every `step` types one to convert to.
void check_conversions(ScalarType from, int step) {
  for (const Primitive primitive : {Primitive::cast, Primitive::bitcast})
    for (const ScalarType to : all_types) {
      if (from == to || !ir::accepts(ir::info(primitive).operands, from) || !gives(primitive, from, to))
        continue;
      if ((static_cast<int>(from) + static_cast<int>(to)) % step != 0) continue;
      INFO(ir::info(primitive).name << " from " << name_of(from) << " to " << name_of(to));
      auto k = table(primitive, from, to, [](auto) { return true; });
      CHECK(cuda_disagreement(k) == "");
    }
}

TEMPLATE_LIST_TEST_CASE("cuda: conversions, bit for bit", "", anabranch::detail::ScalarRows) {
  check_conversions(type_of_row<TestType>, 3);
}
TEMPLATE_LIST_TEST_CASE("cuda: every conversion, bit for bit", "[.long]", anabranch::detail::ScalarRows) {
  check_conversions(type_of_row<TestType>, 1);
}

TEST_CASE("cuda: integer division without a result is an error") {
  for (const Primitive primitive : {Primitive::divide, Primitive::remainder})
    for (const ScalarType type : all_types) {
      if (!ir::is_integer(type)) continue;
      int bad = 0;
      auto k = table(primitive, type, type, [&](std::span<const interp::Bits> row) {
        if (interp::apply(primitive, type, type, row)) return true;
        return ++bad == 5;
      });
      CHECK(cuda_disagreement(k) == "");
    }
}

TEST_CASE("cuda: random expressions") {
  for (unsigned seed = 0; seed < 25; ++seed) {
    auto k = random_kernel(seed);
    INFO("seed " << seed);
    REQUIRE(cuda_disagreement(k) == "");
  }
}

TEST_CASE("cuda: random expressions, many", "[.long]") {
  for (unsigned seed = 1000; seed < 1500; ++seed) {
    auto k = random_kernel(seed);
    INFO("seed " << seed);
    REQUIRE(cuda_disagreement(k) == "");
  }
}
