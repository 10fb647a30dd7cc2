// Sequence fusion: which passes a program makes over its sources, what is computed of an item, what takes it.

#include "fuse/support/stored.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;
using S = Acc<Scalar<double>>;
using Texts = std::vector<std::string>;

const auto twice = [](Exp<double> e) { return e + e; };
const auto double_items = [](V a) { return map(twice, a); };
const auto total = [](V a) { return sum(a); };

struct Row {
  std::string name;
  TestProgram program;
  Texts stages;
};

}  // namespace

TEST_CASE("chains of sequence functions become one function of a stage") {
  const Row table[] = {
      {"the source alone", {[] { return consume(elements(vectors())); }}, {"stream_in -> item | elements 0"}},
      {"map_seq of map_seq",
       {[] { return consume(elements(map_seq(total, map_seq(double_items, vectors())))); }},
       {"stream_in -> sum | elements 0"}},
      {"produce",
       {[] { return consume(elements(produce(7, [](Exp<std::int64_t> i) { return fill(i, 1.0); }))); }},
       {"produce -> fill | elements 0"}},
      {"rows", {[] { return consume(tabulate(map_seq(total, rows(m())))); }}, {"rows -> sum | tabulate 0"}},
      {"zip_with_seq of two sources",
       {[] {
         const auto a = vectors(), b = vectors();
         return consume(elements(zip_with_seq([](V x, V y) { return zip_with(plus, x, y); }, a, b)));
       }},
       {"stream_in, stream_in -> zip_with | elements 0"}},
      {"zip_with_seq of one source with itself",
       {[] {
         const auto a = vectors();
         return consume(elements(
             zip_with_seq([](V x, V y) { return zip_with(plus, x, y); }, a, map_seq(double_items, a))));
       }},
       {"stream_in -> zip_with | elements 0"}},
      {"one source streamed in twice",
       {[] {
         const Source<Vector<double>> source(std::make_shared<MemorySource>(
             "source", std::vector{declared<double>({-1}, 0)}, std::vector<Item>{}));
         const auto a = stream_in(source), b = stream_in(source);
         return consume(elements(zip_with_seq([](V x, V y) { return zip_with(plus, x, y); }, a, b)));
       }},
       {"stream_in -> zip_with | elements 0"}},
      {"the beginning of a sequence, in step with all of it",
       {[] {
         const auto a = vectors();
         return consume(elements(zip_with_seq([](V x, V y) { return zip_with(plus, x, y); }, a,
                                              take_seq(3, map_seq(double_items, take_seq(5, a))))));
       }},
       {"stream_in, 2 bounds -> zip_with | elements 0"}},
      {"a source, rows and numbers in step",
       {[] {
         const auto numbers = produce(7, [](Exp<std::int64_t> i) { return unit(cast<double>(i)); });
         const auto a = vectors();
         const auto b = rows(m());
         return consume(elements(zip_with_seq(
             [](V x, V y, S n) {
               return map([=](Exp<double> e) { return e * the(n); }, zip_with(plus, x, y));
             },
             a, b, numbers)));
       }},
       {"produce, stream_in, rows -> map | elements 0"}},
  };
  for (const Row& row : table) {
    INFO(row.name);
    CHECK(stage_texts(row.program.staged()) == row.stages);
  }
}

TEST_CASE("a source that is named twice gives each item once, also where terms are not shared") {
  const TestProgram program = [] {
    const Source<Vector<double>> source(std::make_shared<MemorySource>(
        "source", std::vector{declared<double>({-1}, 0)}, std::vector<Item>{}));
    const auto a = stream_in(source), b = stream_in(source);
    return consume(elements(zip_with_seq([](V x, V y) { return zip_with(plus, x, y); }, a, b)));
  };
  CHECK(stage_texts(program.staged(false)) == Texts{"stream_in -> zip_with | elements 0"});
}

