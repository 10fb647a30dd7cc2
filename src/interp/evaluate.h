#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/bits.h"
#include "ir/node.h"
#include "ir/run_error.h"

/// Evaluates scalar expressions: the meaning of the scalar stratum (ir/make.h), node by node.
///
/// Call by need: a node is evaluated when its value is asked for, and at most once as long as its free
/// parameters keep their bindings; of a cond only the side taken is evaluated. Expressions are walked with a
/// stack of our own, never by recursion, so their depth is bounded by memory only.
namespace anabranch::interp {

/// Throws the RunError of ir/run_error.h. `nearest` stands in where the node has no place of its own.
[[noreturn]] void fail(const ir::Node& node, const Place& nearest, const std::string& wrong,
                       std::int64_t item = ir::no_item);

/// "(3, 4)".
std::string to_string(std::span<const std::int64_t> numbers);

class Evaluator {
 public:
  /// A node of the program by its number: children have smaller numbers than their parents.
  using Number = std::uint32_t;

  /// Prepares everything reachable from `roots`, functions included. The roots must outlive the evaluator.
  /// Evaluating throws Cancelled once `stop` is requested.
  explicit Evaluator(std::span<const ir::Ref> roots, std::stop_token stop = {});
  void check_stop() const;
  const std::stop_token& stop() const { return stop_; }

  Number size() const { return static_cast<Number>(entries_.size()); }
  const ir::Node& node(Number number) const { return *entries_[number].node; }
  Number number(const ir::Node& node) const;
  std::span<const Number> children(Number number) const;
  /// Of a lambda.
  std::span<const Number> parameters(Number lambda) const;
  std::span<const Number> results(Number lambda) const;

  /// Begins an application of the function that these are the parameters of, and ends it when it goes out of
  /// scope. Passes may leave functions that share a parameter, one applied inside the other: the outer
  /// application finds its bindings again when the inner one has ended.
  class Application {
   public:
    Application(Evaluator& evaluator, std::span<const Number> parameters)
        : evaluator_(evaluator), before_(evaluator.shadows_.size()) {
      for (Number parameter : parameters) evaluator_.enter(parameter);
    }
    ~Application() { evaluator_.leave(before_); }
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

   private:
    Evaluator& evaluator_;
    std::size_t before_;
  };

  /// Gives a parameter its value. Everything that depends on the parameter will be evaluated anew.
  void bind(Number parameter, std::span<const Bits> value);
  void bind(Number parameter, HostArray value);

  /// The value of an array computation, one array or as many as it gives, until one of its free parameters is
  /// bound again.
  void set_arrays(Number computation, std::vector<HostArray> values);
  bool has_array(Number computation) const { return ready(computation); }
  /// Of an array parameter that is bound, or a computation that was set: array `which` of several.
  const HostArray& array(Number number, int which = 0) const;

  /// The components of a scalar expression. Its array operands must have been bound or set. The span stays
  /// valid and unchanged until one of the expression's free parameters is bound again.
  std::span<const Bits> evaluate(Number expression);
  std::span<const Bits> evaluate(const ir::Node& expression) { return evaluate(number(expression)); }
  /// The only component of an int64 expression, or each of several.
  std::vector<std::int64_t> integers(Number expression);

  /// The place errors name where a scalar node has none: that of the array operation being executed.
  Place nearest_place;
  /// The number of the item that is being computed, of the innermost stream.
  std::int64_t item = ir::no_item;
  /// With `nearest_place` and `item`.
  [[noreturn]] void fail(const ir::Node& node, const std::string& wrong) const;

 private:
  /// Nodes with the same free parameters share a scope. `binding` grows whenever one of these is bound; the
  /// value of a node is current if it was computed under the scope's present binding.
  struct Scope {
    std::uint64_t binding = 1;
  };
  struct Entry {
    const ir::Node* node;
    std::uint32_t first_child;
    std::uint32_t slot;  ///< element: first component in values_. array, or several: first in arrays_
    std::uint32_t scope;
    std::uint64_t computed = 0;  ///< the scope's binding then
  };
  /// What a parameter of an inner application was bound to before; nothing is kept where it was not in use.
  struct Shadow {
    Number parameter;
    bool in_use = false;
    std::uint64_t computed = 0;
    std::vector<std::uint64_t> bindings;  ///< of scopes_with_[parameter]
    std::vector<Bits> value;
    HostArray array;
  };
  /// A node being evaluated; of a while_loop also how far it is.
  struct Frame {
    Number number;
    enum class Phase : unsigned char { start, testing, stepping } phase = Phase::start;
  };

  std::uint32_t scope_of(const ir::Node& node);
  void enter(Number parameter);
  void leave(std::size_t before);
  bool ready(Number number) const {
    const Entry& entry = entries_[number];
    return entry.computed == scopes_[entry.scope].binding;
  }
  void done(Number number) { entries_[number].computed = scopes_[entries_[number].scope].binding; }
  void rebind(Number parameter);
  Bits* slot(Number number) { return values_.data() + entries_[number].slot; }
  std::span<const Bits> value(Number number) const;
  /// Pushes `number` unless its value is there; says whether it was.
  bool demand(Number number);
  bool demand_children(Number number);
  /// Looks for a stop request now and then.
  void tick() {
    if ((++ticks_ & 1023) == 0) check_stop();
  }
  void step(Frame frame);
  void step_cond(Number number);
  void step_while(Frame frame);
  void compute(Number number);
  void compute_primitive(Number number);
  void compute_index(Number number);
  void read_element(Number number, const HostArray& array, std::int64_t position);

  std::vector<Entry> entries_;
  std::vector<Number> children_;
  std::unordered_map<const ir::Node*, Number> numbers_;
  std::vector<Scope> scopes_;
  std::unordered_map<const void*, std::uint32_t> scope_of_set_;
  std::unordered_map<Number, std::vector<std::uint32_t>> scopes_with_;  ///< of a parameter
  std::uint64_t bindings_ = 1;
  std::vector<bool> in_use_;  ///< of a parameter: its function is being applied
  std::vector<Shadow> shadows_;
  std::vector<Bits> values_;
  std::vector<HostArray> arrays_;
  std::vector<Frame> stack_;
  std::stop_token stop_;
  std::uint32_t ticks_ = 0;
};

}  // namespace anabranch::interp
