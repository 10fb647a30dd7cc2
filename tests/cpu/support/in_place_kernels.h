#pragma once

#include "tests/cpu/support/map_kernels.h"

/// Maps whose outputs lie in the memory of what they read: on the CPU and in CUDA's text.
namespace anabranch::test {

/// Numbers below 100, which as doubles are no indices.
inline std::vector<std::int64_t> indices(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back((i * 61) % 100);
  return out;
}

/// f(what, builder) for each of them, of arrays of n elements. A position that is computed again after it has been stored
/// reads an index that is none, or does not end.
template <class F>
void each_kernel_in_place(std::int64_t n, F&& f) {
  using ir::Primitive;
  const auto checked = [&](const char* what, KernelBuilder& k) {
    k.kernel().arrays[0].overwritten = true;
    k.find_checks();
    kernel::verify(k.kernel());
    f(what, k);
  };
  const auto extents = [&](KernelBuilder& k) { return std::vector{k.uniform_extent(n)}; };
  {
    KernelBuilder k(kernel::Map{});
    const auto extent = extents(k);
    const ir::Ref a = k.array(kernel::Form::avoided, {ScalarType::float64}, extent, k.buffer(doubles(n)));
    const ir::Ref b = k.array(kernel::Form::avoided, {ScalarType::float64}, extent, k.buffer(doubles(n)));
    k.output(kernel::Form::avoided, {ScalarType::boolean, ScalarType::float64}, extent, n);
    const ir::Ref i = k.kernel().index[0], v = ir::index(a, i, {}, true), w = ir::index(b, i, {}, true);
    k.kernel().body = {less(v, w), plus(times(v, v), w)};
    checked("flat, beside another array", k);
    k.split_output({1, 1});
    checked("two outputs", k);
  }
  for (const bool flat : {true, false}) {
    KernelBuilder k(kernel::Map{});
    const auto extent = extents(k);
    const ir::Ref a = k.array(kernel::Form::avoided, {ScalarType::int64}, extent, k.buffer(indices(n)));
    const ir::Ref x = k.array(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(100)},
                              k.buffer(doubles(100)));
    k.output(kernel::Form::avoided, {ScalarType::float64}, extent, n);
    const ir::Ref i = k.kernel().index[0], own = ir::index(a, i, {}, true);
    const ir::Ref element = ir::index(x, own, {}, true);
    k.kernel().body = {flat ? element : plus(element, ir::cast(ScalarType::float64, i))};
    checked(flat ? "indices, flat" : "indices", k);
    const ir::Ref p = ir::parameter(ir::Type::element(ScalarType::int64));
    const ir::Ref q = ir::parameter(ir::Type::element(ScalarType::int64));
    const ir::Ref rounds =
        ir::while_loop(ir::lambda({p}, {ir::primitive(Primitive::not_equal, {p, ir::int64(100)})}),
                       ir::lambda({q}, {plus(q, ir::int64(1))}), own);
    const ir::Ref last = ir::cast(ScalarType::float64, minus(rounds, own));
    k.kernel().body = {flat ? last : plus(last, ir::cast(ScalarType::float64, i))};
    checked(flat ? "loops, flat" : "loops", k);
  }
  {
    KernelBuilder k(kernel::Map{});
    const auto extent = extents(k);
    const int first = k.buffer(doubles(n));
    k.buffer(indices(n));
    const ir::Ref a = k.array(kernel::Form::avoided, {ScalarType::float64, ScalarType::int64}, extent, first);
    k.output(kernel::Form::avoided, {ScalarType::int64, ScalarType::float64}, extent, n);
    const ir::Ref own = ir::index(a, k.kernel().index[0], {}, true);
    const ir::Ref v = ir::project(own, 0, 1), w = ir::project(own, 1, 1);
    k.kernel().body = {ir::cond(less(v, ir::literal(0.0)), w, ir::cast(ScalarType::int64, v)),
                       ir::cast(ScalarType::float64, w)};
    checked("components change places", k);
  }
  if (n > 0) {
    Ragged r({n, 0, 3, n / 2 + 1, 1}, 0);  // what is written is all that is there
    r.segmented_output(ScalarType::int64);
    const ir::Ref i = r.k.kernel().index[0], own = ir::index(r.values, i, {}, true);
    const ir::Ref number = ir::index(r.item, ir::tuple({}), {}, true);
    r.k.kernel().body = {ir::cast(ScalarType::int64, own)};
    checked("segmented, flat", r.k);
    r.k.kernel().body = {plus(ir::cast(ScalarType::int64, times(own, ir::literal(7.0))), times(number, i))};
    checked("segmented", r.k);
  }
}

}  // namespace anabranch::test
