// What a plan is made of: the order of steps and stages, descriptors,
// the life of arrays, exact sizes, the bodies of kernels.

#include <set>

#include <fmt/format.h>

#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;
using kernel::Kernel;
using plan::Group;
using plan::PlanArray;

namespace {

using V = Acc<Vector<double>>;
using M = Acc<Matrix<double>>;
const auto twice = [](Exp<double> e) { return e + e; };
const auto dear = [](Exp<double> e) { return exp(exp(e)); };
const auto to_index = [](Exp<double> e) { return cast<std::int64_t>(e); };

template <class F>
TestProgram over(F f, std::function<Seq<Vector<double>>()> items = [] { return vectors(); }) {
  return [=] { return consume(elements(map_seq(f, items()))); };
}
template <class F>
TestProgram over_matrices(F f, std::int64_t rows = -1, std::int64_t columns = -1) {
  return [=] { return consume(elements(map_seq(f, matrices(rows, columns)))); };
}

const Group& chunk_of(const Planned& p) { return p.plan.stages.at(0).group; }

std::string actions_of(const plan::Plan& plan) {
  std::string text;
  for (const plan::Action& a : plan.actions)
    text += (text.empty() ? "" : ", ") +
            std::visit(
                kernel::overloaded{
                    [](const plan::StepAction& action) { return fmt::format("step {}", action.step); },
                    [](const plan::StageAction& action) { return fmt::format("stage {}", action.stage); },
                    [](const plan::LoopAction& loop) { return fmt::format("loop {}", loop.number); },
                    [](const plan::BranchAction& branch) { return fmt::format("branch {}", branch.number); }},
                a);
  return text;
}

}  // namespace

TEST_CASE("steps of a chunk: sizes, then offsets, then elements; what is read before what reads it") {
  struct Row {
    std::string name;
    TestProgram program;
    std::string steps;
  };
  const Row table[] = {
      {"one fused kernel", over([](V a) { return sum(map(twice, map(dear, a))); }), "kernel sum -> 1"},
      {"a reduction and a map of it", over([](V a) {
         const auto total = sum(a);
         return map([=](Exp<double> e) { return e / the(total); }, a);
       }),
       "kernel sum -> 1, kernel map -> 2"},
      {"a map that two folds read is computed in their kernel", over([](V a) {
         const auto b = map(dear, a);
         const auto total = sum(b), most = maximum(b);
         return zip_with(plus, replicate(total, 2), replicate(most, 2));
       }),
       "kernel sum -> 1, 2, kernel zip_with -> 3"},
      {"a length that is a value", over([](V a) { return fill(to_index(a[0]), 1.0); }),
       "kernel extent -> 2, scan d1, kernel fill -> 1"},
      {"a length that an array decides", over([](V a) { return fill(to_index(the(sum(a))), 1.0); }),
       "kernel sum -> 1, kernel extent -> 3, scan d1, kernel fill -> 2"},
      {"two arrays of one computed shape: one size kernel, one scan", over([](V a) {
         const auto length = to_index(a[0]);
         const auto b = generate(length, [](Exp<std::int64_t> i) { return dear(cast<double>(i)); });
         return zip_with([](auto x, auto y) { return x / y; }, b, replicate(sum(b), length));
       }),
       "kernel extent -> 2, scan d1, kernel generate -> 1, kernel sum -> 3, kernel zip_with -> 4"},
      {"the minimum of two lengths", over([](V a) { return zip_with(times, a, v()); }),
       "kernel extent -> 2, scan d1, kernel zip_with -> 1"},
      {"an extent of two that is a value: one size kernel",
       over([](V a) { return fill(index_of(3, to_index(a[0])), 1.0); }),
       "kernel extent -> 2, scan d1, kernel fill -> 1"},
      {"a reshape whose size is known to agree", over_matrices([](M a) { return flatten(a); }),
       "kernel extent -> 2, scan d1, kernel flatten -> 1"},
      {"a reshape whose size must be looked at", over([](V a) { return reshape(Index{2, 3}, a); }),
       "kernel extent -> 1, require, kernel reshape -> 2"},
  };
  for (const Row& row : table) {
    INFO(row.name);
    const Planned p = planned(row.program);
    INFO(text_of(p.plan));
    CHECK(steps_of(chunk_of(p)) == row.steps);
  }
}

