// Which arrays are stored and why: the rules of docs/architecture.md, "Array fusion", one row each.

#include <algorithm>

#include <fmt/format.h>

#include "fuse/support/stored.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;
using M = Acc<Matrix<double>>;
using Texts = std::vector<std::string>;

/// So many additions of an element; one that reads a stored array costs one more for the read.
auto additions(int count) {
  return [count](Exp<double> e) {
    for (int i = 0; i < count; ++i) e = e + static_cast<double>(i + 1);
    return e;
  };
}
const auto cheap = additions(1), dear = additions(10);
const auto to_index = [](Exp<double> e) { return cast<std::int64_t>(e); };

struct Row {
  std::string name;
  TestProgram program;
  Texts expected;
};

template <std::size_t N>
void check(const Row (&table)[N], const fuse::Options& options = {}) {
  for (const Row& row : table) {
    INFO(row.name);
    CHECK(decisions(fused(row.program, options)) == row.expected);
  }
}

/// The elements of f of every item, which has a shape of its own.
template <class F>
TestProgram over_vectors(F f) {
  return [f] { return consume(elements(map_seq(f, vectors()))); };
}
template <class F>
TestProgram over_matrices(F f) {
  return [f] { return consume(elements(map_seq(f, matrices(-1, -1)))); };
}
/// Several results of every item.
template <class F>
TestProgram two_of_vectors(F f) {
  return [f] {
    auto [a, b] = unzip_seq(map_seq(f, vectors()));
    return std::tuple{consume(elements(a)), consume(elements(b))};
  };
}

}  // namespace

TEST_CASE("chains are delayed into what ends them") {
  const Row table[] = {
      {"maps, however dear, into a map that is a result",
       over_vectors([](V a) { return map(cheap, map(dear, map(dear, a))); }),
       {"map: delayed", "map: delayed", "map: a result"}},
      {"maps into a reduction",
       over_vectors([](V a) { return sum(map(dear, map(dear, a))); }),
       {"map: delayed", "map: delayed", "sum: a reduction"}},
      {"a row of a sparse matrix times a vector",
       over_vectors([](V a) { return sum(zip_with(times, a, gather(map(to_index, a), v()))); }),
       {"map: delayed", "gather: delayed", "zip_with: delayed", "sum: a reduction"}},
      {"zip and unzip",
       over_vectors([](V a) { return sum(std::get<0>(unzip(zip(a, map(dear, a))))); }),
       {"map: delayed", "zip: delayed", "sum: a reduction"}},
      {"generate and fill",
       over_vectors([](V a) {
         const auto numbers = generate(size(a), [](Exp<std::int64_t> i) { return cast<double>(i); });
         const auto twos = fill(size(a), 2.0);
         return sum(zip_with(plus, numbers, twos));
       }),
       {"generate: delayed", "fill: delayed", "zip_with: delayed", "sum: a reduction"}},
      {"positions known to be in range and read once",
       over_matrices([](M a) { return sum(transpose(map(dear, a))); }),
       {"map: delayed", "transpose: delayed", "sum: a reduction"}},
      {"outside of streams", {[] { return sum(map(dear, v())); }}, {"map: delayed", "sum: a reduction"}},
      {"a reduction of reductions",
       over_matrices([](M a) { return sum(map(dear, sum(a))); }),
       {"sum: a reduction", "map: delayed", "sum: a reduction"}},
  };
  check(table);
}

