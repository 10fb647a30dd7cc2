#include "support/random_program.h"

#include <algorithm>

#include "ir/batch.h"
#include "support/memory_sink.h"
#include "support/random_arrays.h"

namespace anabranch::testing {

using ir::ArrayType;
using ir::Ref;
using ir::Scalars;
using ir::Type;

namespace {

/// Random streams and functions over their items.
class RandomSequences {
 public:
  RandomSequences(Dice& dice, const ProgramOptions& options, int size)
      : dice_(dice), options_(options), size_(size), arrays_(dice, options, 129) {
    for (int n = 1 + dice_.below(3); n > 0; --n) captured_.arrays.push_back(arrays_.use(dice_.below(3)));
    for (int n = dice_.below(3); n > 0; --n) captured_.arrays.push_back(arrays_.computation(captured_));
  }

  std::vector<Ref> program() {
    std::vector<Ref> streams{stream()};
    while (streams.size() < 3 && dice_.chance(25)) streams.push_back(stream());
    Ref result = map_seq(streams, size_);
    if (dice_.chance(25)) {
      std::vector<Ref> more{result};
      if (dice_.chance(40)) more.push_back(dice_.chance(50) ? streams[0] : other_items(streams[0]));
      result = map_seq(more, 1 + size_ / 3);
    }
    if (dice_.chance(15)) result = ir::take_seq(ir::int64(dice_.below(most_items())), result);
    if (dice_.chance(15)) result = other_items(result);
    std::vector<Ref> roots;
    const int components = static_cast<int>(result->type().arrays.size());
    for (int c = 0; c < components; ++c) {
      const Ref part = ir::project_seq(result, c, 1);
      const bool stack = part->type().arrays[0].rank < 4 && dice_.chance(45);
      if (dice_.chance(12))
        roots.push_back(arrays_.folded(captured_, part));
      else
        roots.push_back(ir::consume(stack ? ir::tabulate(part) : ir::elements(part)));
    }
    if (dice_.chance(20)) {
      const int first = dice_.below(components);
      const Ref part = ir::project_seq(result, first, 1 + dice_.below(components - first));
      roots.push_back(ir::consume(ir::write(part, same_again_sink(part->type().arrays))));
    }
    if (dice_.chance(20)) {
      Scope after{{}, roots, 0};
      roots.push_back(arrays_.computation(after));
    }
    Scope after{{}, roots, 0};
    if (dice_.chance(15)) roots.push_back(arrays_.loop(after));
    if (dice_.chance(15)) roots.push_back(arrays_.branch(after));
    return roots;
  }

 private:
  int most_items() const { return std::min(200, 4 + size_ * 20); }

  Ref stream() {
    Ref all = source();
    if (dice_.chance(25)) all = other_items(dice_.chance(40) ? with_more_beside(all) : all);
    return dice_.chance(15) ? ir::take_seq(ir::int64(dice_.below(most_items())), all) : all;
  }

  /// Other items than those of a sequence, made of them.
  Ref other_items(const Ref& all) {
    switch (dice_.below(12)) {
      case 10:
        return ir::append_seq(dice_.chance(50) ? std::vector{all, beside_later(all)}
                                               : std::vector{beside_later(all), all});
      case 11:
        return ir::append_seq({ir::drop_seq(ir::int64(dice_.below(6)), all), beside_later(all), all});
      case 8: {
        Scope scope = captured_;
        return arrays_.accumulated(scope, all);
      }
      case 9: {
        Scope scope = captured_;
        return arrays_.counted(scope, all);
      }
      case 0:
        return ir::drop_seq(ir::int64(dice_.below(6)), all);
      case 1:
        return ir::append_seq({all, ir::drop_seq(ir::int64(dice_.below(6)), all)});
      case 2:
        return ir::append_seq({all, ir::filter_seq(with_condition(all))});
      case 3:
        return ir::take_while_seq(with_condition(all));
      case 4:
        for (std::size_t a = 0; a < all->type().arrays.size(); ++a)
          if (all->type().arrays[a].rank > 0) return rows_of_items(all, a);
        return all;
      case 5:
        for (std::size_t a = 0; a < all->type().arrays.size(); ++a)
          if (all->type().arrays[a].rank == 1)
            return ir::windows_seq(ir::project_seq(all, static_cast<int>(a), 1),
                                   ir::int64(1 + dice_.below(9)), {ir::int64(1 + dice_.below(9))});
        return all;
      default:
        return ir::filter_seq(with_condition(all));
    }
  }

  /// The items, and beside them an array of the shape of one of theirs that is computed.
  Ref with_more_beside(const Ref& all) {
    return with_result(all, [this](Scope& scope, const std::vector<Ref>& items) {
      return arrays_.mapped(scope, dice_.pick(items));
    });
  }
  /// Items that are kept by what they and later ones say: two places read the stream.
  Ref beside_later(const Ref& all) {
    std::vector<Ref> both, items;
    for (int i = 0; i < 2; ++i)
      for (const ArrayType& item : all->type().arrays) both.push_back(ir::parameter(Type::array(item)));
    items.assign(both.begin(), both.begin() + std::ssize(both) / 2);
    Scope scope = captured_;
    scope.arrays.insert(scope.arrays.end(), both.begin(), both.end());
    items.push_back(arrays_.condition(scope));
    const Ref later = ir::drop_seq(ir::int64(dice_.below(4)), all);
    return ir::filter_seq(ir::map_seq(ir::lambda(both, items), {all, later}));
  }
  Ref with_condition(const Ref& all) {
    return with_result(all,
                       [this](Scope& scope, const std::vector<Ref>&) { return arrays_.condition(scope); });
  }