TEST_CASE("offsets are the source's where extents are the item's, in any order; else a scan makes them") {
  struct Row {
    std::string name;
    TestProgram program;
    std::vector<int> items;  // of each descriptor; -1: computed
  };
  const Row table[] = {
      {"map", over([](V a) { return map(twice, a); }), {0}},
      {"generate of the item's length",
       over([](V a) { return generate(size(a), [](Exp<std::int64_t> i) { return i; }); }),
       {0}},
      {"transposed", over_matrices([](M a) { return transpose(a); }), {0}},
      {"folded on the outer axis", over_matrices([](M a) { return sum(a, 0); }, -1, 3), {0}},
      {"regular", over([](V a) { return map(twice, a); }, [] { return vectors(3); }), {}},
      {"regular items, computed lengths",
       over([](V a) { return fill(to_index(a[0]), 1.0); }, [] { return vectors(3); }),
       {-1}},
      {"another length", over([](V a) { return fill(size(a) + 1, 1.0); }), {0, -1}},
  };
  for (const Row& row : table) {
    INFO(row.name);
    const Planned p = planned(row.program);
    INFO(text_of(p.plan));
    std::vector<int> items;
    for (const plan::Descriptor& d : chunk_of(p).descriptors) items.push_back(d.item);
    CHECK(items == row.items);
  }
}

TEST_CASE("components that share a descriptor share the source's offsets") {
  const auto offsets = [](int second) {
    const TestProgram program = [=] {
      const auto items = stream_of<std::tuple<Vector<double>, Vector<double>>>(
          {declared<double>({-1}, 0), declared<double>({-1}, second)});
      return consume(elements(map_seq([](V x, V y) { return zip_with(times, x, y); }, items)));
    };
    return steps_of(chunk_of(planned(program)));
  };
  CHECK(offsets(0) == "kernel zip_with -> 2");
  CHECK(offsets(1) == "kernel extent -> 3, scan d2, kernel zip_with -> 2");
}

TEST_CASE("long windows of a signal are read where they lie, unless an item is asked for as a whole") {
  const auto windows_of = [](std::int64_t size, auto f) {
    const Planned p =
        planned([=] { return consume(elements(map_seq(f, windows(vectors(), size, size / 2)))); });
    std::vector<std::string> whys;
    for (const plan::StagePlan& stage : p.plan.stages)
      for (const std::vector<plan::FedArray>& fed : stage.fed)
        for (const plan::FedArray& array : fed) whys.push_back(array.overlap ? "overlap" : "apart");
    for (const plan::StagePlan& stage : p.plan.stages)
      for (const PlanArray& array : stage.group.arrays)
        if (array.origin == PlanArray::Origin::item && !stage.fed.at(0).empty())
          whys.push_back(array.overlap ? array.why : "apart");
    return fmt::format("{}", fmt::join(whys, ", "));
  };
  const auto total = [](V w) { return sum(w); };
  CHECK(windows_of(100, total) == "overlap, read where it lies in the signal");
  CHECK(windows_of(63, total) == "apart, apart");
  CHECK(windows_of(100, [](V w) { return w; }) == "apart, apart");
  // Sorted is a copy.
  CHECK(windows_of(100, [](V w) { return sort(w); }) == "overlap, read where it lies in the signal");
  // Of rows of matrices.
  const Planned p = planned([] {
    return consume(elements(map_seq([](auto w) { return sum(w); }, windows(matrices(-1, 2), {100, 2}, 50))));
  });
  for (const plan::StagePlan& stage : p.plan.stages)
    for (const std::vector<plan::FedArray>& fed : stage.fed)
      for (const plan::FedArray& array : fed) CHECK_FALSE(array.overlap);
}

TEST_CASE(
    "segments: one traversal checks them, numbers of theirs are read where they lie, views begin once a "
    "chunk") {
  const V values = v();  // arrays are numbered in the order in which they were named
  const auto lengths = [] { return captured("lengths", Vector<std::int32_t>{1, 2}); };
  const auto begins = [] { return captured("begins", Vector<std::int32_t>{0, 1, 3}); };
  struct Row {
    std::string name;
    std::function<Segments()> segments;
    std::string once;  // the steps before the stream
  };
  const Row table[] = {
      {"lengths", [=] { return Segments(lengths()); },
       "kernel prescanl -> 2, kernel fold -> 3, 4, 5, require, require"},
      {"offsets", [=] { return segments_of_offsets(begins()); }, "kernel fold -> 2, 3, 4, require, require"},
  };
  for (const Row& row : table) {
    INFO(row.name);
    const Planned p = planned([&] { return fold_seg(plus, 0.0, values, row.segments()); });
    INFO(text_of(p.plan));
    CHECK(steps_of(p.plan.global) == row.once);
    const plan::Group& chunk = chunk_of(p);
    CHECK(steps_of(chunk) == "kernel extent -> 0, kernel extent -> 2, scan d0, kernel fold -> 3");
    REQUIRE(chunk.domains.size() == 2);
    CHECK(chunk.domains[1].first_only);
    int first = 0;
    for (const plan::PlanArray& array : chunk.arrays) first += array.domain == 1;
    CHECK(first == 1);
  }
}

