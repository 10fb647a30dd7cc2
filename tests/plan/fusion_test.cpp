// Array fusion over all pairs: which arrays are stored, and how many kernels there are, where one array computation
// reads another. The single rules are in tests/fuse/arrays_test.cpp.

#include "fuse/support/stored.h"
#include "ir/walk.h"
#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;
using M = Acc<Matrix<double>>;
using D = Exp<double>;
using I = Exp<std::int64_t>;
using Texts = std::vector<std::string>;

const auto dear = [](D x) { return exp(exp(x)); };
const auto to_index = [](D x) { return cast<std::int64_t>(x); };

/// How an array is read.
enum class Read {
  once,         ///< each element at most once, at a position that is known to be in range
  by_position,  ///< by row-major position
  again,        ///< an element by several, or in several places
  computed,     ///< where only run time tells
  whole,        ///< by a routine, or before anything can be sized
  shape,        ///< not its elements
};

/// Is an array stored that is read so? All of these are vectors, which are readable by row-major position.
bool is_stored(Read how, bool cheap) {
  switch (how) {
    case Read::once:
    case Read::by_position:
    case Read::shape:
      return false;
    case Read::again:
      return !cheap;
    case Read::computed:
    case Read::whole:
      return true;
  }
  return true;
}

/// An array computation that is delayed where its reader allows it.
struct Producer {
  std::string name;
  std::string label;
  bool cheap;  ///< as cheap to compute as to read back
  Read how;    ///< it reads its argument
  std::function<V(V)> make;
};

const std::vector<Producer>& producers() {
  static const std::vector<Producer> all_of_them{
      {"generate", "generate", false, Read::once,
       [](V a) { return generate(size(a), [=](I i) { return dear(a[i]); }); }},
      {"generate of a shape", "generate", false, Read::shape,
       [](V a) { return generate(size(a), [](I i) { return dear(cast<double>(i)); }); }},
      {"fill", "fill", true, Read::shape, [](V a) { return fill(size(a), 2.0); }},
      {"map", "map", false, Read::once, [](V a) { return map(dear, a); }},
      {"a cheap map", "map", true, Read::once, [](V a) { return map([](D x) { return x + 1.0; }, a); }},
      {"zip_with", "zip_with", false, Read::once,
       [](V a) { return zip_with([](D x, D y) { return dear(x) + y; }, a, a); }},
      {"reverse", "reverse", true, Read::once, [](V a) { return reverse(a); }},
      {"take", "take", true, Read::once, [](V a) { return take(3, a); }},
      {"drop", "drop", true, Read::once, [](V a) { return drop(2, a); }},
      {"section", "section", true, Read::once,
       [](V a) { return section(a, Index{1}, Index{2}, index_of(size(a) / 2)); }},
      {"rotate", "rotate", false, Read::once, [](V a) { return rotate(a, Index{2}); }},
      {"tile", "tile", false, Read::computed, [](V a) { return tile(a, size(a) * 2); }},
      {"backpermute", "backpermute", true, Read::once,
       [](V a) { return backpermute(size(a), [=](I i) { return index_of(size(a) - 1 - i); }, a); }},
      {"gather", "gather", false, Read::computed, [](V a) { return gather(k(), a); }},
      {"reshape", "reshape", true, Read::by_position, [](V a) { return reshape(size(a), a); }},
  };
  return all_of_them;
}

enum class Items { none, regular, segmented };
constexpr std::pair<Items, const char*> forms[] = {
    {Items::none, "alone"}, {Items::regular, "regular items"}, {Items::segmented, "segmented items"}};

/// What reads an array and stores what it makes of it.
struct Consumer {
  std::string name;
  Read how;
  /// The program that reads what the producer makes of `v`, or of each item.
  std::function<Results(Items, const std::function<V(V)>&)> program;
  bool at_each_item = false;  ///< each item reads it, whatever it is made of
};
/// `read` takes the array and another one, which is given.
template <class F>
Consumer consumer(std::string name, Read how, F read, bool at_each_item = false) {
  return {std::move(name), how,
          [read](Items items, const std::function<V(V)>& make) {
            const auto whole = [&](V a) { return read(make(a), a); };
            if (items == Items::none) return results_of(whole(v()));
            return results_of(consume(elements(map_seq(whole, vectors(items == Items::regular ? 5 : -1)))));
          },
          at_each_item};
}

