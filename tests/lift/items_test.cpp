// Items, by where they come from, and what is known equal: arrays share a descriptor exactly where their
// extents are the same expressions.

#include "lift/support/forms.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;
const auto twice = [](Exp<double> e) { return e + e; };

std::vector<std::string> item_forms(const ir::Staged& staged) {
  std::vector<std::string> texts;
  for (const ir::Ref& item : staged.stages.at(0).items) texts.push_back(form_text(staged, item));
  return texts;
}

std::vector<std::string> result_forms(const ir::Staged& staged) {
  std::vector<std::string> texts;
  for (const ir::Ref& result : staged.stages.at(0).results) texts.push_back(form_text(staged, result));
  return texts;
}

/// Two vectors an item, whose extents are these and whose descriptors are 0 and `second`.
Seq<std::tuple<Vector<double>, Vector<double>>> pairs(std::int64_t a, std::int64_t b, int second) {
  return stream_of<std::tuple<Vector<double>, Vector<double>>>(
      {declared<double>({a}, 0), declared<double>({b}, second)});
}

/// The shape of the product of the two arrays of an item.
std::string product_form(std::int64_t a, std::int64_t b, int second, bool shapes = true) {
  const TestProgram program = [=] {
    return consume(
        elements(map_seq([](V x, V y) { return zip_with(times, x, map(twice, y)); }, pairs(a, b, second))));
  };
  return result_forms(lifted(program, {shapes})).at(0);
}

}  // namespace

TEST_CASE("items of a source have the form it declares, each array its own") {
  const auto fixed = ": an item of the source, all of one shape",
             differs = ": an item of the source, whose shape differs";
  struct Row {
    std::vector<std::int64_t> extents;
    std::string form;
  };
  const Row table[] = {
      {{4}, fmt::format("regular [<4>]{}", fixed)},
      {{-1}, fmt::format("segmented [shape(item)]{}", differs)},
      {{4, 5, 6}, fmt::format("regular [<4>, <5>, <6>]{}", fixed)},
      {{-1, 5, 6}, fmt::format("segmented [shape(item).0, <5>, <6>]{}", differs)},
      {{4, -1, 6}, fmt::format("segmented [<4>, shape(item).1, <6>]{}", differs)},
      {{0, -1}, fmt::format("segmented [<0>, shape(item).1]{}", differs)},
      {{}, fmt::format("regular []{}", fixed)},
  };
  for (const Row& row : table) {
    INFO(row.form);
    const auto forms = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
      const TestProgram program = [&] {
        return consume(
            elements(stream_of<Array<static_cast<int>(N), double>>({declared<double>(row.extents, 0)})));
      };
      return item_forms(lifted(program));
    };
    const std::vector<std::string> expected{row.form};
    switch (row.extents.size()) {
      case 0:
        CHECK(forms(std::integral_constant<std::size_t, 0>{}) == expected);
        break;
      case 1:
        CHECK(forms(std::integral_constant<std::size_t, 1>{}) == expected);
        break;
      case 2:
        CHECK(forms(std::integral_constant<std::size_t, 2>{}) == expected);
        break;
      default:
        CHECK(forms(std::integral_constant<std::size_t, 3>{}) == expected);
    }
  }
}

TEST_CASE("rows and the number of produce are regular; the count itself is outside of the stage") {
  const auto t3 = [] { return captured("t", Array<3, double>(Index{2, 3, 4})); };
  const TestProgram row = [] { return consume(elements(rows(m()))); };
  CHECK(item_forms(lifted(row)) == std::vector<std::string>{"regular [shape(m).1]: a row, all of one shape"});
  const TestProgram matrix = [=] { return consume(elements(rows(t3()))); };
  CHECK(item_forms(lifted(matrix)) ==
        std::vector<std::string>{"regular [shape(t).1, shape(t).2]: a row, all of one shape"});
  const TestProgram scalars = [] { return consume(elements(rows(v()))); };
  CHECK(item_forms(lifted(scalars)) == std::vector<std::string>{"regular []: a row, all of one shape"});

  const TestProgram numbers = [] {
    return consume(elements(produce(size(v()), [](auto i) { return unit(i + 1); })));
  };
  const ir::Staged staged = lifted(numbers);
  CHECK(item_forms(staged) == std::vector<std::string>{"regular []: the item's number, all of one shape"});
  CHECK(result_forms(staged) == std::vector<std::string>{"regular []: one element per item"});
  CHECK(staged.stages[0].sources[0].node->child(0)->op() == ir::Op::shape);  // of v, which is an atom

  // The rows of a computed array: its shape is known without it.
  const TestProgram computed = [] { return consume(elements(rows(map(twice, transpose(m()))))); };
  CHECK(item_forms(lifted(computed)) ==
        std::vector<std::string>{"regular [shape(m).0]: a row, all of one shape"});
}

TEST_CASE("arrays of one descriptor are known equal, others are not") {
  const std::string segmented = ": extent 0 depends on the item",
                    regular = ": its shape is the same for all items";
  CHECK(product_form(-1, -1, 0) == "segmented [shape(item0)]" + segmented);
  CHECK(product_form(-1, -1, 1) == "segmented [minimum(shape(item0), shape(item1))]" + segmented);
  CHECK(product_form(7, 7, 0) == "regular [<7>]" + regular);
  CHECK(product_form(7, 7, 1) == "regular [minimum(<7>, <7>)]" + regular);
  CHECK(product_form(-1, 7, 1) == "segmented [minimum(shape(item0), <7>)]" + segmented);
  // Switched off: as though every array had a descriptor of its own.
  CHECK(product_form(-1, -1, 0, false) == "segmented [minimum(shape(item0), shape(item1))]" + segmented);
  CHECK(product_form(7, 7, 0, false) == "regular [minimum(<7>, <7>)]" + regular);
}

