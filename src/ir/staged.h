#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ir/form.h"
#include "ir/node.h"
#include "ir/node_map.h"
#include "ir/op_info.h"
#include "ir/overloaded.h"
#include "ir/views.h"

/// A program on its way through the compiler, between the user's nodes and the plan. Each pass fills in its
/// part: sequence fusion makes the stages, lifting the facts, array fusion the manifest set.
namespace anabranch::ir {

/// Where the items of a stage come from: a stream_in node, a produce node (whose function has moved into the
/// stage; what is left is the item's number), a rows node, or a sequence that other stages feed (is_fed). Its item arrays
/// are items[first .. first + count) of the stage.
struct StageSource {
  Ref node;
  int first = 0;
  int count = 1;
  /// Of what is fed: the stages, whose results are the arrays that the operation takes of its sequences' items, in the order
  /// of these; its own operands that are elements or arrays; and its function, of the program's controls (Applied).
  std::vector<int> feeds = {};
  std::vector<Ref> inputs = {};
  std::vector<int> bodies = {};
  bool by_chunk = false;  ///< the function takes all items of a chunk at once, as vectors (Applied)
};

/// An extent that is computed and may be negative, which is a RunError of this array. Or a number of items of which the array is
/// made, a RunError of `items`, a produce or take_seq: it is compared before what is computed from it, two negative ones
/// may give an extent.
struct ExtentCheck {
  Ref extent;
  Ref array;
  Ref items = {};
};

/// Of the items that the sources of a stage give no more than these are read: the count of a take_seq.
struct ItemBound {
  Ref count;  ///< int64, the same for all items
  Ref take;
};

struct Nested;

/// One pass over some sources: for every item, results are computed from the item's arrays and fed to
/// sinks, or to another stage, which runs it as it reads. `items` are array parameters; everything between the sources
/// and the sinks is in `results`.
struct Stage {
  std::vector<StageSource> sources;
  std::vector<ItemBound> bounds;  ///< the least of them ends the pass
  std::vector<Ref> items;
  std::vector<Ref> results;
  std::vector<Ref>
      required;  ///< reshapes whose sizes must agree, though nothing of the stage reads what they give
  struct Sink {
    Ref consume;  ///< the consume node it stands for (null when streamed out to the user, or to another stage)
    SinkOp kind = Op::elements;
    int result = 0;
    std::vector<Ref> inputs = {};  ///< arrays that it is given
    std::vector<int> bodies = {};  ///< its functions, of the program's controls (Applied)
  };
  std::vector<Sink> sinks;
  std::vector<Nested> nested;              ///< in an order in which they can run
  std::vector<ExtentCheck> extent_checks;  ///< of arrays that depend on the item, in an order of dependence
};

/// What lifting knows of an array computation.
struct Facts {
  /// int64 scalar expressions, one per dimension: over the item's leaf extents and values that do not depend
  /// on the item. Equal node = equal extent.
  std::vector<Ref> extents;
  Form form = Form::avoided;
  std::string reason;
};

struct Control;

/// What needs more than kernels: where it stands in the program's order.
struct Part {
  enum class Kind : std::uint8_t { stage, control } kind = Kind::stage;
  int index = 0;
  std::vector<int> with =
      {};  ///< stages that run at the same time, as they read a stream that can be read only once
};

/// What array fusion says of an array beside another one of as many elements.
struct Beside {
  Ref other;
  std::string why;  ///< they are not computed in one kernel; empty: they are
};

struct Staged {
  std::vector<Ref> parameters;  ///< array parameters of the whole program (arguments of a compiled function)
  std::vector<Ref> results;     ///< top-level array computations; consume nodes in them are leaves
  std::vector<Stage> stages;
  std::vector<Control> controls;
  std::vector<Part> parts;  ///< all stages and controls, in an order in which they can run
  std::unordered_map<const Node*, Facts> facts;  ///< lifting
  std::vector<ExtentCheck> extent_checks;        ///< lifting: of all other arrays
  /// Lifting: extents that have to be compared before this array is computed, since some of its reads are marked as in range
  /// where they hold.
  std::unordered_map<const Node*, std::vector<Ref>> relies_on;
  std::unordered_map<const Node*, std::string> manifest;  ///< array fusion: what is stored, and why
  /// Array fusion: arrays that share a kernel: reductions, the results of a scan, a recurrence, each with its epilogues
  /// behind (fuse/epilogues.h), or maps. Results that only epilogues of their kernel read are not in `manifest`.
  std::vector<std::vector<Ref>> together;
  std::unordered_map<const Node*, std::vector<Beside>>
      beside;             ///< array fusion: what is stored beside others
  std::vector<Ref> kept;  ///< keeps alive what the maps' keys point to