const std::vector<Consumer>& consumers() {
  static const std::vector<Consumer> all_of_them{
      consumer("fold", Read::once, [](V p, V) { return sum(p); }),
      consumer("fold_all", Read::once, [](V p, V) { return fold_all(plus, 0.0, p); }),
      consumer("fold_all of a matrix", Read::by_position,
               [](V p, V) { return fold_all(plus, 0.0, reshape(index_of(1, size(p)), p)); }),
      consumer("scan", Read::once, [](V p, V) { return scanl1(plus, p); }),
      consumer("exclusive scan", Read::once, [](V p, V) { return prescanl(plus, 0.0, p); }),
      consumer("scan_state", Read::once,
               [](V p, V) { return scan_state([](D s, D x) { return s * x; }, 1.0, p); }),
      consumer("twice at one position", Read::once, [](V p, V) { return zip_with(times, p, p); }),
      consumer(
          "beside a given one", Read::once, [](V p, V a) { return zip_with(times, p, a); }, true),
      consumer("its shape", Read::shape, [](V p, V) { return fill(size(p) + 1, 1.0); }),
      consumer("its shape, and once", Read::once,
               [](V p, V) { return map([=](D x) { return x + cast<double>(size(p)); }, p); }),
      consumer("rows of it", Read::again, [](V p, V) { return replicate(p, 3, all); }),
      consumer("sums of columns of it", Read::again, [](V p, V) { return sum(replicate(p, all, 3), 0); }),
      consumer("two places", Read::again,
               [](V p, V) { return zip_with(times, scanl1(plus, p), reverse(p)); }),
      consumer("in a function", Read::computed,
               [](V p, V a) { return map([=](D x) { return p[to_index(x)]; }, a); }),
      consumer("gathered", Read::computed, [](V p, V a) { return gather(map(to_index, a), p); }),
      consumer("slice", Read::computed, [](V p, V) { return slice(p, 1); }),
      consumer("concat", Read::computed, [](V p, V a) { return concat(p, a); }),
      consumer("stencil", Read::computed,
               [](V p, V) { return stencil([](auto at) { return at(-1) + at(1); }, clamp, p); }),
      consumer("its element is a length", Read::whole, [](V p, V) { return fill(to_index(p[0]), 1.0); }),
      consumer("sort", Read::whole, [](V p, V) { return sort(p); }),
      consumer("argsort", Read::whole, [](V p, V) { return argsort(p); }),
      consumer("filter", Read::whole,
               [](V p, V) { return std::get<0>(filter([](D x) { return x > 1.0; }, p)); }),
      consumer("scatter", Read::computed, [](V p, V a) { return scatter(map(to_index, a), a, p); }),
      consumer(
          "scatter over it", Read::once, [](V p, V a) { return scatter(map(to_index, a), p, a); }, true),
      consumer("scatter to where it says", Read::once,
               [](V p, V a) { return scatter(map(to_index, p), a, a); }),
      consumer(
          "permute", Read::computed,
          [](V p, V a) { return permute(plus, a, [](Exp<Index<1>> ix) { return index_of(ix[0] % 2); }, p); }),
      consumer("histogram", Read::once, [](V p, V) { return histogram(5, map(to_index, p)); }),
      consumer("trace", Read::whole, [](V p, V) { return trace("p", p); }),
  };
  return all_of_them;
}

/// What is made of nothing but the shape of regular items is the same for all of them. It is computed once, and stored
/// where each item reads it.
bool is_for_all_items(const Producer& producer, const Consumer& consumer, Items items) {
  return items == Items::regular && producer.how == Read::shape && !producer.cheap && consumer.at_each_item;
}

/// The labels of what is stored, and those of the kernels and routines that compute it.
struct Made {
  Texts stored, steps;
  bool has_inner = false;  ///< a program inside of the items'
  friend bool operator==(const Made&, const Made&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Made& made) {
    return out << fmt::format("stored {}; by {}", fmt::join(made.stored, ", "), fmt::join(made.steps, ", "));
  }
  void add(const std::string& label) {
    for (Texts* texts : {&stored, &steps})
      texts->insert(std::lower_bound(texts->begin(), texts->end(), label), label);
  }
};

