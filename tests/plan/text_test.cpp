// Programs and their whole plans: arrays with their sizes, descriptors, kernels with their loops and bodies.

#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;
using M = Acc<Matrix<double>>;
const auto to_index = [](Exp<double> e) { return cast<std::int64_t>(e); };

struct Row {
  std::string name;
  TestProgram program;
  std::string plan;
};

}  // namespace

TEST_CASE("plans of whole programs") {
  const Row table[] = {
      {"outside of streams: a fused map and fold",
       {[] { return sum(map([](Exp<double> e) { return e * 2.0; }, v())); }},
       R"(once per run:
  g0 : avoided Vector double = host array; 8 B x u0; given by the host
  g1 : avoided Scalar double = computed; 8 B; a reduction
  g1 <- kernel sum: fold
  in0 : avoided Vector double [scalar0] buffer1
  out : avoided Scalar double [] buffer0
  element(r) = (in0[r] * 2)
  r < scalar0, commutative: lanes
  x o y = (x + y)
  seed = 0
)"},
      {"no more items are read than are taken",
       {[] { return consume(elements(take_seq(size(v()), take_seq(3, vectors())))); }},
       R"(once per run:
  g0 : avoided Vector double = host array; 8 B x u1; given by the host
  g1 : avoided Vector double = stream result; 8 B x u2; result of a stream
stage 0, for every chunk:
  at most u0 items: take_seq
  at most u1 items: take_seq
  c0 : segmented Vector double = item 0; 8 B x elements of item 0; read from the source
  c1 : segmented Vector double = computed; 8 B x elements of item 0; a result; result 0
  d0 : offsets given by the source for item 0
  c1 <- kernel copy of parameter: map over items
  in0 : segmented Vector double [length(buffer0:64)] buffer2 offsets0:64
  out : segmented Vector double [length(buffer0:64)] buffer1 offsets0:64
  out[item; i] = in0[i]
  elements of result 0 (c1)
)"},
      {"segmented items: lengths are differences of the source's offsets",
       {[] { return consume(elements(map_seq([](V a) { return sum(a); }, vectors()))); }},
       R"(once per run:
  g0 : avoided Vector double = stream result; 8 B x u0; result of a stream
stage 0, for every chunk:
  c0 : segmented Vector double = item 0; 8 B x elements of item 0; read from the source
  c1 : regular Scalar double = computed; 8 B x items; a reduction; result 0
  d0 : offsets given by the source for item 0
  c1 <- kernel sum: fold over items
  in0 : segmented Vector double [length(buffer1:64)] buffer2 offsets1:64
  out : regular Scalar double [] buffer0
  element(item; r) = in0[r]
  r < length(buffer1:64), commutative: lanes
  x o y = (x + y)
  seed = 0
  elements of result 0 (c1)
)"},
      {"regular items: one length for all, no offsets",
       {[] { return consume(tabulate(map_seq([](V a) { return fold1(minimum_of, a); }, vectors(3)))); }},
       R"(once per run:
  g0 : avoided Scalar int64 = host array; 8 B; given by the host
  g1 : avoided Vector double = stream result; 8 B x u0; result of a stream
stage 0, for every chunk:
  c0 : regular Vector double = item 0; 8 B x items x u0; read from the source
  c1 : regular Scalar double = computed; 8 B x items; a reduction; result 0
  c1 <- kernel fold1: fold over items
  in0 : regular Vector double [scalar0] buffer1
  out : regular Scalar double [] buffer0
  element(item; r) = in0[r]
  r < scalar0, commutative: lanes
  x o y = minimum(x, y)
  tabulate of result 0 (c1)
)"},
      {"a captured array is read in place, its index checked",
       {[] {
         return consume(elements(map_seq([](V a) { return gather(map(to_index, a), v()); }, vectors())));
       }},
       R"(once per run:
  g0 : avoided Vector double = host array; 8 B x u0; given by the host
  g1 : avoided Vector double = stream result; 8 B x u1; result of a stream
stage 0, for every chunk:
  c0 : segmented Vector double = item 0; 8 B x elements of item 0; read from the source
  c1 : segmented Vector double = computed; 8 B x elements of item 0; a result; result 0
  d0 : offsets given by the source for item 0
  c1 <- kernel gather: map over items
  in0 : segmented Vector double [length(buffer0:64)] buffer2 offsets0:64
  in1 : avoided Vector double [scalar0] buffer3
  out : segmented Vector double [length(buffer0:64)] buffer1 offsets0:64
  out[item; i] = in1?[int64(in0[i])]
  elements of result 0 (c1)
)"},
      {"a length that is a value: size kernel, scan, elements",
       {[] { return consume(elements(produce(5, [](Exp<std::int64_t> i) { return fill(i % 3, 1.0); }))); }},
       R"(once per run:
  g0 : avoided Vector double = stream result; 8 B x u1; result of a stream
stage 0, for every chunk:
  c0 : segmented Vector double = computed; 8 B x elements under d0; a result; result 0
  c1 : regular Scalar int64 = computed; 8 B x items; a shape that depends on the item
  d0 : offsets computed from 1 extents
  c1 <- kernel extent: map over items
  n0 = scalar0 + item
  out : regular Scalar int64 [] buffer0
  out[item; ] = (n0 % 3)
  d0 <- offsets from the items' sizes
  c0 <- kernel fill: map over items
  out : segmented Vector double [buffer0[item]] buffer2 offsets1:64
  out[item; i] = 1
  elements of result 0 (c0)
)"},
      {"the rows of an array: no copy, no offsets",
       {[] { return consume(elements(map_seq([](V a) { return product(a); }, rows(m())))); }},
       R"(once per run:
  g0 : avoided Matrix double = host array; 8 B x u0 x u1; given by the host
  g1 : avoided Vector double = stream result; 8 B x u2; result of a stream
stage 0, for every chunk:
  c0 : regular Vector double = item 0; 8 B x items x u0; read from the source
  c1 : regular Scalar double = computed; 8 B x items; a reduction; result 0
  c1 <- kernel product: fold over items
  in0 : regular Vector double [scalar0] buffer1
  out : regular Scalar double [] buffer0
  element(item; r) = in0[r]
  r < scalar0, commutative: lanes
  x o y = (x * y)
  seed = 1
  elements of result 0 (c1)
)"},
      {"an ordered operator on pairs",
       {[] {
         using P = std::tuple<double, std::int32_t>;
         const auto join = [](Exp<P> x, Exp<P> y) {
           return pack(get<0>(x) * get<0>(y), get<1>(x) - get<1>(y));
         };
         return fold1(join, zip(v(), map([](Exp<double> e) { return cast<std::int32_t>(e); }, v())));
       }},
       R"(once per run:
  g0 : avoided Vector double = host array; 8 B x u0; given by the host
  g1 : avoided Scalar (double, int32) = computed; 12 B; a reduction
  g1 <- kernel fold1: fold
  in0 : avoided Vector double [scalar0] buffer2
  out : avoided Scalar (double, int32) [] buffer0
  element(r) = in0[r], int32(in0[r])
  r < scalar0, ordered: left to right
  x o y = (x.0 * y.0), (x.1 - y.1)
)"},
      {"a result that is the item itself is copied",
       {[] { return consume(elements(vectors())); }},
       R"(once per run:
  g0 : avoided Vector double = stream result; 8 B x u0; result of a stream
stage 0, for every chunk:
  c0 : segmented Vector double = item 0; 8 B x elements of item 0; read from the source
  c1 : segmented Vector double = computed; 8 B x elements of item 0; a result; result 0
  d0 : offsets given by the source for item 0
  c1 <- kernel copy of parameter: map over items
  in0 : segmented Vector double [length(buffer0:64)] buffer2 offsets0:64
  out : segmented Vector double [length(buffer0:64)] buffer1 offsets0:64
  out[item; i] = in0[i]
  elements of result 0 (c1)
)"},
      {"ragged rows of a uniform width: lengths are divided by it",
       {[] { return consume(elements(map_seq([](M a) { return sum(a, 0); }, matrices(-1, 3)))); }},
       R"(once per run:
  g0 : avoided Scalar int64 = host array; 8 B; given by the host
  g1 : avoided Vector double = stream result; 8 B x u0; result of a stream
stage 0, for every chunk:
  c0 : segmented Matrix double = item 0; 8 B x elements of item 0; read from the source
  c1 : regular Vector double = computed; 8 B x items x u0; a reduction; result 0
  d0 : offsets given by the source for item 0
  c1 <- kernel sum: fold over items
  in0 : segmented Matrix double [length(buffer1:64)/scalar0, scalar0] buffer2 offsets1:64
  out : regular Vector double [scalar0] buffer0
  element(item; i, r) = in0[(r, i)]
  r < length(buffer1:64)/scalar0, commutative: lanes
  x o y = (x + y)
  seed = 0
  elements of result 0 (c1)
)"},
  };
  for (const Row& row : table) {
    INFO(row.name);
    CHECK(text_of(planned(row.program).plan) == row.plan);
  }
}
