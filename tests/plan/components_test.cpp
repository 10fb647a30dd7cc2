// Whatever makes an array of tuples: what of it is stored, and by how many kernels, where one part is taken, or both are
// results.

#include <map>

#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using D = Exp<double>;
using I = Exp<std::int64_t>;
using Pair = std::tuple<double, double>;
using Pairs = Acc<Vector<Pair>>;
using V = Acc<Vector<double>>;

/// Both parts are dear, and share what is dear.
Pairs mapped(V a) {
  return map(
      [](D x) {
        const D t = exp(x);
        return pack(t + 1.0, exp(t));
      },
      a);
}
Pairs given() {
  static const auto array = captured("pairs", Vector<Pair>(3));
  return array;
}
Acc<Vector<std::int64_t>> lengths() {
  static const auto array = captured("lengths", Vector<std::int64_t>{1, 2});
  return array;
}
const auto joined = [](auto x, auto y) { return pack(get<0>(x) + get<0>(y), get<1>(x) * get<1>(y)); };
const auto first_exceeds_1 = [](auto e) { return get<0>(e) > 1.0; };
const auto each_next = [](auto e) { return pack(get<0>(e) + 1.0, exp(get<1>(e))); };

/// What is stored: "label bytes" of an element of each array, and how many kernels there are.
struct Made {
  std::string stored;
  int kernels = 0;
  friend bool operator==(const Made&, const Made&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Made& made) {
    return out << fmt::format("{{\"{}\", {}}}", made.stored, made.kernels);
  }
};

/// Of the program's arrays, not of sizes of items; what a stream gives is listed with the stream.
bool is_stored(const plan::PlanArray& array) {
  using Origin = plan::PlanArray::Origin;
  const bool is_made = array.origin == Origin::computed || array.origin == Origin::stream ||
                       array.origin == Origin::control || array.origin == Origin::nested;
  return is_made && array.result < 0 && std::string_view(array.node->label()) != "extent";
}

Made made_by(const Planned& p) {
  std::vector<std::string> stored;
  int kernels = 0;
  plan::each_group(p.plan, [&](const plan::Group& group) {
    for (const plan::PlanArray& array : group.arrays) {
      if (!is_stored(array)) continue;
      std::size_t bytes = 0;
      for (const ScalarType type : array.type.scalars) bytes += size_of(type);
      stored.push_back(fmt::format("{} {}", ir::maker_of(*array.node).label(), bytes));
    }
    for (const plan::Step& step : group.steps)
      if (const auto* kernel = std::get_if<plan::KernelStep>(&step))
        kernels += kernel->kernel.name.rfind("extent", 0) != 0;
  });
  return {fmt::format("{}", fmt::join(stored, ", ")), kernels};
}

struct Producer {
  std::string name;
  std::function<Pairs()> make;
  Made one;   ///< part 0 is the result
  Made both;  ///< both are
};