Made made_by(const TestProgram& program) {
  const Planned p = planned(program);
  Made made;
  for (const ir::Stage& stage : p.staged.stages) made.has_inner |= !stage.nested.empty();
  for (const std::string& decision : decisions(p.staged))
    if (!decision.ends_with(": delayed")) made.stored.push_back(decision.substr(0, decision.find(':')));
  plan::each_group(p.plan, [&](const plan::Group& group) {
    for (const plan::Step& step : group.steps) {
      const auto* kernel = std::get_if<plan::KernelStep>(&step);
      const auto* routine = std::get_if<plan::RearrangeStep>(&step);
      const std::string name = kernel ? kernel->kernel.name : routine ? routine->node->label() : "";
      // Extents have kernels of their own, which store no array of the program. A result that does not depend on the
      // item is computed once and copied to each.
      if (!name.empty() && name != "extent" && !name.starts_with("copy of"))
        for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 2) {
          // Of a kernel that several share one for each.
          end = name.find(", ", at);
          const std::string one = name.substr(at, end == std::string::npos ? end : end - at);
          made.steps.push_back(one.substr(0, one.find('@')));
        }
    }
  });
  std::sort(made.stored.begin(), made.stored.end());
  std::sort(made.steps.begin(), made.steps.end());
  return made;
}

}  // namespace

TEST_CASE("between a producer and a consumer an array is stored where it is read so, and nowhere else") {
  // What the consumer stores and runs for a given array, and no more but for the array itself.
  for (const auto& [items, form] : forms)
    for (const Consumer& consumer : consumers()) {
      const Made alone =
          made_by([&, items = items] { return consumer.program(items, [](V a) { return a; }); });
      if (alone.has_inner) continue;  // it takes arrays whole, with steps of their own
      for (const Producer& producer : producers()) {
        INFO(producer.name << ", read by " << consumer.name << ", " << form);
        Made expected = alone;
        if (is_stored(consumer.how, producer.cheap) || is_for_all_items(producer, consumer, items))
          expected.add(producer.label);
        CHECK(made_by([&, items = items] { return consumer.program(items, producer.make); }) == expected);
      }
    }
}

TEST_CASE(
    "a producer of a producer is delayed where that one reads it so, and the reduction of both stores "
    "neither") {
  for (const auto& [items, form] : forms)
    for (const Producer& second : producers()) {
      const Consumer sum_of_it = consumer("", second.how, [&](V p, V) { return sum(second.make(p)); });
      const Made alone =
          made_by([&, items = items] { return sum_of_it.program(items, [](V a) { return a; }); });
      CHECK(alone == Made{{"sum"}, {"sum"}});
      for (const Producer& first : producers()) {
        INFO(first.name << ", read by " << second.name << ", " << form);
        Made expected = alone;
        if (is_stored(second.how, first.cheap)) expected.add(first.label);
        CHECK(made_by([&, items = items] { return sum_of_it.program(items, first.make); }) == expected);
      }
    }
}

TEST_CASE("a producer that is a result is stored, whoever reads it as well") {
  for (const auto& [items, form] : forms)
    for (const Producer& producer : producers()) {
      if (items != Items::none && producer.how == Read::shape)
        continue;  // not of each item: see is_for_all_items
      INFO(producer.name << ", " << form);
      const Consumer result = consumer("", Read::whole, [](V p, V) { return p; });
      CHECK(made_by([&, items = items] { return result.program(items, producer.make); }) ==
            Made{{producer.label}, {producer.label}});
      const TestProgram and_read = [&] {
        const V p = producer.make(v());
        return std::tuple(p, sum(p));
      };
      Made expected{{producer.label}, {producer.label}};
      expected.add("sum");
      CHECK(made_by(and_read) == expected);
    }
}

TEST_CASE(
    "matrices: rows and columns of what is computed, and all of it as one row, store nothing but the "
    "result") {
  using Make = std::function<M(M)>;
  const auto along = [](M a) { return zip_with([](D x, D y) { return x * dear(y); }, a, a); };
  const std::vector<std::pair<std::string, Make>> any_order{
      {"map", [](M a) { return map(dear, a); }},
      {"zip_with", along},
      {"transpose", [](M a) { return transpose(map(dear, a)); }},
      {"reverse of rows", [](M a) { return reverse(map(dear, a), 0); }},
      {"take of rows", [=](M a) { return take(2, along(a), 0); }},
      {"transposed twice", [=](M a) { return transpose(map(dear, transpose(along(a)))); }},
  };
  const auto of_matrices = [](auto read, const Make& make, bool items) -> Results {
    const auto whole = [&](M a) { return read(make(a)); };
    if (!items) return results_of(whole(m()));
    return results_of(consume(elements(map_seq(whole, matrices(-1, -1)))));
  };
  const auto check = [&](const std::string& name, const Make& make, auto read, const char* label) {
    for (const bool items : {false, true}) {
      INFO(name << ", " << label << (items ? ", of items" : ""));
      CHECK(made_by([&] { return of_matrices(read, make, items); }) == Made{{label}, {label}});
    }
  };
  for (const auto& [name, make] : any_order) {
    check(name, make, [](M a) { return sum(a); }, "sum");
    check(name, make, [](M a) { return sum(a, 0); }, "sum");
    check(name, make, [](M a) { return scanl1(plus, a); }, "scanl1");
    check(name, make, [](M a) { return map([](D x) { return x + 1.0; }, a); }, "map");
  }
  for (std::size_t row_major = 0; row_major < 2; ++row_major) {
    const auto& [name, make] = any_order[row_major];
    check(name, make, [](M a) { return fold_all(plus, 0.0, a); }, "fold");
    check(name, make, [](M a) { return fold_all(plus, 0.0, map(dear, a)); }, "fold");
  }
}