TEST_CASE("what is read at computed positions is stored, however cheap") {
  const std::string elsewhere = ", not in one kernel with map: it reads elsewhere than at its own position";
  const Row table[] = {
      {"gather from it",
       over_vectors([](V a) { return gather(map(to_index, a), map(cheap, a)); }),
       {"map: delayed", "map: read at computed positions", "gather: a result" + elsewhere}},
      {"read in a function",
       over_vectors([](V a) {
         const auto b = map(cheap, a);
         return map([=](Exp<double> e) { return b[to_index(e)]; }, a);
       }),
       {"map: read at computed positions", "map: a result" + elsewhere}},
      {"read by row-major position",
       over_vectors([](V a) {
         const auto b = map(cheap, a);
         return map([=](Exp<double> e) { return b.linear(to_index(e)); }, a);
       }),
       {"map: read at computed positions", "map: a result" + elsewhere}},
      {"backpermute at positions of the user's",
       over_vectors([](V a) {
         return backpermute(
             size(a), [=](Exp<std::int64_t> i) { return index_of(size(a) - i); }, map(cheap, a));
       }),
       {"map: read at computed positions",
        "backpermute: a result, not in one kernel with map: it is no map"}},
      {"slice at a position that may be out of range",
       over_matrices([](M a) { return slice(map(cheap, a), 1, all); }),
       {"map: read at computed positions", "slice: a result"}},
      {"a captured one",
       over_vectors([](V a) { return gather(map(to_index, a), map(cheap, v())); }),
       {"map: delayed", "map: read at computed positions", "gather: a result"}},
  };
  // A captured map is computed outside of the stage, so it comes before or after by its own age.
  for (const Row& row : table) {
    INFO(row.name);
    Texts found = decisions(fused(row.program)), expected = row.expected;
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    CHECK(found == expected);
  }
}

/// In the row's order, as a sum need not be: another kernel than that of a sum.
Acc<Scalar<double>> alternating(const V& a) {
  return fold([](Exp<double> x, Exp<double> y) { return y - x; }, 0.0, a);
}

TEST_CASE("what several kernels read is stored, unless it is as cheap as reading it back") {
  // A map of n additions of a stored array costs n + 1.
  const auto shared_by_two = [](int n) {
    return two_of_vectors([n](V a) {
      const auto b = map(additions(n), a);
      return std::tuple{sum(b), alternating(b)};
    });
  };
  const auto decision = [](const TestProgram& program) { return decisions(fused(program)).at(0); };
  CHECK(decision(shared_by_two(1)) == "map: delayed");
  CHECK(decision(shared_by_two(2)) == "map: delayed");
  CHECK(decision(shared_by_two(3)) == "map: read in 2 places");
  CHECK(decision(shared_by_two(100)) == "map: read in 2 places");

  const Row table[] = {
      {"cheap on top of dear: the dear one is stored",
       two_of_vectors([](V a) {
         const auto b = map(dear, a);
         return std::tuple{sum(map(cheap, b)), alternating(map(cheap, b))};
       }),
       {"map: read in 2 places", "map: delayed", "map: delayed",
        "fold: a reduction, not in one kernel with sum: their operators allow of different orders",
        "sum: a reduction"}},
      {"several folds of one kernel, some of what is made of it: computed once, there",
       two_of_vectors([](V a) {
         const auto b = map(dear, a);
         return std::tuple{sum(map(cheap, b)), maximum(b)};
       }),
       {"map: delayed", "map: delayed", "maximum: a reduction, in one kernel with sum", "sum: a reduction"}},
      {"a map, and what is made of it, read by one",
       over_vectors([](V a) {
         const auto b = map(dear, a);
         return zip_with(times, b, map(dear, b));
       }),
       {"map: delayed", "map: delayed", "zip_with: a result"}},
      {"one of two readers takes it from another position",
       over_vectors([](V a) {
         const auto b = map(dear, a);
         return zip_with(times, b, reverse(b));
       }),
       {"map: read in 2 places", "reverse: delayed",
        "zip_with: a result, not in one kernel with map: it is no map"}},
      {"a scan, which is a kernel of its own, and a fold",
       two_of_vectors([](V a) {
         const auto b = map(dear, a);
         return std::tuple{sum(b), maximum(scanl1(plus, b))};
       }),
       {"map: read in 2 places", "sum: a reduction", "scanl1: a scan",
        "maximum: a reduction, in one kernel with sum"}},
      {"a result, and read",
       two_of_vectors([](V a) {
         const auto b = map(dear, a);
         return std::tuple{sum(b), b};
       }),
       {"map: a result", "sum: a reduction"}},
      {"twice by one reader, at the same position",
       over_vectors([](V a) {
         const auto b = map(dear, a);
         return zip_with(times, b, b);
       }),
       {"map: delayed", "zip_with: a result"}},
  };
  for (const Row& row : table) {
    INFO(row.name);
    Texts found = decisions(fused(row.program)), expected = row.expected;
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    CHECK(found == expected);
  }
}

