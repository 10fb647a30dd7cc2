// The table of operations. The switches below are exhaustive over each stratum: a new operation does not compile
// here until it has a constructor, views of all its operands, a text and its line in docs/language.md.

#include "ir/op_info.h"

#include <fstream>
#include <iterator>
#include <set>

#include "ir/batch.h"
#include "ir/print.h"
#include "ir/views.h"
#include "support/catch.h"
#include "support/functions.h"
#include "support/memory_sink.h"
#include "support/memory_source.h"

using namespace anabranch;
using namespace anabranch::testing;
using Catch::Matchers::Contains;
using ir::Op;
using ir::Ref;
using ir::Role;
using ir::Type;

namespace {

/// An operation with all operands that it can have.
struct Sample {
  Ref node;
  std::vector<Ref> operands;  ///< through its view
  std::string text;           ///< what is printed of it
  std::string documented;     ///< how docs/language.md names it; empty: no user writes it
};

template <class... R>
std::vector<Ref> joined(const R&... operands) {
  std::vector<Ref> all;
  const auto add = [&](const auto& operand) {
    if constexpr (std::is_same_v<std::decay_t<decltype(operand)>, Ref>)
      all.push_back(operand);
    else
      all.insert(all.end(), operand.begin(), operand.end());
  };
  (add(operands), ...);
  return all;
}

const Ref three = ir::int64(3);
Ref vector() { return ir::use(vector_of<std::int64_t>({1, 2, 3})); }
Ref sequence() { return ir::stream_in(ragged<std::int64_t>("rows", {{1}, {2, 3}})); }
Ref identity() {
  return unary(int64s(1), [](const Ref& x) { return x; });
}
Ref positive() {
  return unary(int64s(1), [](const Ref& x) { return ir::primitive(ir::Primitive::less, {ir::int64(0), x}); });
}
Ref same_array() {
  return on_array({1, int64s(1)}, [](const Ref& a) { return a; });
}

Sample sample(ir::ScalarOp op) {
  Ref n;
  switch (op) {
    case Op::constant:
      return {three, {}, "3", ""};
    case Op::primitive:
      n = ir::primitive(ir::Primitive::maximum, {three, ir::int64(4)});
      return {n, joined(ir::PrimitiveTerm(n).operands()), "maximum(3, 4)", "max"};
    case Op::tuple:
      n = ir::tuple({three, ir::int64(4)});
      return {n, joined(n->children()), "(3, 4)", "pack(a, b, ...)"};
    case Op::project:
      n = ir::component(ir::parameter(Type::element(int64s(2))), 1);
      return {n, joined(ir::Project(n).value()), "x0.1", "get<I>(e)"};
    case Op::cond: {
      n = ir::cond(ir::literal(true), three, ir::int64(4));
      const ir::Cond view(n);
      return {n, joined(view.condition(), view.then(), view.otherwise()), "(if true then 3 else 4)",
              "cond(c, t, e)"};
    }
    case Op::while_loop: {
      n = ir::while_loop(positive(), identity(), three);
      const ir::WhileLoop view(n);
      return {n, joined(view.predicate(), view.body(), view.initial()),
              "while(\\x0 -> (0 < x0), \\x1 -> x1, 3)", "while_loop(p, f, x)"};
    }
    case Op::index:
      n = ir::index(vector(), three);
      return {n, joined(ir::Read(n).array(), ir::Read(n).at()), "a0?[3]", "a[ix]"};
    case Op::linear_index:
      n = ir::linear_index(vector(), three);
      return {n, joined(ir::Read(n).array(), ir::Read(n).at()), "a0?.linear[3]", "a.linear(i)"};
    case Op::shape:
      n = ir::shape(vector());
      return {n, joined(ir::ShapeOf(n).array()), "shape(a0)", "shape(a)"};
  }
  return {};
}

Sample sample(ir::FunctionOp op) {
  switch (op) {
    case Op::parameter:
      return {ir::parameter(Type::element(int64s(1))), {}, "x0", ""};
    case Op::lambda:
      return {identity(), {}, "\\x0 -> x0", ""};
  }
  return {};
}

Sample sample(ir::ArrayOp op) {
  Ref n;
  switch (op) {
    case Op::use:
      return {vector(), {}, "use", "use(array)"};
    case Op::unit:
      n = ir::unit(three);
      return {n, joined(ir::Unit(n).value()), "unit 3", "unit(e)"};
    case Op::generate:
      n = ir::generate(three, identity());
      return {n, joined(ir::Generate(n).shape(), ir::Generate(n).function()), "generate 3 (\\x0 -> x0)",
              "generate(shape, f)"};
    case Op::map:
      n = ir::map(operation(ir::Primitive::add, ScalarType::int64), {vector(), vector()});
      return {n, joined(ir::Map(n).function(), ir::Map(n).arrays()), "map (\\x0 x1 -> (x0 + x1)) a0 a1",
              "map(f, a)"};
    case Op::fold: {
      n = ir::fold(operation(ir::Primitive::add, ScalarType::int64), vector(), three);
      const ir::Fold view(n);
      return {n, joined(view.function(), view.array(), view.seed()), "fold (\\x0 x1 -> (x0 + x1)) a0 3",
              "fold(f, z, a, axis = innermost)"};
    }
    case Op::scan: {
      n = ir::scan(operation(ir::Primitive::add, ScalarType::int64), vector(), three,
                   {ir::Prefixes::exclusive});
      const ir::Scan view(n);
      return {n, joined(view.function(), view.array(), view.seed()),
              "scan exclusive (\\x0 x1 -> (x0 + x1)) a0 3", "prescanl(f, z, a, axis)"};
    }
    case Op::scan_state: {
      n = ir::scan_state(operation(ir::Primitive::add, ScalarType::int64), vector(), three);
      const ir::ScanState view(n);
      return {n, joined(view.function(), view.array(), view.seed()), "scan_state (\\x0 x1 -> (x0 + x1)) a0 3",
              "scan_state(f, s0, a, axis)"};
    }
    case Op::compute:
      n = ir::compute(vector());
      return {n, joined(ir::Unchanged(n).array()), "compute a0", "compute(a)"};
    case Op::trace:
      n = ir::trace("here", vector());
      return {n, joined(ir::Unchanged(n).array()), "trace \"here\" a0", "trace(text, a)"};
    case Op::backpermute: {
      n = ir::backpermute(three, identity(), vector(), {});
      const ir::Backpermute view(n);
      return {n, joined(view.shape(), view.function(), view.array()), "backpermute 3 (\\x0 -> x0) a0",
              "backpermute(shape, f, a)"};
    }
    case Op::reshape:
      n = ir::reshape(three, vector());
      return {n, joined(ir::Reshape(n).shape(), ir::Reshape(n).array()), "reshape 3 a0", "reshape(shape, a)"};
    case Op::consume:
      n = ir::consume(ir::elements(sequence()));
      return {n, joined(ir::Consume(n).sink()), "consume a0", "consume(terminal)"};
    case Op::project_array:
      n = ir::project_array(ir::scan(operation(ir::Primitive::add, ScalarType::int64), vector(), three, {}),
                            1);
      return {n, joined(ir::ProjectArray(n).arrays()), "project_array a1.1", "scanl_(f, z, a, axis)"};
    case Op::awhile: {
      const Ref never = on_array({1, int64s(1)}, [](const Ref&) { return ir::unit(ir::literal(false)); });
      const Ref next = same_array(), state = vector();
      n = ir::awhile(never, next, {state});
      const ir::Awhile view(n);
      return {n, joined(view.predicate(), view.body(), view.state()), "awhile (\\a0 -> a1) (\\a2 -> a2) a3",
              "awhile(p, f, state)"};
    }
    case Op::acond: {
      const Ref then = ir::lambda({}, {vector()}), otherwise = ir::lambda({}, {vector()});
      n = ir::acond(ir::literal(true), then, otherwise);
      const ir::Acond view(n);
      return {n, joined(view.condition(), view.then(), view.otherwise()), "acond true (\\ -> a0) (\\ -> a1)",
              "acond(c, t, e)"};
    }
    case Op::part: {
      n = ir::part(three, vector(), three);
      const ir::PartOf view(n);
      return {n, joined(view.shape(), view.array(), view.begin()), "part 3 a0 3",
              "from_segments(segments, v)"};
    }
    case Op::sort:
      n = ir::sort(vector());
      return {n, joined(n->children()), "sort a0", "sort(a, axis)"};
    case Op::select:
      n = ir::use(Vector<bool>{true, false, true}.erased());
      n = ir::select(ir::int64(2), n, vector());
      return {n, joined(n->children()), "select 2 a0 a1", "compact(mask, a)"};
    case Op::group:
      n = ir::group(three, vector(), true);
      return {n, joined(n->children()), "group 3 a0", "histogram(bins, ix)"};
    case Op::last_at:
      n = ir::last_at(three, vector(), false);
      return {n, joined(n->children()), "last_at 3 a0", "scatter(ix, defaults, v)"};
    case Op::accumulate:
      n = ir::use(Vector<std::int64_t>{0, 2, 0}.erased());
      n = ir::accumulate(ir::Primitive::add, three, n, vector(), false);
      return {n, joined(n->children()), "accumulate by add 3 a0 a1", "permute(f, defaults, to, a)"};
    case Op::repeat:
      n = ir::repeat(three, vector());
      return {n, joined(n->children()), "repeat 3 a0", "expand(count, f, a)"};
  }
  return {};
}

Sample sample(ir::SourceOp op) {
  Ref n;
  switch (op) {
    case Op::stream_in:
      return {sequence(), {}, "stream_in", "stream_in(source)"};
    case Op::produce: {
      const Ref function = on_array({0, int64s(1)}, [](const Ref& a) { return a; });
      n = ir::produce(three, function);
      return {n, joined(ir::Produce(n).count(), ir::Produce(n).function()), "produce 3 (\\a0 -> a0)",
              "produce(n, f)"};
    }
    case Op::rows:
      n = ir::rows(vector());
      return {n, joined(ir::Rows(n).array()), "rows a0", "rows(a)"};
  }
  return {};
}

/// Items that say of themselves whether they are kept.
Ref with_flag() {
  const Ref a = ir::parameter(Type::array(1, int64s(1)));
  const Ref holds = ir::unit(ir::primitive(ir::Primitive::less, {ir::extent(a, 0), ir::int64(3)}));
  return ir::map_seq(ir::lambda({a}, {a, holds}), {sequence()});
}

Sample sample(ir::SequenceOp op) {
  Ref n;
  switch (op) {
    case Op::map_seq:
      n = ir::map_seq(same_array(), {sequence()});
      return {n, joined(ir::MapSeq(n).function(), ir::MapSeq(n).sequences()), "map_seq (\\a0 -> a0) s0",
              "map_seq(f, s)"};
    case Op::project_seq: {
      const Ref a = ir::parameter(Type::array(1, int64s(1)));
      n = ir::project_seq(ir::map_seq(ir::lambda({a}, {a, a}), {sequence()}), 0, 1);
      return {n, joined(ir::ProjectSeq(n).sequence()), "project_seq s1", "unzip_seq(s)"};
    }
    case Op::take_seq:
      n = ir::take_seq(three, sequence());
      return {n, joined(ir::TakeSeq(n).count(), ir::TakeSeq(n).sequence()), "take_seq 3 s0",
              "take_seq(n, s)"};
    case Op::filter_seq:
      n = ir::filter_seq(with_flag());
      return {n, joined(ir::FilterSeq(n).sequence()), "filter_seq s1", "filter_seq(p, s)"};
    case Op::take_while_seq:
      n = ir::take_while_seq(with_flag());
      return {n, joined(ir::TakeWhileSeq(n).sequence()), "take_while_seq s1", "take_while_seq(p, s)"};
    case Op::drop_seq:
      n = ir::drop_seq(three, sequence());
      return {n, joined(ir::DropSeq(n).count(), ir::DropSeq(n).sequence()), "drop_seq 3 s0",
              "drop_seq(n, s)"};
    case Op::append_seq:
      n = ir::append_seq({sequence(), sequence()});
      return {n, joined(ir::AppendSeq(n).sequences()), "append_seq s0 s1", "append_seq(s, t[, u])"};
    case Op::flatten_seq: {
      const Ref a = ir::parameter(Type::array(1, int64s(1)));
      n = ir::flatten_seq(ir::map_seq(ir::lambda({a}, {a, a}), {sequence()}), {{1, int64s(1)}});
      return {n, joined(ir::FlattenSeq(n).sequence()), "flat_map_seq s1", "flat_map_seq(f, s)"};
    }
    case Op::windows_seq:
      n = ir::windows_seq(sequence(), three, {three});
      return {n, joined(ir::WindowsSeq(n).sequence(), ir::WindowsSeq(n).hop(), ir::WindowsSeq(n).shape()),
              "windows s0 3 3", "windows(s, size, hop)"};
    case Op::map_accum_seq: {
      const Ref state = ir::parameter(Type::array(1, int64s(1))),
                a = ir::parameter(Type::array(1, int64s(1)));
      n = ir::map_accum_seq(sequence(), ir::lambda({state, a}, {a, state}), {vector()});
      return {
          n, joined(ir::MapAccumSeq(n).sequence(), ir::MapAccumSeq(n).function(), ir::MapAccumSeq(n).state()),
          "map_accum_seq s0 (\\a0 a1 -> a1, a0) a2", "map_accum_seq(f, z, s)"};
    }
  }
  return {};
}

Ref two_arrays() {
  const Ref a = ir::parameter(Type::array(1, int64s(1))), b = ir::parameter(Type::array(1, int64s(1)));
  return ir::lambda({a, b}, {b});
}

Sample sample(ir::SinkOp op) {
  Ref n;
  switch (op) {
    case Op::elements:
      n = ir::elements(sequence());
      return {n, joined(ir::SinkTerm(n).sequence()), "elements s0", "elements(s)"};
    case Op::tabulate:
      n = ir::tabulate(sequence());
      return {n, joined(ir::SinkTerm(n).sequence()), "tabulate s0", "tabulate(s)"};
    case Op::fold_seq:
      n = ir::fold_seq(sequence(), two_arrays(), vector());
      return {n, joined(ir::FoldSeq(n).sequence(), ir::FoldSeq(n).function(), ir::FoldSeq(n).seed()),
              "fold_seq s0 (\\a1 a2 -> a2) a0", "fold_seq(f, z, s)"};
    case Op::fold_batch: {
      const ir::Batch batch({1, int64s(1)});
      n = ir::fold_batch(sequence(), ir::lambda(batch.parameters(), {batch.parameters()[1]}), two_arrays(),
                         vector());
      return {n,
              joined(ir::FoldBatch(n).sequence(), ir::FoldBatch(n).batch(), ir::FoldBatch(n).combine(),
                     ir::FoldBatch(n).seed()),
              "fold_batch s0 (\\a0 a1 a2 a3 -> a1) (\\a5 a6 -> a6) a4", "fold_batch(g, combine, z, s)"};
    }
    case Op::write:
      n = ir::write(sequence(),
                    std::make_shared<MemorySink>("sink", std::vector{SinkArray{{ScalarType::int64}, 1}}));
      return {n, joined(ir::SinkTerm(n).sequence()), "write s0", "write(s, sink)"};
  }
  return {};
}

template <class F>
void for_all_operations(F&& f) {
  const auto stratum = [&]<ir::StratumOp E>(E) {
    for (std::size_t n = 0; n < ir::op_table<E>.size(); ++n) {
      const Op op = static_cast<E>(n);
      INFO(ir::name_of(op));
      f(op, sample(static_cast<E>(n)));
    }
  };
  stratum(ir::ScalarOp{});
  stratum(ir::FunctionOp{});
  stratum(ir::ArrayOp{});
  stratum(ir::SourceOp{});
  stratum(ir::SequenceOp{});
  stratum(ir::SinkOp{});
}

bool is(const Type& type, Role role) {
  switch (role) {
    case Role::element:
    case Role::shape:
      return type.is_element();
    case Role::function:
      return type.kind == Type::Kind::function;
    case Role::array:
    case Role::sink:
      return type.is_array();
    case Role::arrays:
      return type.is_several();
    case Role::sequence:
      return type.is_sequence();
  }
  return false;
}

std::string printed(const Ref& node) {
  ir::Printer printer;
  std::string lets;
  if (node->op() == Op::lambda) return printer.lambda(*node, "");
  if (node->type().is_element()) return printer.scalar(node, lets, "");
  return printer.program({&node, 1});
}

}  // namespace

