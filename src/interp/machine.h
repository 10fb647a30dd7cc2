#pragma once

#include <stop_token>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interp/evaluate.h"
#include "interp/interpret.h"
#include "interp/source_reader.h"
#include "ir/own_nodes.h"
#include "ir/sink_passes.h"

/// Runs a program: array computations by need, each at most once per activation of the sequence function it
/// is in.
///
/// Arrays are strict. Before an array computation is executed, all arrays it needs are computed in full: its
/// operands, and the arrays that its functions and scalar operands mention, even where only one side of a
/// cond mentions them. So the interpreter raises at least the errors that any back end may raise; one that
/// fuses may find that it never needed the element that fails.
namespace anabranch::interp {

class Machine {
 public:
  using Number = Evaluator::Number;

  Machine(std::span<const ir::Ref> roots, std::stop_token stop, Callbacks callbacks);

  /// The value of an array computation or array parameter.
  HostArray demand(Number array);
  HostArray demand(const ir::Node& array) { return demand(evaluator_.number(array)); }
  /// The results of a function of arrays. `item`: the number that errors name, or ir::no_item.
  std::vector<HostArray> apply(Number lambda, std::span<const HostArray> arguments, std::int64_t item);
  /// Computes the arrays that a computation, array or sequence, mentions but that do not depend on the items
  /// of the sequences inside it.
  void demand_needs_of(Number computation);

  /// The arrays that computations mention, or are, but that depend neither on these parameters nor on the items of the
  /// sequences inside them.
  std::vector<Number> independent_arrays(std::vector<Number> computations,
                                         std::unordered_set<const ir::Node*> items) const;

  /// Is it a source that can be read only once, and do several sinks read it?
  bool several_read(const SourceBase& source) const;

  Evaluator& evaluator() { return evaluator_; }
  Sources& sources() { return sources_; }
  ir::SinkPasses& sinks() { return sinks_; }
  /// Throws Cancelled if the run was stopped.
  void check_stop() const { evaluator_.check_stop(); }
  /// Null: there is none.
  const OnItem& on_item() const { return callbacks_.on_item; }
  const OnLine& on_line() const { return callbacks_.on_line; }

  bool met_no_item = false;  ///< a stream without items
  int in_item = 0;           ///< sequences whose item is being computed

 private:
  const std::vector<Number>& needs(Number computation);
  std::vector<Number> operands_needed(Number computation) const;
  std::vector<HostArray> compute(Number computation);

  Evaluator evaluator_;
  Sources sources_;
  ir::SinkPasses sinks_;
  Callbacks callbacks_;
  std::unordered_map<Number, std::vector<Number>> needs_;
  mutable ir::OwnNodes own_nodes_;
};

}  // namespace anabranch::interp