TEST_CASE("an element that is read many times is computed once, unless it is cheap") {
  const Row table[] = {
      {"replicate of a dear one",
       over_vectors([](V a) { return sum(replicate(map(dear, a), 3, all)); }),
       {"map: its elements are read repeatedly", "replicate: delayed", "sum: a reduction"}},
      {"replicate of a cheap one",
       over_vectors([](V a) { return sum(replicate(map(cheap, a), 3, all)); }),
       {"map: delayed", "replicate: delayed", "sum: a reduction"}},
      {"a scalar array read by every element",
       over_vectors([](V a) {
         const auto b = unit(dear(a[0]));
         return map([=](Exp<double> e) { return e + the(b); }, a);
       }),
       {"unit: its elements are read repeatedly", "map: a result"}},
      {"a cheap scalar array",
       over_vectors([](V a) {
         const auto b = unit(cheap(cast<double>(size(a))));
         return map([=](Exp<double> e) { return e + the(b); }, a);
       }),
       {"unit: delayed", "map: a result"}},
      {"a row divided by its own sum",
       over_vectors([](V a) {
         const auto total = sum(a);
         return map([=](Exp<double> e) { return e / the(total); }, a);
       }),
       {"sum: a reduction", "map: a result"}},
  };
  check(table);
}

TEST_CASE("what does not depend on the item is computed once per run, unless it is cheap") {
  const Row table[] = {
      {"a dear captured map",
       over_vectors([](V a) { return zip_with(times, a, map(dear, v())); }),
       {"map: does not depend on the item: computed once per run", "zip_with: a result"}},
      {"a cheap one",
       over_vectors([](V a) { return zip_with(times, a, map(cheap, v())); }),
       {"map: delayed", "zip_with: a result"}},
      {"only the last of a chain is stored",
       over_vectors([](V a) { return zip_with(times, a, map(dear, map(dear, v()))); }),
       {"map: delayed", "map: does not depend on the item: computed once per run", "zip_with: a result"}},
      {"of a dear one only the shape is taken",
       over_vectors(
           [](V a) { return zip_with([](Exp<double> x, Exp<double>) { return x; }, a, map(dear, v())); }),
       {"map: delayed", "zip_with: a result"}},
      {"a captured sum",
       over_vectors([](V a) {
         const auto total = sum(map(dear, v()));
         return map([=](Exp<double> e) { return e / the(total); }, a);
       }),
       {"map: delayed", "sum: a reduction", "map: a result"}},
      {"a body that ignores its item", over_vectors([](V) { return map(dear, v()); }), {"map: a result"}},
  };
  check(table);
}

