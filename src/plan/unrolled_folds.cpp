// Folds at a few positions whose rows are read from the same elements, as the lags of an autocorrelation are: a kernel
// goes through the row once for several positions.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ir/cost.h"
#include "ir/print.h"
#include "ir/simplify.h"
#include "ir/views.h"
#include "ir/walk.h"
#include "plan/group_builder.h"
#include "plan/kernel_builder.h"

namespace anabranch::plan {

using namespace ir;

namespace {

constexpr std::int64_t most_positions = 64;
/// Of the components that one kernel reduces, so that the lanes of all of them are in registers.
constexpr std::size_t most_bytes = 32;
/// Of a kernel, which has the elements' code once for each position.
constexpr std::int64_t most_operations = 2000;

/// How much numbers grow where a parameter grows by one.
class Slopes {
 public:
  explicit Slopes(const Ref& parameter) : parameter_(parameter) {}

  /// None where that is not a constant.
  std::optional<std::int64_t> of(const Ref& number) {
    kept_.push_back(number);
    for (const Node* node : topological({&number, 1}, [](const Node& each) { return is_sum(each); }))
      if (!known_.contains(node)) known_[node] = is_sum(*node) ? of_sum(*node) : of_other(*node);
    return known_.at(number.get());
  }

 private:
  using Slope = std::optional<std::int64_t>;

  static bool is_sum(const Node& node) {
    if (node.op() != Op::primitive) return false;
    const Primitive primitive = node.payload().primitive;
    return primitive == Primitive::add || primitive == Primitive::subtract ||
           primitive == Primitive::minimum || primitive == Primitive::maximum;
  }

  Slope of_other(const Node& node) const {
    if (&node == parameter_.get()) return 1;
    return mentions(node, {&parameter_, 1}) ? Slope() : Slope(0);
  }

  Slope of_sum(const Node& node) const {
    const auto operands = PrimitiveTerm(node).operands();
    const Slope first = known_.at(operands[0].get()), last = known_.at(operands[1].get());
    std::int64_t slope = 0;
    if (!first || !last) return std::nullopt;
    if (node.payload().primitive == Primitive::subtract)
      return __builtin_sub_overflow(*first, *last, &slope) ? Slope() : Slope(slope);
    // The least and greatest of two: a position that is kept within bounds.
    const bool grows_by_both = node.payload().primitive == Primitive::add || *first == 0 || *last == 0;
    return !grows_by_both || __builtin_add_overflow(*first, *last, &slope) ? Slope() : Slope(slope);
  }

  const Ref& parameter_;
  NodeMap<Slope> known_;
  std::vector<Ref> kept_;  // while an address is a key
};

/// Are elements of the row read one after the other, and by rows at several positions?
bool shares_reads(const std::vector<Ref>& body, const Ref& position, const Ref& element) {
  const auto scalar = [](const Node& node) { return !node.type().is_array() && node.op() != Op::lambda; };
  Slopes of_element(element), of_position(position);
  bool reads = false;
  for (const Node* node : topological(body, scalar)) {
    if (!is_read(node->op())) continue;
    const Ref& at = Read(Ref(node)).at();
    const std::vector<Ref> index = components(at);
    if (index.empty()) continue;
    for (std::size_t d = 0; d + 1 < index.size(); ++d)
      if (mentions(*index[d], {&position, 1}) || mentions(*index[d], {&element, 1})) return false;
    const auto along = of_element.of(index.back()), across = of_position.of(index.back());
    if (!along || !across || std::abs(*along) > 1 || (*along == 0 && *across != 0)) return false;
    reads = reads || *along != 0;
  }
  return reads;
}

}  // namespace

bool GroupBuilder::add_unrolled(int output, const Ref& node) {
  const Fold fold(node);
  const Facts& facts = context_.staged.facts_of(fold.array());
  std::vector<Ref> extents = facts.extents;
  if (extents.size() < 2 || array(output).form == Form::segmented) return false;
  const Ref positions = extents[extents.size() - 2];
  if (positions->op() != Op::constant) return false;
  const auto count = static_cast<std::int64_t>(positions->payload().bits);
  if (count < 2 || count > most_positions) return false;

  kernel::Row row;
  std::vector<Ref> index = rows_index(row, fold.array(), node->place());
  std::vector<Ref> ix = index;
  ix.push_back(row.index);
  const std::vector<Ref> element =
      components(context_.expand.inline_reads(context_.expand.element(fold.array(), ix)));
  const Ref position = index.back();
  if (!shares_reads(element, position, row.index)) return false;
  std::size_t bytes = 0;
  for (const ScalarType s : node->type().scalars) bytes += size_of(s);
  const std::int64_t most =
      std::min(static_cast<std::int64_t>(std::max<std::size_t>(1, most_bytes / bytes)),
               most_operations / std::max<std::int64_t>(1, additions(evaluation_cost(element))));
  if (most < 1) return false;
  index.pop_back();
  extents.erase(extents.end() - 2);

  const std::int64_t kernels = (count + most - 1) / most;
  Simplifier simplify(false);
  for (std::int64_t k = 0; k < kernels; ++k) {
    const std::int64_t begin = count * k / kernels, end = count * (k + 1) / kernels;
    KernelStep step;
    KernelBuilder builder(*this, step);
    Kernel& kernel = step.kernel;
    kernel.name = kernels == 1 ? title(*node) : fmt::format("{}, {} to {}", title(*node), begin, end - 1);
    kernel.place = node->place();
    kernel.index = index;
    step.makes_outputs = begin == 0;
    kernel::Reduce reduce;
    reduce.row = row;
    reduce.order = fold.order();
    PlanLayout layout = static_cast<const PlanLayout&>(array(output));
    layout.extents.pop_back();
    builder.domain(layout);
    for (std::int64_t which = begin; which < end; ++which) {
      builder.write_one_of(output, kernel.body.size(), which, count);
      const Ref number = int64(which);
      for (const Ref& e : element)
        kernel.body.push_back(simplify(substitute(e, {&position, 1}, {&number, 1})));
    }
    for (std::int64_t which = begin; which < end; ++which)
      reduce.reductions.push_back(reduction_of(fold, node->place(), context_.expand));
    measure_rows(builder, reduce.row, extents, static_cast<int>(extents.size()) - 1, *fold.array());
    finish_reduce(builder, step, std::move(reduce), {&node, 1});
  }
  return true;
}

}  // namespace anabranch::plan