TEST_CASE("every operation has a constructor and views that agree with its row") {
  std::set<std::string> names;
  std::size_t operations = 0;
  for_all_operations([&](Op op, const Sample& s) {
    ++operations;
    CHECK(names.insert(ir::name_of(op)).second);
    REQUIRE(s.node);
    CHECK(s.node->op() == op);
    std::vector<Ref> operands;
    ir::each_operand(*s.node, [&](const ir::Operand& how, const Ref& operand) {
      INFO(how.name);
      CHECK(is(operand->type(), how.role));
      CHECK((how.role == Role::sink) == operand->op().is_a<ir::SinkOp>());
      operands.push_back(operand);
    });
    CHECK(operands == s.operands);
    if (op != Op::lambda) CHECK(operands == joined(s.node->children()));
  });
  CHECK(operations == ir::op_count);
}

TEST_CASE("rows of arrays say when they are stored, and why") {
  for_all_operations([&](Op op, const Sample& s) {
    const ir::OpInfo& row = ir::info(op);
    const bool is_array = op.is_a<ir::ArrayOp>() || op == Op::parameter;
    const bool of_several = op == Op::project_array;  // stored as the operation is that gives them
    CHECK((row.storage != ir::Storage::no_array) == (is_array && !of_several));
    CHECK((row.extents != ir::ExtentRule::no_array) == is_array);
    CHECK((row.extents == ir::ExtentRule::of_result) == of_several);
    CHECK((row.other_extents != ir::ExtentRule::no_array) == s.node->type().is_several());
    if (op.is_a<ir::ArrayOp>() && !of_several)
      CHECK((row.storage == ir::Storage::delayed) == std::string(row.why).empty());
    std::size_t shapes = 0, arrays = 0;
    ir::each_operand(*s.node, [&](const ir::Operand& how, const Ref&) {
      shapes += how.role == Role::shape;
      arrays += how.role == Role::array;
    });
    CHECK((row.extents == ir::ExtentRule::as_given) == (shapes == 1));
    if (row.extents == ir::ExtentRule::intersection || row.extents == ir::ExtentRule::without_innermost)
      CHECK(arrays > 0);
  });
}

TEST_CASE("every operation is printed") {
  for_all_operations([&](Op, const Sample& s) { CHECK_THAT(printed(s.node), Contains(s.text)); });
}

TEST_CASE("every operation that a user writes is in the description of the language") {
  std::ifstream file(ANABRANCH_LANGUAGE_MD);
  const std::string language{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(!language.empty());
  for_all_operations([&](Op, const Sample& s) {
    if (!s.documented.empty()) CHECK_THAT(language, Contains("`" + s.documented + "`"));
  });
}

TEST_CASE("another operation's operands cannot be asked for") {
  CHECK_THROWS_AS(ir::Fold(vector()), InternalError);
  CHECK_THROWS_WITH(ir::Read(three), Contains("index or linear_index") && Contains("constant"));
  CHECK_THROWS_WITH(Op(Op::fold).as<ir::ScalarOp>(), Contains("scalar expression") && Contains("fold"));
  CHECK(Op(Op::fold).as<ir::ArrayOp>() == ir::ArrayOp::fold);
}