TEST_CASE(
    "arrays whose values decide a shape are stored; those of which only the shape is asked are not "
    "computed") {
  const Row table[] = {
      {"a length that is computed",
       over_vectors([](V a) {
         const auto length = unit(to_index(a[0]) % 5);
         return fill(the(length), 1.0);
       }),
       {"unit: its values decide a shape", "fill: a result"}},
      {"a length that is a sum",
       over_vectors([](V a) { return fill(to_index(the(sum(a))), 1.0); }),
       {"sum: a reduction", "fill: a result"}},
      {"a length that is a sum of what is computed",
       over_vectors([](V a) { return fill(to_index(the(sum(map(dear, a)))), 1.0); }),
       {"map: delayed", "sum: a reduction", "fill: a result"}},
      {"the count of produce",
       {[] {
         const auto count = unit(to_index(v()[0]));
         return consume(elements(produce(the(count), [](Exp<std::int64_t> i) { return unit(i); })));
       }},
       {"unit: its values decide a shape", "unit: a result"}},
      {"only the shape is asked",
       over_vectors([](V a) { return fill(size(map(dear, a)), 1.0); }),
       {"map: delayed", "fill: a result"}},
      {"the shape of a shape's array",
       over_vectors([](V a) {
         const auto b = map(dear, generate(size(a) + 1, [](Exp<std::int64_t> i) { return cast<double>(i); }));
         return unit(size(b));
       }),
       {"generate: delayed", "map: delayed", "unit: a result"}},
      {"the rows of an array",
       {[] { return consume(elements(rows(map(cheap, m())))); }},
       {"map: read by a stream, row by row"}},
  };
  check(table);
}

TEST_CASE("given arrays are stored, also where only their shape is asked for") {
  const TestProgram program = over_vectors([](V a) { return fill(size(a) + size(v()), 1.0); });
  const ir::Staged staged = fused(program);
  std::map<std::string, std::string> why;
  for (const auto& [node, reason] : staged.manifest) why[node->label()] = reason;
  CHECK(why == std::map<std::string, std::string>{{"parameter", "read from the source"},
                                                  {"use", "given by the host"},
                                                  {"fill", "a result"},
                                                  {"consume", "result of a stream"}});
}

TEST_CASE("reshape reads by row-major position: what can be found there without division stays delayed") {
  const auto rank2 = [](V a) { return reshape(index_of(2, size(a) / 2), a); };
  const Row table[] = {
      {"maps",
       over_matrices([](M a) { return sum(flatten(map(dear, map(dear, a)))); }),
       {"map: delayed", "map: delayed", "flatten: delayed", "sum: a reduction"}},
      {"two arrays of one shape",
       over_matrices([](M a) { return sum(flatten(zip_with(times, a, map(dear, a)))); }),
       {"map: delayed", "zip_with: delayed", "flatten: delayed", "sum: a reduction"}},
      {"an intersection of shapes",
       over_matrices([](M a) { return sum(flatten(zip_with(times, a, m()))); }),
       {"zip_with: reshaped, and not readable by position", "flatten: delayed", "sum: a reduction"}},
      {"transpose",
       over_matrices([](M a) { return sum(flatten(transpose(a))); }),
       {"transpose: reshaped, and not readable by position", "flatten: delayed", "sum: a reduction"}},
      {"a generated matrix",
       over_vectors([](V a) {
         return sum(flatten(generate(index_of(2, size(a)), [=](Exp<Index<2>> ix) { return a[ix[1]]; })));
       }),
       {"generate: reshaped, and not readable by position", "flatten: delayed", "sum: a reduction"}},
      {"a vector",
       over_vectors(
           [=](V a) { return sum(rank2(generate(size(a), [=](Exp<std::int64_t> i) { return a[i]; }))); }),
       {"generate: delayed", "reshape: delayed", "sum: a reduction"}},
      {"a stored matrix, of which elements are read often",
       over_matrices([](M a) {
         const V all = reshape(6, transpose(a));
         return generate(12, [=](Exp<std::int64_t> i) { return all[i / 2]; });
       }),
       {"transpose: reshaped, and not readable by position", "reshape: delayed", "generate: a result"}},
      {"a stored matrix, of which elements are read who knows where",
       over_matrices([](M a) {
         const V all = reshape(6, transpose(a));
         return generate(6, [=](Exp<std::int64_t> i) { return all[i / 2 + i % 7]; });
       }),
       {"transpose: reshaped, and not readable by position", "reshape: read at computed positions",
        "generate: a result, not in one kernel with reshape: it is no map"}},
      {"reshape of reshape",
       over_vectors([=](V a) { return sum(flatten(map(dear, rank2(map(dear, a))))); }),
       {"map: delayed", "reshape: delayed", "map: delayed", "flatten: delayed", "sum: a reduction"}},
  };
  check(table);
}