namespace {

struct Parts {
  std::string name;
  std::function<ir::Ref(V)> program;  ///< of `v`
  Texts stored;                       ///< with their types
  int exponentials;                   ///< in all kernels
};

Texts stored_types(const ir::Staged& staged) {
  Texts texts;
  for (const auto& [node, why] : staged.manifest)
    if (!ir::is_given(*node))
      texts.push_back(fmt::format("{} {}", node->label(), ir::to_string(node->type())));
  std::sort(texts.begin(), texts.end());
  return texts;
}

int exponentials_of(const plan::Plan& plan) {
  int count = 0;
  for (const kernel::Kernel* kernel : kernels_of(plan.global))
    for (const ir::Node* node : ir::topological(kernel->body))
      count += node->op() == ir::Op::primitive && node->payload().primitive == ir::Primitive::exp;
  return count;
}

template <class F>
Parts parts(std::string name, F program, Texts stored, int exponentials) {
  return {std::move(name), [program](V a) { return results_of(program(a))[0]; }, std::move(stored),
          exponentials};
}

}  // namespace

TEST_CASE("components of tuples are stored and computed each by itself") {
  const auto ys3 = [](V xs) {
    return unzip(map([](D x) { return pack(exp(x), exp(x + 1.0), exp(x + 2.0)); }, xs));
  };
  const auto fst4 = [](V xs) {
    return map([](D x) { return pack(exp(x), exp(x + 1.0), exp(x + 2.0), exp(x + 3.0)); }, xs);
  };
  const auto in_common = [](V xs) {
    return unzip(map(
        [](D x) {
          const D t = exp(x);
          return pack(t + 1.0, x * 2.0, t * 3.0);
        },
        xs));
  };
  const auto two_places = [](V a) { return zip_with(times, scanl1(plus, a), reverse(a)); };
  const auto also = [](V a, V b) { return zip_with(times, scanl1(plus, a), reverse(b)); };
  const std::string scan = "scanl1 Vector double", product = "zip_with Vector double";
  const Parts table[] = {
      parts(
          "one component", [=](V a) { return sum(std::get<0>(unzip(fst4(a)))); }, {"sum Scalar double"}, 1),
      parts(
          "one component in two places", [=](V a) { return two_places(std::get<0>(unzip(fst4(a)))); },
          {"map Vector double", scan, product}, 1),
      parts(
          "one component, taken by two functions",
          [=](V a) {
            const auto p = fst4(a);
            return also(map([](auto e) { return get<0>(e) + 1.0; }, p),
                        map([](auto e) { return get<0>(e); }, p));
          },
          {"map Vector double", scan, product}, 1),
      parts(
          "one place for each",
          [=](V a) {
            const auto [x, y, z] = ys3(a);
            return also(zip_with(plus, x, z), y);
          },
          {scan, product}, 3),
      parts(
          "two in two places",
          [=](V a) {
            const auto [x, y, z] = ys3(a);
            return also(zip_with(plus, x, y), zip_with(minus, y, z));
          },
          {"map Vector double", scan, product}, 3),
      parts(
          "all in one place",
          [=](V a) {
            const auto [x, y, z] = ys3(a);
            return sum(zip_with(plus, zip_with(times, x, y), z));
          },
          {"sum Scalar double"}, 3),
      parts(
          "those that have work in common",
          [=](V a) {
            const auto [x, y, z] = in_common(a);
            return also(zip_with(plus, x, y), z);
          },
          {"map Vector (double, double)", scan, product}, 1),
      parts(
          "of those the one that is taken", [=](V a) { return sum(std::get<2>(in_common(a))); },
          {"sum Scalar double"}, 1),
      parts(
          "several of a dear array, taken by one function",
          [](V a) {
            const auto p = map([](D x) { return pack(x + 1.0, x * 2.0, x * 3.0); }, map(dear, a));
            return sum(map([](auto e) { return get<0>(e) * get<1>(e); }, p));
          },
          {"sum Scalar double"}, 2),
      parts(
          "dear ones of a dear array, taken by two functions",
          [=](V a) {
            const auto p = map([](D x) { return pack(exp(x), exp(x + 1.0), x); }, map(dear, a));
            return also(map([](auto e) { return get<0>(e) * get<1>(e); }, p),
                        map([](auto e) { return get<0>(e) + get<1>(e); }, p));
          },
          {"map Vector (double, double)", scan, product}, 4),
      parts(
          "a cheap and a dear one, taken by two functions",
          [=](V a) {
            const auto p = map([](D x) { return pack(x + 1.0, dear(x)); }, a);
            return also(map([](auto e) { return get<0>(e) * get<1>(e); }, p),
                        map([](auto e) { return get<0>(e) + get<1>(e); }, p));
          },
          {"map Vector double", scan, product}, 2),
      parts(
          "two of a dear array that one function takes as two arguments",
          [](V a) {
            const auto p = map([](D x) { return pack(x + 1.0, x * 2.0, x); }, map(dear, a));
            return sum(zip_with([](auto e, auto f) { return get<0>(e) * get<1>(f); }, p, p));
          },
          {"sum Scalar double"}, 2),
      parts(
          "one function takes two of a dear array, another one the third",
          [=](V a) {
            const auto p = map([](D x) { return pack(exp(x), exp(x + 1.0), exp(x + 2.0)); }, map(dear, a));
            return also(map([](auto e) { return get<0>(e) * get<1>(e); }, p), std::get<2>(unzip(p)));
          },
          {"map Vector double", scan, product}, 5),
      parts(
          "zip, then unzip",
          [](V a) {
            const auto [x, y] = unzip(zip(map(dear, a), map(dear, reverse(a))));
            return zip_with(times, scanl1(plus, x), reverse(y));
          },
          {scan, product}, 4),
      parts(
          "generate",
          [=](V a) {
            const auto [x, y] = unzip(generate(
                size(a), [](I i) { return pack(exp(cast<double>(i)), exp(cast<double>(i) + 1.0)); }));
            return also(x, y);
          },
          {scan, product}, 2),
      parts(
          "a tuple in a tuple",
          [=](V a) {
            const auto [x, y] = unzip(map([](D e) { return pack(pack(exp(e), e), exp(e + 1.0)); }, a));
            return also(std::get<1>(unzip(x)), y);
          },
          {scan, product}, 1),
      parts(
          "a component, and the tuples as they are",
          [=](V a) {
            const auto pairs = map([](D x) { return pack(exp(x), exp(x + 1.0)); }, a);
            const auto sums =
                scanl1([](auto x, auto y) { return pack(get<0>(x) + get<0>(y), get<1>(y)); }, pairs);
            return zip_with(times, std::get<0>(unzip(sums)), std::get<1>(unzip(pairs)));
          },
          {"map Vector (double, double)", product}, 2),
      parts(
          "the shape of tuples", [=](V a) { return fill(size(fst4(a)), 1.0); }, {"fill Vector double"}, 0),
      parts(
          "the shape of one of two arrays",
          [](V a) {
            const V b = map(dear, a);
            return zip_with([](D x, D) { return x; }, scanl1(plus, b), b);
          },
          {product}, 2),
  };
  for (const Parts& row : table) {
    INFO(row.name);
    const Planned p = planned([&] { return Results{row.program(v())}; });
    INFO(text_of(p.plan));
    CHECK(stored_types(p.staged) == row.stored);
    CHECK(exponentials_of(p.plan) == row.exponentials);
  }
}

TEST_CASE("tuples stay whole where that is asked for; how much may be computed twice is an option") {
  const TestProgram program = [] {
    const auto [x, y] = unzip(map(
        [](D e) {
          const D t = exp(e);
          return pack(t + 1.0, t * 2.0);
        },
        v()));
    return std::tuple(scanl1(plus, x), reverse(y));
  };
  const auto stored = [&](const fuse::Options& options) {
    return stored_types(planned(program, options).staged);
  };
  const Texts apart{"reverse Vector double", "scanl1 Vector double"};
  const Texts together{"map Vector (double, double)", "reverse Vector double", "scanl1 Vector double"};
  CHECK(stored({}) == together);
  CHECK(stored({.cheap = 1000}) == apart);
  const TestProgram nothing_in_common = [] {
    const auto [x, y] = unzip(map([](D e) { return pack(exp(e), exp(e + 1.0)); }, v()));
    return std::tuple(scanl1(plus, x), reverse(y));
  };
  CHECK(stored_types(planned(nothing_in_common).staged) == apart);
  CHECK(stored_types(planned(nothing_in_common, {.components = false}).staged) == together);
}
