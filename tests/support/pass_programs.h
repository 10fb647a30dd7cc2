#pragma once

#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <anabranch/anabranch.h>

#include "front/handle.h"
#include "front/share.h"
#include "fuse/sequences.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/memory_source.h"

/// Programs for the tests of single passes: sources that only declare what an item is, captured arrays with
/// names, and the program as `sequences` gives it. Tables hold texts, so everything that a text names has a
/// name here.
namespace anabranch::testing {

/// One array of an item as a source declares it; -1: the extent differs from item to item.
template <class T>
ArrayInfo declared(std::vector<std::int64_t> extents, int descriptor) {
  constexpr auto& scalars = anabranch::detail::Element<T>::scalars;
  std::vector<std::optional<std::int64_t>> known;
  for (std::int64_t e : extents) known.push_back(e < 0 ? std::nullopt : std::optional(e));
  return array_info({scalars.begin(), scalars.end()}, known, descriptor);
}

/// A stream whose source declares these arrays. It is never read.
template <class A>
Seq<A> stream_of(std::vector<ArrayInfo> arrays) {
  return stream_in(
      Source<A>(std::make_shared<MemorySource>("source", std::move(arrays), std::vector<Item>{})));
}

inline Seq<Vector<double>> vectors(std::int64_t extent = -1) {
  return stream_of<Vector<double>>({declared<double>({extent}, 0)});
}
inline Seq<Matrix<double>> matrices(std::int64_t rows, std::int64_t columns) {
  return stream_of<Matrix<double>>({declared<double>({rows, columns}, 0)});
}

/// Host arrays that programs capture, by the name that texts have for them.
inline std::map<const anabranch::detail::ArrayData*, std::string>& captured_names() {
  static std::map<const anabranch::detail::ArrayData*, std::string> names;
  return names;
}
template <class A>
Acc<A> captured(std::string name, const A& array) {
  static std::vector<Acc<A>> kept;  // so that no other array gets the address
  kept.push_back(use(array));
  captured_names()[front::node_of(kept.back().handle())->payload().array.get()] = std::move(name);
  return kept.back();
}
/// A vector `v` of 3 elements, integers `k` of 4, a matrix `m` of 2 x 3.
inline Acc<Vector<double>> v() {
  static const auto array = captured("v", Vector<double>{1, 2, 3});
  return array;
}
inline Acc<Vector<std::int32_t>> k() {
  static const auto array = captured("k", Vector<std::int32_t>{2, 0, 1, 2});
  return array;
}
inline Acc<Matrix<double>> m() {
  static const auto array = captured("m", Matrix<double>(Index{2, 3}));
  return array;
}

/// The results of a program: an Acc, or a std::tuple of them.
using Results = std::vector<ir::Ref>;
inline Results results_of(Results results) { return results; }
template <class A>
Results results_of(const Acc<A>& result) {
  return {front::node_of(result.handle())};
}
template <class... As>
Results results_of(const std::tuple<Acc<As>...>& results) {
  return std::apply([](const auto&... r) { return Results{front::node_of(r.handle())...}; }, results);
}

/// A program of a table: called when its row is tested.
class TestProgram {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, TestProgram>)
  TestProgram(F build)
      : build_([build] { return results_of(build()); }) {}  // NOLINT(*-explicit-*): rows of tables

  /// After `share`, unless that is switched off, and `sequences`.
  ir::Staged staged(bool share = true, const fuse::Options& options = {}) const {
    ir::Staged staged = fuse::sequences(share ? front::share(build_()) : build_(), {}, options);
    ir::verify(staged, "sequences", false, false);
    return staged;
  }

 private:
  std::function<Results()> build_;
};

/// Sequence fusion as lifting asks for it.
inline auto sequences_with(const fuse::Options& options = {}) {
  return [options](std::span<const ir::Ref> results, std::span<const ir::Ref> parameters) {
    return fuse::sequences(results, parameters, options);
  };
}

/// Names for texts: captured arrays by their own; items "item", or "item0", "item1", ... where there are
/// several.
inline ir::Printer printer_for(const ir::Staged& staged) {
  ir::Printer printer;
  int items = 0;
  for (const ir::Stage& stage : staged.stages) items += static_cast<int>(stage.items.size());
  int number = 0;
  for (const ir::Stage& stage : staged.stages)
    for (const ir::Ref& item : stage.items)
      printer.set_name(*item, items == 1 ? "item" : "item" + std::to_string(number++));
  for (const auto& [node, facts] : staged.facts)
    if (node->op() == ir::Op::use)
      if (const auto name = captured_names().find(node->payload().array.get());
          name != captured_names().end())
        printer.set_name(*node, name->second);
  return printer;
}

}  // namespace anabranch::testing
