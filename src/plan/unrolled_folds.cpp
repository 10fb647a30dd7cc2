// Folds at a few positions whose rows are read from the same elements, as the lags of an autocorrelation are: a kernel
// goes through the row once for several positions.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

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

/// How much a number grows where the parameter grows by one; none where that is not a constant.
std::optional<std::int64_t> slope(const Node& number, const Ref& parameter) {
  if (&number == parameter.get()) return 1;
  if (!mentions(number, {&parameter, 1})) return 0;
  if (number.op() != Op::primitive) return std::nullopt;
  const auto operands = PrimitiveTerm(number).operands();
  const auto first = slope(*operands.front(), parameter), last = slope(*operands.back(), parameter);
  if (!first || !last) return std::nullopt;
  const Primitive primitive = number.payload().primitive;
  if (primitive == Primitive::add) return *first + *last;
  if (primitive == Primitive::subtract) return *first - *last;
  // A position that is kept within bounds.
  if ((primitive == Primitive::minimum || primitive == Primitive::maximum) && (*first == 0 || *last == 0))
    return *first + *last;
  return std::nullopt;
}

/// Are elements of the row read one after the other, and by rows at several positions?
bool shares_reads(const std::vector<Ref>& body, const Ref& position, const Ref& element) {
  const auto scalar = [](const Node& node) { return !node.type().is_array() && node.op() != Op::lambda; };
  bool reads = false;
  for (const Node* node : topological(body, scalar)) {
    if (!is_read(node->op())) continue;
    const Ref& at = Read(Ref(node)).at();
    const std::vector<Ref> index = components(at);
    if (index.empty()) continue;
    for (std::size_t d = 0; d + 1 < index.size(); ++d)
      if (mentions(*index[d], {&position, 1}) || mentions(*index[d], {&element, 1})) return false;
    const auto along = slope(*index.back(), element), across = slope(*index.back(), position);
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
  index.pop_back();
  extents.erase(extents.end() - 2);

  std::size_t bytes = 0;
  for (const ScalarType s : node->type().scalars) bytes += size_of(s);
  const auto most = static_cast<std::int64_t>(std::max<std::size_t>(1, most_bytes / bytes));
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
