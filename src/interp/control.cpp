#include "interp/control.h"

#include "ir/op_info.h"
#include "ir/own_nodes.h"
#include "ir/views.h"

namespace anabranch::interp {

using ir::Op;
using ir::position_of;
using Number = Evaluator::Number;

namespace {

/// What an item computes with a program of its own fails without the item's number, as a back end runs such programs for
/// many items together.
class Unnamed {
 public:
  explicit Unnamed(Evaluator& evaluator) : number_(evaluator.item), before_(evaluator.item) {
    number_ = ir::no_item;
  }
  ~Unnamed() { number_ = before_; }
  Unnamed(const Unnamed&) = delete;
  Unnamed& operator=(const Unnamed&) = delete;

 private:
  std::int64_t& number_;
  std::int64_t before_;
};

std::vector<HostArray> apply(Machine& machine, Number function, std::span<const HostArray> arguments) {
  Evaluator& evaluator = machine.evaluator();
  const auto parameters = evaluator.parameters(function);
  const Evaluator::Application application(evaluator, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) evaluator.bind(parameters[i], arguments[i]);
  std::vector<HostArray> results;
  for (Number result : evaluator.results(function)) results.push_back(machine.demand(result));
  return results;
}

std::vector<HostArray> run_loop(Machine& machine, Number loop) {
  const auto operands = machine.evaluator().children(loop);
  const Number predicate = operands[position_of(Op::awhile, "predicate")];
  const Number body = operands[position_of(Op::awhile, "body")];
  std::vector<HostArray> state;
  for (Number array : operands.subspan(position_of(Op::awhile, "state")))
    state.push_back(machine.evaluator().array(array));
  const auto goes_on = [&] {
    const HostArray holds = apply(machine, predicate, state)[0];
    return load(ScalarType::boolean, holds->buffers[0].get(), 0) != 0;
  };
  const int collects = ir::Awhile(machine.evaluator().node(loop)).collects();
  if (collects > 0) throw InternalError("interpreter: only passes make loops that collect");
  for (; goes_on(); machine.check_stop()) state = apply(machine, body, state);
  return state;
}

std::vector<HostArray> run_branch(Machine& machine, Number branch) {
  Evaluator& evaluator = machine.evaluator();
  const auto operands = evaluator.children(branch);
  const bool holds = evaluator.evaluate(operands[position_of(Op::acond, "condition")])[0] != 0;
  return apply(machine,
               operands[holds ? position_of(Op::acond, "then") : position_of(Op::acond, "otherwise")], {});
}

}  // namespace

std::vector<HostArray> run_control(Machine& machine, Number control) {
  const Unnamed unnamed(machine.evaluator());
  const ir::InBody body(machine.evaluator().node(control));
  const Op op = machine.evaluator().node(control).op();
  switch (op.as<ir::ArrayOp>()) {
    case Op::awhile:
      return run_loop(machine, control);
    case Op::acond:
      return run_branch(machine, control);
    case Op::use:
    case Op::unit:
    case Op::generate:
    case Op::map:
    case Op::fold:
    case Op::scan:
    case Op::scan_state:
    case Op::backpermute:
    case Op::reshape:
    case Op::consume:
    case Op::part:
    case Op::sort:
    case Op::select:
    case Op::group:
    case Op::last_at:
    case Op::accumulate:
    case Op::repeat:
    case Op::compute:
    case Op::trace:
    case Op::project_array:
      break;
  }
  throw InternalError(std::string("interpreter: ") + name_of(op) + " runs no bodies");
}

}  // namespace anabranch::interp