TEST_CASE("descriptor numbers of two sources have nothing to do with each other") {
  const TestProgram program = [] {
    const auto product = [](V x, V y) { return zip_with(times, x, y); };
    const auto first = vectors(), second = vectors();
    return consume(elements(zip_with_seq(product, first, second)));
  };
  CHECK(result_forms(lifted(program)) ==
        std::vector<std::string>{
            "segmented [minimum(shape(item0), shape(item1))]: extent 0 depends on the item"});
}

TEST_CASE("extents go through map, unzip, zip, gather and zip_with as the same expressions") {
  const auto through = [](V a) {
    const auto columns = map([](Exp<double> e) { return cast<std::int32_t>(e); }, a);
    auto [x, y] = unzip(zip(map(twice, a), gather(columns, v())));
    return std::tuple{zip_with(plus, x, y), a, generate(size(y), [](Exp<std::int64_t> i) { return i; })};
  };
  const auto results = [=](auto items) {
    return [=] {
      auto [a, b, c] = unzip_seq(map_seq(through, items));
      return std::tuple{consume(elements(a)), consume(elements(b)), consume(elements(c))};
    };
  };
  for (const TestProgram& program : {TestProgram(results(vectors())), TestProgram(results(vectors(3)))}) {
    const ir::Staged staged = lifted(program);
    const auto& stage = staged.stages[0];
    REQUIRE(stage.results.size() == 3);
    const auto extent = [&](const ir::Ref& array) { return staged.facts_of(array).extents.at(0); };
    for (const ir::Ref& result : stage.results) CHECK(extent(result) == extent(stage.items[0]));
  }
}

TEST_CASE("equal expressions written twice are one extent; others stay apart") {
  struct Row {
    std::string name;
    std::function<std::tuple<Acc<Vector<double>>, Acc<Vector<double>>>(V)> program;
    bool equal;
  };
  const Row table[] = {
      {"the same length asked for twice",
       [](V a) { return std::tuple{fill(size(a) * 2, 1.0), fill(size(a) * 2, a[0])}; }, true},
      {"the length of a map of it",
       [](V a) { return std::tuple{fill(size(a) * 2, 1.0), fill(size(map(twice, a)) * 2, 2.0)}; }, true},
      {"the same element read twice",
       [](V a) {
         return std::tuple{fill(cast<std::int64_t>(a[0]), 1.0), fill(cast<std::int64_t>(a[0]), 2.0)};
       },
       true},
      {"sums are not reordered",
       [](V a) { return std::tuple{fill(size(a) + 1, 1.0), fill(1 + size(a), 2.0)}; }, false},
      {"other elements",
       [](V a) {
         return std::tuple{fill(cast<std::int64_t>(a[0]), 1.0), fill(cast<std::int64_t>(a[1]), 2.0)};
       },
       false},
  };
  for (const Row& row : table) {
    INFO(row.name);
    const TestProgram program = [&] {
      auto [x, y] = unzip_seq(map_seq(row.program, vectors()));
      return std::tuple{consume(elements(x)), consume(elements(y))};
    };
    const ir::Staged staged = lifted(program);
    const auto& results = staged.stages[0].results;
    CHECK((staged.facts_of(results.at(0)).extents == staged.facts_of(results.at(1)).extents) == row.equal);
  }
}

TEST_CASE("arrays outside of streams are avoided, results of streams among them") {
  const TestProgram program = [] {
    const auto sums = consume(elements(map_seq([](V a) { return sum(a); }, vectors())));
    return zip_with(times, sums, v());
  };
  const ir::Staged staged = lifted(program);
  const ir::Facts& facts = staged.facts_of(staged.results.at(0));
  CHECK(facts.form == ir::Form::avoided);
  CHECK(facts.reason == "does not depend on the item");
  CHECK(extents_text(staged, staged.results[0]) == "[minimum(shape(a0), shape(v))]");  // a0: the consume
}

TEST_CASE("what one stage gives is uniform in the next") {
  const TestProgram program = [] {
    const auto sums = consume(elements(map_seq([](V a) { return sum(a); }, vectors())));
    return consume(elements(map_seq([=](V a) { return zip_with(times, a, map(twice, sums)); }, vectors(3))));
  };
  const ir::Staged staged = lifted(program);
  REQUIRE(staged.stages.size() == 2);
  CHECK(form_text(staged, staged.stages[1].results.at(0)) ==
        "regular [minimum(<3>, shape(a0))]: its shape is the same for all items");
}

TEST_CASE("shapes leave the program: what is left asks given arrays only") {
  const TestProgram program = [] {
    const auto body = [](V a) {
      return map([=](Exp<double> e) { return e / cast<double>(size(map(twice, a))); }, a);
    };
    return consume(elements(map_seq(body, vectors())));
  };
  const ir::Staged staged = lifted(program);
  for (const ir::Node* node : ir::topological(staged.stages[0].results))
    if (node->op() == ir::Op::shape) CHECK(ir::is_given(*node->child(0)));
}