  const Facts& facts_of(const Ref& array) const { return facts.at(array.get()); }
  bool is_manifest(const Node* array) const { return manifest.contains(array); }
};

/// A program inside of a program: a function of arrays that a loop or a branch runs. Its parameters are the
/// function's, then one for each array that it takes from the outer program.
struct Body {
  std::vector<Ref> captured;  ///< arrays of the outer program
  Staged program;
};

struct Loop {
  std::vector<Ref> state;  ///< the arrays that its first round takes
  Body predicate, body;
};
struct Branch {
  Ref condition;  ///< int64, not 0 where `then` is taken
  Body then, otherwise;
};
/// A function that is applied as a stream passes, by what feeds a stage or by a sink: to a state and an item, to several
/// items. It is given what its body's parameters are, but for those that it captures.
struct Applied {
  Body body;
};
/// What has programs inside of it: a loop or a branch of the program, or what is done with a sequence. Whoever must know which
/// visits it.
struct Control {
  Ref node;
  std::variant<Loop, Branch, Applied> what;
};

/// f(name, body) for each body: the name of the operand of `node` that it is made of.
template <class C, class F>
  requires std::same_as<std::remove_const_t<C>, Control>
void each_body(C& control, F&& f) {
  std::visit(overloaded{[&](like<C, Loop>& loop) {
                          f("predicate", loop.predicate);
                          f("body", loop.body);
                        },
                        [&](like<C, Branch>& branch) {
                          f("then", branch.then);
                          f("otherwise", branch.otherwise);
                        },
                        [&](like<C, Applied>& applied) { f("function", applied.body); }},
             control.what);
}

/// f(array or condition) for each input that a control itself has, beside what its bodies capture.
template <class C, class F>
  requires std::same_as<std::remove_const_t<C>, Control>
void each_own_input(C& control, F&& f) {
  std::visit(overloaded{[&](like<C, Loop>& loop) {
                          for (auto& array : loop.state) f(array);
                        },
                        [&](like<C, Branch>& branch) { f(branch.condition); }, [](like<C, Applied>&) {}},
             control.what);
}

/// A sequence that is consumed inside the function of another one, or a loop or branch there, and depends on its item: a
/// program of its own, that is run once for all items of a chunk together. Sequence fusion finds it, lifting makes the
/// program.
struct Nested {
  std::vector<Stage>
      inner;    ///< a sequence: as it is for one item of the outer stage; its sinks are the consume nodes
  Ref control;  ///< a loop or a branch
  std::vector<Ref> computed;  ///< the arrays that the outer stage computes besides the sides of branches
  Body body;  ///< `captured`: arrays of the outer stage, all items together as one vector, or avoided ones
  /// What the program gives of an array, a consume node or one of the loop's or branch's: the elements of all items as one vector, and those extents that lifting
  /// does not know otherwise, each a vector with one number for each item.
  struct Result {
    Ref array;
    int elements = 0;          ///< of the program's results
    std::vector<int> extents;  ///< per dimension: of the program's results; -1: lifting knows it
  };
  std::vector<Result> results;
};

/// Why an array is stored, and with what it shares a kernel: "a reduction, in one kernel with sum@x.cpp:3", or by other
/// names of arrays.
std::string why_stored(const Staged& staged, const Node& array);
std::string why_stored(const Staged& staged, const Node& array,
                       const std::function<std::string(const Node&)>& name);

/// What a source computes its items from, beside other sequences: the array of rows, the number of items.
std::vector<Ref> inputs_of(const StageSource& source);

/// What sinks and functions that are applied as a stream passes are given of the program, beside the stream.
std::vector<Ref> inputs_of_functions(const Staged& staged, const Stage& stage);

/// How many arrays of a set in `together` its kernel gives itself; those behind are epilogues.
std::size_t own_of_kernel(std::span<const Ref> set);
/// All arrays that share a kernel with others.
NodeSet arrays_together(const Staged& staged);

/// Is it read where the elements lie that it is a part of? Those are the same for all items, where it begins is not.
bool is_view(const Staged& staged, const Node& array);

/// A stored array of the program whose elements are some components of those of another one, at the same positions: it
/// lies where that one does.
struct ComponentsOf {
  Ref array;
  std::vector<int> components;
};
std::optional<ComponentsOf> components_of(const Staged& staged, const Node& array);

/// The extents that tell whether an array can be reshaped so.
std::vector<Ref> extents_compared(const Staged& staged, const Node& reshape);

/// Is the array the result of a sequence inside of the stage?
bool is_nested(const Stage& stage, const Node& array);

/// All that must exist before the loop or branch runs: its own inputs, and what its bodies capture.
std::vector<Ref> inputs_of(const Control& control);
/// What a body is given of the outer program, in the order of its program's last parameters: the state of a loop, then what it
/// captures.
std::vector<Ref> arguments_of(const Control& control, const Body& body);

/// Array computations whose elements exist before any kernel runs.
inline bool is_given(const Node& node) { return info(maker_of(node).op()).storage == Storage::given; }

/// Does what it is computed from belong to the same stage? (For traversals.)
inline bool within_stage(const Node& node) {
  return !has_operand(node.op(), Access::whole) && !has_bodies(node.op());
}
/// And does it look at elements of that, not at the shape only?
inline bool reads_elements(const Node& node) {
  return within_stage(node) && !has_operand(node.op(), Access::shape_only);
}

}  // namespace anabranch::ir