TEST_CASE("the plan does first what others wait for: steps of the run, then the stages that read them") {
  struct Row {
    std::string name;
    TestProgram program;
    std::string actions, steps;
  };
  const Row table[] = {
      {"no stream", {[] { return sum(v()); }}, "step 0", "kernel sum -> 1"},
      {"a sum of narrow integers, widened in its kernel",
       {[] { return sum(use(Vector<std::int8_t>{1, 2})); }},
       "step 0",
       "kernel sum -> 1"},
      {"a stream alone", over([](V a) { return sum(a); }), "stage 0", ""},
      {"a captured map", over([](V a) { return zip_with(times, a, map(dear, v())); }), "step 0, stage 0",
       "kernel map -> 1"},
      {"computing with a stream's result",
       {[] { return sum(consume(elements(map_seq([](V a) { return sum(a); }, vectors())))); }},
       "stage 0, step 0",
       "kernel sum -> 1"},
      {"a stream that reads another one's result",
       {[] {
         const auto sums = consume(elements(map_seq([](V a) { return sum(a); }, vectors())));
         const auto total = sum(sums);
         return consume(elements(
             map_seq([=](V a) { return map([=](Exp<double> e) { return e / the(total); }, a); }, vectors())));
       }},
       "stage 0, step 0, stage 1",
       "kernel sum -> 1"},
      {"the rows of a computed array",
       {[] { return consume(elements(rows(map(twice, m())))); }},
       "step 0, stage 0",
       "kernel map -> 1"},
      {"a body that ignores its item: computed once, copied for each", over([](V) { return sum(v()); }),
       "step 0, stage 0", "kernel sum -> 1"},
  };
  for (const Row& row : table) {
    INFO(row.name);
    const Planned p = planned(row.program);
    INFO(text_of(p.plan));
    CHECK(actions_of(p.plan) == row.actions);
    CHECK(steps_of(p.plan.global) == row.steps);
  }
}

TEST_CASE("an array's memory is given back after the last step that reads it") {
  // b is read by two folds, these by the last map: steps 0 map, 1 sum, 2 fold, 3 zip_with. An ordered fold has
  // a kernel of its own.
  const auto ordered = [](Exp<double> x, Exp<double> y) { return x / 2.0 + y; };
  const Planned p = planned(over([=](V a) {
    const auto b = map(dear, a);
    const auto total = sum(b), most = fold(ordered, 0.0, b);
    return zip_with(plus, replicate(total, 2), replicate(most, 2));
  }));
  const Group& group = chunk_of(p);
  INFO(text_of(p.plan));
  std::vector<int> last;
  for (const PlanArray& a : group.arrays) last.push_back(a.last_step);
  CHECK(last == std::vector<int>{0, 2, 3, 3, 3});  // item, map, sum, fold, the result

  // Sizes live until the results' shapes have been asked for, when all steps are done.
  const Planned sizes = planned(over([](V a) { return fill(to_index(a[0]), 1.0); }));
  last.clear();
  for (const PlanArray& a : chunk_of(sizes).arrays) last.push_back(a.last_step);
  CHECK(last == std::vector<int>{0, 2, 3});  // item, the result, its sizes

  const Planned global = planned({[=] {
    const auto b = map(dear, v());
    const auto total = sum(b), most = fold(ordered, 0.0, b);
    return zip_with(plus, replicate(total, 2), replicate(most, 2));
  }});
  last.clear();
  for (const PlanArray& a : global.plan.global.arrays) last.push_back(a.last_step);
  CHECK(last == std::vector<int>{0, 2, 3, 3, 3});
}