TEST_CASE("terminals over one sequence, or components of one, share a pass; others make their own") {
  const auto both = [](V a) { return std::tuple{sum(a), map(twice, a)}; };
  const Row table[] = {
      {"two terminals of two kinds",
       {[] {
         const auto s = map_seq(double_items, vectors());
         return std::tuple{consume(elements(s)), consume(tabulate(s))};
       }},
       {"stream_in -> map, map | elements 0, tabulate 1"}},
      {"the same terminal asked for twice",
       {[] {
         const auto s = map_seq(double_items, vectors());
         return std::tuple{consume(elements(s)), consume(elements(s))};
       }},
       {"stream_in -> map | elements 0"}},
      {"components of one sequence",
       {[=] {
         auto [a, b] = unzip_seq(map_seq(both, vectors()));
         return std::tuple{consume(elements(a)), consume(elements(b))};
       }},
       {"stream_in -> sum, map | elements 0, elements 1"}},
      {"a component that nobody takes",
       {[=] {
         auto [a, b] = unzip_seq(map_seq(both, vectors()));
         return consume(tabulate(b));
       }},
       {"stream_in -> map | tabulate 0"}},
      {"components that meet again",
       {[=] {
         auto [a, b] = unzip_seq(map_seq(both, vectors()));
         return consume(elements(
             zip_with_seq([](S s, V x) { return map([=](Exp<double> e) { return e / the(s); }, x); }, a, b)));
       }},
       {"stream_in -> map | elements 0"}},
      {"a sequence and its beginning are two passes",
       {[] {
         const auto source = vectors();
         return std::tuple{consume(elements(source)), consume(elements(take_seq(1, source)))};
       }},
       {"stream_in -> item | elements 0", "stream_in, 1 bounds -> item | elements 0"}},
      {"two functions over one source are one pass",
       {[] {
         const auto source = vectors();
         return std::tuple{consume(elements(map_seq(total, source))),
                           consume(elements(map_seq(double_items, source)))};
       }},
       {"stream_in -> sum, map | elements 0, elements 1"}},
      {"what they have in common is computed once",
       {[] {
         const auto twice_as_large = map_seq(double_items, vectors());
         return std::tuple{consume(elements(map_seq(total, twice_as_large))),
                           consume(tabulate(twice_as_large))};
       }},
       {"stream_in -> sum, map | elements 0, tabulate 1"}},
      {"one that needs what the other gives is a pass of its own",
       {[] {
         const auto source = vectors();
         const auto all = sum(consume(elements(map_seq(total, source))));
         return std::tuple{consume(elements(
             map_seq([=](V a) { return map([=](Exp<double> x) { return x / the(all); }, a); }, source)))};
       }},
       {"stream_in -> sum | elements 0", "stream_in -> map | elements 0"}},
      {"numbers alone are not worth one pass",
       {[] {
         const auto numbers = [](int k) {
           return produce(10, [=](Exp<std::int64_t> i) { return unit(i * k); });
         };
         return std::tuple{consume(elements(numbers(2))), consume(elements(numbers(3)))};
       }},
       {"produce -> unit | elements 0", "produce -> unit | elements 0"}},
      {"a stage ends before a sequence with other items, whatever is not read behind is not made",
       {[=] {
         const auto [a, b] =
             unzip_seq(filter_seq([](S, V x) { return size(x) > 3; }, map_seq(both, vectors())));
         return std::tuple{consume(elements(map_seq(double_items, b))), consume(tabulate(b))};
       }},
       {"stream_in -> map, unit | elements 0, elements 1",
        "filter_seq -> map, item | elements 0, tabulate 1"}},
  };
  for (const Row& row : table) {
    INFO(row.name);
    CHECK(stage_texts(row.program.staged()) == row.stages);
  }
}