const std::vector<Producer>& producers() {
  static const std::vector<Producer> all_of_them{
      {"use", [] { return given(); }, {"", 0}, {"", 0}},
      {"map", [] { return mapped(v()); }, {"map 8", 1}, {"unzip 8, unzip 8", 1}},
      {"zip_with",
       [] { return zip_with([](D x, D y) { return pack(exp(x) + y, exp(x) * y); }, v(), reverse(v())); },
       {"zip_with 8", 1},
       {"unzip 8, unzip 8", 1}},
      {"zip",
       [] { return zip(map([](D x) { return exp(x); }, v()), v()); },
       {"zip 8", 1},
       {"zip 8, zip 8", 1}},
      {"cond",
       [] { return map([](D x) { return cond(x > 0.0, pack(exp(x), x), pack(x, exp(x + 1.0))); }, v()); },
       {"map 8", 1},
       {"unzip 8, unzip 8", 1}},
      {"generate",
       [] {
         return generate(size(v()),
                         [](I i) { return pack(exp(cast<double>(i)), exp(cast<double>(i)) + 1.0); });
       },
       {"generate 8", 1},
       {"unzip 8, unzip 8", 1}},
      {"generate that reads",
       [] {
         const Pairs p = mapped(v());
         return generate(size(p), [=](I i) { return p[index_of((i * 7) % size(p))]; });
       },
       {"map 8, generate 8", 2},
       {"map 16, unzip 8, unzip 8", 2}},
      {"gather",
       [] { return gather(k(), mapped(v())); },
       {"map 8, gather 8", 2},
       {"map 16, unzip 8, unzip 8", 2}},
      {"gather of a given one",
       [] { return gather(k(), given()); },
       {"gather 8", 1},
       {"unzip 8, unzip 8", 1}},
      {"gather_if",
       [] {
         return gather_if(k(), map([](auto i) { return i > 0; }, k()), pack(D(0.0), D(1.0)), mapped(v()));
       },
       {"map 8, gather_if 8", 2},
       {"map 16, unzip 8, unzip 8", 2}},
      {"gather of a gather",
       [] { return gather(k(), gather(k(), given())); },
       {"gather 8, gather 8", 2},
       {"gather 16, unzip 8, unzip 8", 2}},
      {"reverse", [] { return reverse(mapped(v())); }, {"reverse 8", 1}, {"unzip 8, unzip 8", 1}},
      {"backpermute",
       [] { return backpermute(size(v()), [](I i) { return index_of((i * 7) % size(v())); }, mapped(v())); },
       {"map 8, backpermute 8", 2},
       {"map 16, unzip 8, unzip 8", 2}},
      {"rows of it",
       [] { return flatten(replicate(mapped(v()), 3, all)); },
       {"map 8, replicate 8, flatten 8", 3},
       {"map 16, replicate 16, unzip 8, unzip 8", 4}},
      {"slice",
       [] { return slice(reshape(index_of(1, 3), mapped(v())), 0, all); },
       {"slice 8", 1},
       {"unzip 8, unzip 8", 1}},
      {"reshape", [] { return reshape(size(v()), mapped(v())); }, {"reshape 8", 1}, {"unzip 8, unzip 8", 1}},
      {"concat",
       [] { return concat(mapped(v()), given()); },
       {"map 8, concat 8", 2},
       {"map 16, unzip 8, unzip 8", 2}},
      {"shift",
       [] { return shift(mapped(v()), 1, constant(Pair{0.0, 0.0})); },
       {"map 8, shift 8", 2},
       {"map 16, unzip 8, unzip 8", 2}},
      {"stencil",
       [] {
         return stencil([](auto at) { return pack(get<0>(at(-1)) + get<0>(at(1)), get<1>(at(0))); }, clamp,
                        mapped(v()));
       },
       {"map 8, stencil 8", 2},
       {"map 16, stencil 8, stencil 8", 3}},
      {"compute", [] { return compute(mapped(v())); }, {"compute 8", 1}, {"compute 16", 1}},
      {"scan", [] { return scanl1(joined, mapped(v())); }, {"unzip 8", 1}, {"unzip 8, unzip 8", 1}},
      {"scan_state",
       [] {
         return scan_state([](auto s, D x) { return pack(get<0>(s) + x, get<1>(s) * x); }, Pair{0.0, 1.0},
                           v());
       },
       {"unzip 8", 1},
       {"unzip 8, unzip 8", 1}},
      {"fold",
       [] { return fold(joined, Pair{0.0, 1.0}, reshape(index_of(3, 1), mapped(v()))); },
       {"fold 16", 1},
       {"fold 16", 1}},
      {"sort", [] { return sort(mapped(v())); }, {"map 16, sort 16", 1}, {"map 16, sort 16", 1}},
      {"sort_by",
       [] { return sort_by([](auto e) { return get<0>(e); }, mapped(v())); },
       {"map 8, sort_by 8, generate 8", 2},
       {"map 16, sort_by 8, unzip 8, unzip 8", 2}},
      {"filter",
       [] { return std::get<0>(filter(first_exceeds_1, mapped(v()))); },
       {"map 8, filter 1, sum 8, filter 8", 3},
       {"map 16, filter 1, sum 8, filter 16", 3}},
      {"filter of a given one",
       [] { return std::get<0>(filter(first_exceeds_1, given())); },
       {"filter 1, sum 8, filter 8", 2},
       {"filter 1, sum 8, filter 16", 2}},
      {"scatter",
       [] { return scatter(k(), given(), mapped(v())); },
       {"map 8, map 8, scatter 8, generate 8", 3},
       {"map 16, map 8, scatter 8, unzip 8, unzip 8", 3}},
      {"loop",
       [] {
         return awhile([](Pairs s) { return the(count(first_exceeds_1, s)) > 0; },
                       [](Pairs s) { return map(each_next, s); }, mapped(v()));
       },
       {"map 16, awhile 16, count 8, unit 1, map 16", 3},
       {"map 16, awhile 16, count 8, unit 1, map 16", 3}},
      {"branch",
       [] { return acond(size(v()) > 2, [] { return mapped(v()); }, [] { return given(); }); },
       {"acond 8, map 8", 1},
       {"acond 16, map 16", 1}},
      {"stream",
       [] { return consume(elements(map_seq(mapped, vectors()))); },
       {"consume 8", 1},
       {"consume 16", 1}},
      {"stream of scans",
       [] { return consume(elements(map_seq([](V s) { return scanl1(joined, mapped(s)); }, vectors()))); },
       {"consume 16", 1},
       {"consume 16", 1}},
      {"items",
       [] { return consume(elements(stream_of<Vector<Pair>>({declared<Pair>({-1}, 0)}))); },
       {"consume 16", 1},
       {"consume 16", 1}},
      {"segments",
       [] { return fold_seg(joined, Pair{0.0, 1.0}, mapped(v()), lengths()); },
       {"prescanl 8, fold 8, sum 8, sum 8, consume 16", 3},
       {"prescanl 8, fold 8, sum 8, sum 8, consume 16", 3}},
      {"map of segments",
       [] {
         return consume(elements(
             map_seq([](Pairs s) { return map(each_next, s); }, from_segments(lengths(), mapped(v())))));
       },
       {"prescanl 8, sum 8, fold 8, sum 8, consume 8", 3},
       {"prescanl 8, sum 8, fold 8, sum 8, consume 16", 3}},
  };
  return all_of_them;
}

}  // namespace

TEST_CASE("what nobody takes of tuples is not stored, and parts that are results are not copied") {
  for (const Producer& producer : producers()) {
    INFO(producer.name);
    const Planned one = planned([&] { return std::get<0>(unzip(producer.make())); });
    {
      INFO("one part\n" << text_of(one.plan));
      CHECK(made_by(one) == producer.one);
    }
    const Planned both = planned([&] { return unzip(producer.make()); });
    INFO("both parts\n" << text_of(both.plan));
    CHECK(made_by(both) == producer.both);
  }
}