TEST_CASE("sizes are exact numbers of a chunk's real extents") {
  using Pair = std::tuple<std::int32_t, double>;
  const auto bytes = [](const Planned& p, const plan::ChunkShape& shape) {
    std::vector<std::int64_t> sizes;
    for (const PlanArray& a : chunk_of(p).arrays) sizes.push_back(plan::bytes_of(a, shape));
    return sizes;
  };
  using Sizes = std::vector<std::int64_t>;

  // Segmented pairs: 12 bytes an element of the chunk; a sum: 8 an item.
  const Planned pairs = planned({[] {
    const auto items = stream_of<Vector<Pair>>({declared<Pair>({-1}, 0)});
    return consume(elements(map_seq([](Acc<Vector<Pair>> a) { return sum(std::get<1>(unzip(a))); }, items)));
  }});
  CHECK(bytes(pairs, {{3}, {}, {1000}}) == Sizes{12'000, 24});
  CHECK(bytes(pairs, {{3}, {}, {0}}) == Sizes{0, 24});
  CHECK(bytes(pairs, {{0}, {}, {0}}) == Sizes{0, 0});

  // Regular rows of 2 x 3, of which uniforms tell the extents.
  const Planned regular = planned(over_matrices([](M a) { return sum(a); }, 2, 3));
  REQUIRE(chunk_of(regular).uniforms.size() == 2);
  CHECK(bytes(regular, {{10}, {2, 3}, {}}) == Sizes{480, 160});
  CHECK(bytes(regular, {{10}, {0, 3}, {}}) == Sizes{0, 0});

  // Negative extents and overflow are the user's error, with the operation.
  const auto message = [&](const plan::ChunkShape& shape) -> std::string {
    try {
      bytes(regular, shape);
    } catch (const RunError& e) {
      return e.what();
    }
    return "nothing";
  };
  CHECK(message({{10}, {-2, 3}, {}}).find("negative extent -2") != std::string::npos);
  CHECK(message({{10}, {std::int64_t{1} << 40, std::int64_t{1} << 40}, {}}).find("too many elements") !=
        std::string::npos);
  CHECK(message({{1}, {std::int64_t{1} << 31, std::int64_t{1} << 30}, {}}).find("too many elements") !=
        std::string::npos);  // elements fit, bytes do not
}

TEST_CASE(
    "bodies have all delayed arrays in them, each shared term once, and checks only where a read can fail") {
  struct Row {
    std::string name;
    TestProgram program;
    std::size_t kernels;
    int operations;  // of the last one, in additions; a read is 4
    std::size_t reads, checks;
  };
  const Row table[] = {
      {"maps in maps", over([](V a) { return map(twice, map(twice, map(twice, a))); }), 1, 7, 1, 0},
      {"one array in two places of a term", over([](V a) {
         const auto b = map(dear, a);
         return zip_with(times, b, b);
       }),
       1, 37, 1, 0},  // exp twice at 16, one product; one read
      {"gather", over([](V a) { return gather(map(to_index, a), v()); }), 1, 9, 2, 1},
      {"transpose: in range", over_matrices([](M a) { return transpose(map(twice, a)); }), 1, 5, 1, 0},
      {"slice at a number: may be out of range", over_matrices([](M a) { return slice(a, 1, all); }, -1, 3),
       1, 4, 1, 1},
      {"an integer division",
       over([](V a) { return map([](Exp<double> e) { return to_index(e) / to_index(e + 1.0); }, a); }), 1, 15,
       1, 1},
      {"a division of floats", over([](V a) { return map([](Exp<double> e) { return e / (e + 1.0); }, a); }),
       1, 13, 1, 0},
      {"a fold without a seed", over([](V a) { return minimum(a); }), 1, 6, 1, 1},
      {"reading an array by row-major position",
       over([](V a) { return map([=](Exp<double> e) { return m().linear(to_index(e)); }, a); }), 1, 9, 2, 1},
  };
  for (const Row& row : table) {
    INFO(row.name);
    const Planned p = planned(row.program);
    INFO(text_of(p.plan));
    const auto kernels = kernels_of(chunk_of(p));
    REQUIRE(kernels.size() == row.kernels);
    CHECK(kernels.back()->operations == row.operations);
    CHECK(kernels.back()->arrays.size() == row.reads);
    CHECK(kernels.back()->checks.size() == row.checks);
  }
}

TEST_CASE("folds over segmented arrays can be cut by elements: they know where their rows' elements lie") {
  struct Row {
    std::string name;
    TestProgram program;
    bool offsets;
    kernel::KernelExtent::Kind length;
  };
  using Kind = kernel::KernelExtent::Kind;
  const Row table[] = {
      {"segmented items", over([](V a) { return sum(a); }), true, Kind::ragged},
      {"regular items", over([](V a) { return sum(a); }, [] { return vectors(3); }), false, Kind::uniform},
      {"outside of streams",
       {[] { return consume(elements(map_seq([](V) { return sum(v()); }, vectors()))); }},
       false,
       Kind::uniform},
      {"generated, of a length that is a value",
       over([](V a) { return sum(generate(to_index(a[0]), [](Exp<std::int64_t> i) { return i; })); }), true,
       Kind::ragged},
      {"the uniform axis of ragged matrices", over_matrices([](M a) { return sum(a); }, -1, 3), true,
       Kind::uniform},
      {"a constant length", over([](V a) { return sum(replicate(unit(a[0]), 7)); }), false, Kind::constant},
  };
  for (const Row& row : table) {
    INFO(row.name);
    const Planned p = planned(row.program);
    INFO(text_of(p.plan));
    std::vector<const kernel::Row*> rows;
    for (const Group* group : {&p.plan.global, &chunk_of(p)})
      for (const Kernel* kernel : kernels_of(*group))
        if (kernel::row_of(*kernel)) rows.push_back(kernel::row_of(*kernel));
    REQUIRE(rows.size() == 1);
    CHECK((rows[0]->work_offsets >= 0) == row.offsets);
    CHECK(rows[0]->length.kind == row.length);
  }
}

TEST_CASE("a read at the own position needs no check, whatever the user wrote it as; any other does") {
  const auto checks = [](const TestProgram& program) {
    const Planned p = planned(program);
    std::size_t found = 0;
    for (const plan::Step& step : chunk_of(p).steps)
      if (const auto* k = std::get_if<plan::KernelStep>(&step)) found += k->kernel.checks.size();
    return found;
  };
  const auto copied = [](V a) { return generate(size(a), [=](Exp<std::int64_t> i) { return a[i]; }); };
  const auto shifted = [](V a) { return generate(size(a), [=](Exp<std::int64_t> i) { return a[i + 1]; }); };
  const auto of_others = [](V a) {
    const auto all = v();
    return generate(size(a), [=](Exp<std::int64_t> i) { return all[i]; });
  };
  CHECK(checks(over(copied)) == 0);
  CHECK(checks(over([=](V a) { return sum(copied(a)); })) == 0);
  CHECK(checks(over(shifted)) == 1);
  CHECK(checks(over([=](V a) { return sum(shifted(a)); })) == 1);
  CHECK(checks(over(of_others)) == 1);
}

TEST_CASE("a term that doubles with every array stays one term, whatever reads it") {
  // b = b + b, forty times: were each read expanded by itself, that would be 2^40 reads.
  const auto doubled = [](auto a) {
    for (int i = 0; i < 40; ++i) a = zip_with(plus, a, a);
    return a;
  };
  for (const TestProgram& program : {over([=](V a) { return sum(doubled(a)); }),
                                     over_matrices([=](M a) { return sum(flatten(doubled(a))); })}) {
    const Planned p = planned(program);
    const auto kernels = kernels_of(chunk_of(p));
    CHECK(kernels.back()->operations == 45);  // and the sum's own, and one read
    CHECK(kernels.back()->arrays.size() == 1);
  }
}

TEST_CASE("a chunk's kernel sees captured arrays in the form avoided, the run's own kernels have no items") {
  const Planned p = planned(over([](V a) { return zip_with(times, a, map(dear, v())); }));
  REQUIRE(kernels_of(p.plan.global).size() == 1);
  const Kernel& once = *kernels_of(p.plan.global)[0];
  CHECK_FALSE(once.domain.over_items);
  CHECK(once.domain.form == ir::Form::avoided);
  const Kernel& each = *kernels_of(chunk_of(p)).back();
  CHECK(each.domain.over_items);
  std::multiset<ir::Form> forms;
  for (const auto& array : each.arrays) forms.insert(array.form);
  CHECK(forms == std::multiset<ir::Form>{ir::Form::avoided, ir::Form::segmented});
  bool global = false;
  for (const plan::Step& step : chunk_of(p).steps)
    if (const auto* kernel = std::get_if<plan::KernelStep>(&step))
      for (const plan::BufferRef& buffer : kernel->buffers) global = global || buffer.global;
  CHECK(global);
}

TEST_CASE("equal kernels of different programs have equal keys; names and places are not in them") {
  const auto key = [](const TestProgram& program) {
    const Planned p = planned(program);
    return kernel::key_of(*kernels_of(chunk_of(p)).back());
  };
  const std::string first = key(over([](V a) { return sum(map(twice, a)); }));
  const std::string second =
      key(over([](V x) { return fold(plus, 0.0, map([](Exp<double> value) { return value + value; }, x)); }));
  CHECK(first == second);
  CHECK(first != key(over([](V a) { return sum(map(twice, map(twice, a))); })));
  CHECK(first != key(over([](V a) { return sum(map(twice, a)); }, [] { return vectors(3); })));
  CHECK(first != key(over([](V a) { return fold(plus, 1.0, map(twice, a)); })));
  CHECK(first != key(over([](V a) { return fold1(plus, map(twice, a)); })));
  CHECK(first != key(over([](V a) { return product(map(twice, a)); })));
}