  /// The items, and beside them what is computed of each.
  template <class F>
  Ref with_result(const Ref& all, F&& result) {
    std::vector<Ref> items;
    for (const ArrayType& item : all->type().arrays) items.push_back(ir::parameter(Type::array(item)));
    Scope scope = captured_;
    scope.arrays.insert(scope.arrays.end(), items.begin(), items.end());
    std::vector<Ref> results = items;
    results.push_back(result(scope, items));
    return ir::map_seq(ir::lambda(items, results), {all});
  }

  /// The rows of an array of each item, and what is computed of them.
  Ref rows_of_items(const Ref& all, std::size_t which) {
    std::vector<Ref> items;
    for (const ArrayType& item : all->type().arrays) items.push_back(ir::parameter(Type::array(item)));
    const ArrayType& array = all->type().arrays[which];
    const Ref row = ir::parameter(Type::array(array.rank - 1, array.scalars));
    const Ref some = ir::take_seq(ir::int64(dice_.below(9)), ir::rows(items[which]));
    const Ref inner = dice_.chance(50) ? some : ir::map_seq(body({row}, 2), {some});
    return ir::flat_map_seq(items, inner, all);
  }

  Ref source() {
    if (dice_.chance(8)) return arrays_.segments(captured_);
    switch (dice_.below(8)) {
      case 0: {
        const Ref i = ir::parameter(Type::array(0, {ScalarType::int64}));
        const std::int64_t count = std::min(dice_.below(60), most_items());
        return ir::produce(ir::int64(count), body({i}, 1 + size_ / 3));
      }
      case 1: {
        for (const Ref& a : captured_.arrays)
          if (a->type().rank > 0) return ir::rows(a);
        return ir::rows(arrays_.use(1 + dice_.below(3)));
      }
      default:
        return read();
    }
  }

  /// A stream, perhaps with another one of the same types behind it.
  Ref read() {
    const auto source = dice_.source(most_items(), options_.floats);
    const Ref all = ir::stream_in(source);
    if (!dice_.chance(15)) return all;
    const Ref other = ir::stream_in(dice_.source_like(*source, most_items()));
    return ir::append_seq({all, dice_.chance(40) ? other_items_of_type(other) : other});
  }
  Ref other_items_of_type(const Ref& all) {
    return dice_.chance(50) ? ir::filter_seq(with_condition(all))
                            : ir::drop_seq(ir::int64(dice_.below(6)), all);
  }

  Ref body(std::vector<Ref> parameters, int operations) {
    Scope scope = captured_;
    for (int i = 0; i < 2; ++i) scope.arrays.insert(scope.arrays.end(), parameters.begin(), parameters.end());
    std::vector<Ref> made;
    for (int i = 0; i < operations; ++i) {
      const int roll = dice_.below(20);
      made.push_back(roll == 0   ? arrays_.loop(scope)
                     : roll == 1 ? arrays_.branch(scope)
                     : roll < 4  ? arrays_.of_rows(scope)
                                 : arrays_.computation(scope));
      scope.arrays.push_back(made.back());
    }
    std::vector<Ref> results{made.back()};
    while (results.size() < 3 && dice_.chance(40)) results.push_back(dice_.pick(made));
    return ir::lambda(std::move(parameters), std::move(results));
  }

  Ref map_seq(const std::vector<Ref>& streams, int operations) {
    std::vector<Ref> parameters;
    for (const Ref& s : streams)
      for (const ArrayType& item : s->type().arrays) parameters.push_back(ir::parameter(Type::array(item)));
    return ir::map_seq(body(std::move(parameters), operations), streams);
  }

  Dice& dice_;
  const ProgramOptions& options_;
  int size_;
  RandomArrays arrays_;
  Scope captured_;
};

}  // namespace

RandomProgram random_array_program(std::uint64_t seed, int size, const ProgramOptions& options) {
  Dice dice(seed);
  RandomArrays arrays(dice, options, 20'000);
  Scope scope;
  for (int n = 1 + dice.below(3); n > 0; --n) scope.arrays.push_back(arrays.use(dice.below(4)));
  std::vector<Ref> made;
  for (int i = 0; i < std::max(size, 1); ++i) {
    made.push_back(arrays.computation(scope));
    scope.arrays.push_back(made.back());
  }
  RandomProgram out{seed, size, {made.back()}};
  while (out.roots.size() < 3 && dice.chance(40)) out.roots.push_back(dice.pick(made));
  if (dice.chance(20)) out.roots.push_back(arrays.fold_of_a_long_row(scope));
  if (dice.chance(20)) out.roots.push_back(arrays.loop(scope));
  if (dice.chance(20)) out.roots.push_back(arrays.branch(scope));
  return out;
}

RandomProgram random_sequence_program(std::uint64_t seed, int size, const ProgramOptions& options) {
  Dice dice(seed);
  return {seed, size, RandomSequences(dice, options, std::max(size, 1)).program()};
}

RandomProgram random_state_program(std::uint64_t seed, int items, const ProgramOptions& options) {
  Dice dice(seed);
  RandomArrays arrays(dice, options, 129);
  Scope scope;
  scope.arrays.push_back(arrays.use(1 + dice.below(2)));
  const Ref number = ir::parameter(Type::array(0, {ScalarType::int64}));
  const Ref all = ir::produce(ir::int64(items), ir::lambda({number}, {number}));
  const Ref given = arrays.counted(scope, all);
  RandomProgram out{seed, items, {}};
  for (std::size_t r = 0; r < given->type().arrays.size(); ++r)
    out.roots.push_back(ir::consume(ir::elements(ir::project_seq(given, static_cast<int>(r), 1))));
  return out;
}

std::string describe(const RandomProgram& program) {
  return fmt::format("seed {}, size {}", program.seed, program.size);
}

}  // namespace anabranch::testing