TEST_CASE("chains are cut where a kernel would exceed the cap") {
  // Each map costs 1 for itself, its additions, and what it reads: n of them 1 + n (1 + 9).
  const auto chain = [](int maps) {
    return over_vectors([maps](V a) {
      for (int i = 0; i < maps; ++i) a = map(additions(9), a);
      return a;
    });
  };
  const auto stored = [](const TestProgram& program, const fuse::Options& options) {
    std::vector<std::size_t> places;
    const Texts texts = decisions(fused(program, options));
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (texts[i] != "map: delayed") places.push_back(i + 1);
    return places;
  };
  fuse::Options cap30;
  cap30.kernel_cap = 30;
  CHECK(stored(chain(3), cap30) == std::vector<std::size_t>{3});  // the result
  CHECK(stored(chain(10), cap30) == std::vector<std::size_t>{3, 6, 9, 10});
  CHECK(decisions(fused(chain(10), cap30)).at(2) == "map: cut: more than 30 operations");
  fuse::Options cap31;
  cap31.kernel_cap = 31;  // what a kernel may have, three maps have
  CHECK(stored(chain(5), cap31) == std::vector<std::size_t>{4, 5});
  // 2,000 unless told otherwise: the 200th map costs 2,001.
  CHECK(stored(chain(200), {}) == std::vector<std::size_t>{200});
  CHECK(stored(chain(401), {}) == std::vector<std::size_t>{200, 400, 401});
  CHECK(decisions(fused(chain(401))).at(199) == "map: cut: more than 2000 operations");
}

TEST_CASE("chains whose steps read the one before twice are cut, too") {
  const auto chain = [](int steps) {
    return over_vectors([steps](V a) {
      for (int i = 0; i < steps; ++i) a = zip_with(minus, a, map(additions(20), a));
      return a;
    });
  };
  fuse::Options few;
  few.kernel_cap = 100;
  const auto cuts = [&](int steps, const fuse::Options& options) {
    const Texts texts = decisions(fused(chain(steps), options));
    return std::count(texts.begin(), texts.end(),
                      fmt::format("zip_with: cut: more than {} operations", options.kernel_cap));
  };
  CHECK(cuts(3, few) == 0);
  CHECK(cuts(40, few) >= 40 / 5);
  CHECK(cuts(40, few) <= 40 / 3);
  CHECK(cuts(60, {}) == 0);
  CHECK(cuts(600, {}) >= 600 * 20 / 2000);
}

TEST_CASE("the threshold of what is cheap is an option") {
  const TestProgram program = two_of_vectors([](V a) {
    const auto b = map(additions(10), a);
    return std::tuple{sum(b), alternating(b)};
  });
  fuse::Options options;
  options.cheap = 10;
  CHECK(decisions(fused(program, options)).at(0) == "map: read in 2 places");
  options.cheap = 11;
  CHECK(decisions(fused(program, options)).at(0) == "map: delayed");
}

TEST_CASE("with fusion off every array is stored; what must be stored anyhow says so") {
  fuse::Options off;
  off.fusion = false;
  const Row table[] = {
      {"a chain",
       over_vectors([](V a) { return sum(map(cheap, map(cheap, a))); }),
       {"map: fusion is off", "map: fusion is off", "sum: a reduction"}},
      {"a captured cheap map",
       over_vectors([](V a) { return zip_with(times, a, map(cheap, v())); }),
       {"map: fusion is off", "zip_with: a result"}},
      {"only the shape is asked",
       over_vectors([](V a) { return fill(size(map(dear, a)), 1.0); }),
       {"map: delayed", "fill: a result"}},
  };
  check(table, off);
}