TEST_CASE("a stage comes after the stages whose results it reads") {
  const auto divide_by = [](const Acc<Vector<double>>& sums) {
    return [=](V a) { return zip_with(divides, a, sums); };
  };
  const Row table[] = {
      {"captured by the function",
       {[=] {
         const auto sums = consume(elements(map_seq(total, vectors())));
         return consume(tabulate(map_seq(divide_by(sums), vectors())));
       }},
       {"stream_in -> sum | elements 0", "stream_in -> zip_with | tabulate 0"}},
      {"the array of rows",
       {[] {
         const auto sheet = consume(tabulate(map_seq(double_items, vectors())));
         return consume(elements(map_seq(total, rows(sheet))));
       }},
       {"stream_in -> map | tabulate 0", "rows -> sum | elements 0"}},
      {"the count of produce",
       {[] {
         const auto all_elements = consume(elements(vectors()));
         return consume(elements(produce(size(all_elements), [](Exp<std::int64_t> i) { return unit(i); })));
       }},
       {"stream_in -> item | elements 0", "produce -> unit | elements 0"}},
  };
  for (const Row& row : table) {
    INFO(row.name);
    CHECK(stage_texts(row.program.staged()) == row.stages);
  }
}

TEST_CASE(
    "a sequence consumed inside another's function is a stage of its own, or belongs to the items, or is "
    "refused") {
  const TestProgram independent = [] {
    const auto body = [](V a) {
      const auto sums = consume(elements(map_seq(total, vectors())));
      return zip_with(times, a, sums);
    };
    return consume(elements(map_seq(body, vectors())));
  };
  CHECK(stage_texts(independent.staged()) ==
        Texts{"stream_in -> sum | elements 0", "stream_in -> zip_with | elements 0"});

  const TestProgram dependent = [] {
    const auto body = [](V a) {
      return consume(elements(map_seq([=](V b) { return zip_with(times, a, b); }, vectors())));
    };
    return consume(elements(map_seq(body, vectors())));
  };
  try {
    dependent.staged();
    FAIL("accepted");
  } catch (const ProgramError& e) {
    const std::string message = e.what();
    CHECK(message.find("consume (") == 0);  // the place of the inner one
    CHECK(message.find("would be read once for each item") != std::string::npos);
    CHECK(message.find("stream_in (", message.find("sequences_test.cpp")) != std::string::npos);
  }
}

TEST_CASE("what depends on the item is found in its stage, in an order in which it can run") {
  const TestProgram program = [] {
    const auto body = [](V a) {
      const auto squares = consume(elements(map_seq([](auto x) { return unit(the(x) * the(x)); }, rows(a))));
      const auto longer = awhile([](V x) { return size(x) < 9; }, [](V x) { return concat(x, x); }, squares);
      return concat(
          squares,
          acond(size(a) > 3, [&] { return longer; }, [&] { return consume(elements(rows(squares))); }));
    };
    return consume(elements(map_seq(body, vectors())));
  };
  const ir::Staged staged = program.staged();
  REQUIRE(staged.stages.size() == 1);
  REQUIRE(staged.controls.empty());
  const auto& nested = staged.stages[0].nested;
  REQUIRE(nested.size() == 2);  // the loop is in the branch
  CHECK(!nested[0].control);
  CHECK(nested[1].control->op() == ir::Op::acond);
}

TEST_CASE("the results of a program are those that were asked for, in their order") {
  const TestProgram program = [] {
    const auto sums = consume(elements(map_seq(total, vectors())));
    return std::tuple{map(twice, sums), sums, sum(v())};
  };
  const ir::Staged staged = program.staged();
  Texts labels;
  for (const ir::Ref& result : staged.results) labels.push_back(result->label());
  CHECK(labels == Texts{"map", "consume", "sum"});
  CHECK(staged.stages.at(0).sinks.at(0).consume == staged.results[1]);
}

TEST_CASE("a sequence that is streamed out is the last stage, with its components as results") {
  const auto sums = consume(elements(map_seq(total, vectors())));
  const auto body = [=](V a) { return std::tuple{zip_with(times, a, sums), sum(a)}; };
  const ir::Ref sequence = front::node_of(map_seq(body, vectors()).handle());
  const ir::Staged staged = fuse::sequences_out(sequence);
  CHECK(stage_texts(staged) ==
        Texts{"stream_in -> sum | elements 0", "stream_in -> zip_with, sum | elements 0, elements 1"});
  CHECK(staged.results.empty());
  for (const auto& terminal : staged.stages.at(1).sinks) CHECK_FALSE(terminal.consume);
  CHECK(staged.stages[0].sinks[0].consume);
}
