#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/run_error.h"
#include "ir/staged.h"
#include "kernel/kernel.h"

/// The plan of a whole program, independent of any back end: which arrays exist, in which order kernels and
/// streams run, and exactly how many bytes and how much work each of them needs for a given chunk.
///
/// There are two kinds of groups. The *global* group holds what is computed once per run: inputs, avoided
/// arrays, results of streams. Every stage has a *chunk* group, executed for every chunk of its stream. Sizes
/// that depend on values are themselves computed by small kernels (one int64 per item) and turned into
/// offsets by a scan, before anything of that shape is allocated: nothing is ever guessed.
namespace anabranch::plan {

using kernel::Check;
using kernel::Kernel;
using kernel::KernelArray;
using kernel::KernelExtent;
using kernel::KernelScalar;

/// One extent of an array, as the runtime finds it.
struct PlanExtent {
  enum class Kind : std::uint8_t {
    constant,  ///< value
    uniform,   ///< group.uniforms[index]
    per_item,  ///< element `item` of the group's array `index` (int64, rank 0, regular): from a size kernel
    item_extent,  ///< extent `dimension` of the source's item array `index`: offsets or the source's extents
  };
  Kind kind = Kind::constant;
  std::int64_t value = 0;
  int index = 0;
  int dimension = 0;
  /// For all items.
  bool same_for_all() const { return kind == Kind::constant || kind == Kind::uniform; }
  friend bool operator==(const PlanExtent&, const PlanExtent&) = default;
};

/// Of the items of a domain no more than `uniform`, of the global group, exist.
struct ItemBound {
  int uniform = 0;
  ir::Ref take;  ///< for messages
};

/// Items over which arrays of a chunk exist, in the order of the stream. Every array of a chunk group belongs
/// to one domain, and each domain has its own number of items in a chunk.
struct ItemDomain {
  int parent = -1;                ///< the domain that its items are chosen from; -1: the sources give them
  std::vector<ItemBound> bounds;  ///< a prefix: as many items as the least of them
  bool first_only = false;        ///< of the parent's items in a chunk the first
};

/// The offsets of segmented arrays that have these extents.
struct Descriptor {
  int domain = 0;                   ///< of the group: whose items they are of
  int item = -1;                    ///< >= 0: the source's own offsets for this item array
  std::vector<PlanExtent> extents;  ///< else: item sizes are their products; a scan step makes the offsets
  std::string what;                 ///< for messages
  Place place;
};

/// Where the elements of an array lie in a chunk, or how many positions a kernel has.
struct PlanLayout {
  ir::Form form = ir::Form::avoided;
  int domain = 0;  ///< of a chunk group: over whose items it exists
  std::vector<PlanExtent> extents;
  int descriptor = -1;  ///< segmented only
  friend bool operator==(const PlanLayout&, const PlanLayout&) = default;
};

/// A component of an array of the same group, or of none.
struct ArrayPart {
  int array = -1;
  int component = 0;
  friend bool operator==(const ArrayPart&, const ArrayPart&) = default;
};

struct PlanArray : PlanLayout {
  enum class Origin : std::uint8_t {
    use,       ///< a host array inside the program
    argument,  ///< argument `index` of the run
    stream,    ///< what sink `part` of stage `index` gives
    control,   ///< array `part` of those that loop or branch `index` gives
    nested,    ///< by the program of a sequence inside of the stage: see NestedStep
    view,  ///< elements of the global array `index`, of each item from where the group's array `part` says;
           ///< `consecutive`: one item after the other
    components,  ///< some components of array `index`, where these lie
    item,        ///< item array `index` of the stage
    computed,    ///< by a kernel of the group
  };
  ir::Ref node;
  ir::ArrayType type;
  Origin origin = Origin::computed;
  int index = 0;
  int part = 0;
  bool consecutive = false;
  bool overlap =
      false;  ///< items that may lie over each other: ArrayChunk::extents[rank] says where each begins
  std::vector<int> components = {};
  int result = -1;  ///< chunk groups: directly written as stage result `result` (the last one, if several)
  int copy_of_item = -1;  ///< of this item array of the stage, element by element
  int last_step = -1;     ///< the last step of the group that reads it
  /// Per component: in whose memory it lies from the step on that reads that for the last time and makes this array; of
  /// none: in its own. Empty: all are. (in_place.h)
  std::vector<ArrayPart> in_place_of;
  std::string why;  ///< why it is stored
};

/// What a kernel's buffer slot is bound to.
struct BufferRef {
  enum class Kind : std::uint8_t { array, offsets, item_extents };
  Kind kind = Kind::array;
  bool global = false;  ///< array of the global group
  int index = 0;        ///< array, descriptor, or item array
  int component = 0;    ///< of the array; for item_extents: the dimension, or the rank: where the items begin
  int view = -1;        ///< the consecutive view by which a global array is read: the chunk's part of it
  friend bool operator==(const BufferRef&, const BufferRef&) = default;
};

/// A kernel for a chunk of which all items turn out to be of one shape: what was segmented is regular there.
struct EqualItems {
  Kernel kernel;
  /// Extents that have to be the same for all items of the chunk; their values are the kernel's last scalars.
  std::vector<PlanExtent> extents;
  int length = -1;               ///< which of them is the rows' length; -1: none
  std::int64_t from_length = 0;  ///< rows that are shorter are computed faster as they are
};

/// In place of a uniform: the number of the chunk's first item in its stream.
constexpr int first_item = -1;

struct KernelStep {
  Kernel kernel;
  PlanLayout positions;            ///< that the kernel computes
  std::vector<BufferRef> buffers;  ///< per buffer slot
  std::vector<int> scalars;        ///< per scalar slot: index into the group's uniforms, or first_item
  std::vector<int> outputs;        ///< arrays of the group, each once, in the order of kernel.outputs
  /// Arrays are made by the step that writes them first. Another one may write further elements of them.
  bool makes_outputs = true;
  std::shared_ptr<const EqualItems> equal_items{};  ///< null: there is nothing that may turn out so
};
/// Offsets of group.descriptors[descriptor] from the sizes of the items; refuses negative extents and
/// overflow.
struct OffsetsStep {
  int descriptor = 0;
};
/// A condition on every element of int64 array `array`, or on the uniform. Else a RunError.
struct RequireStep {
  enum class Kind : std::uint8_t {
    same_size,  ///< is 0: the number of elements that a reshape asks for, less that of the array
    extent,     ///< is not negative
    items,      ///< likewise, a number of items
  } kind = Kind::same_size;
  int array = -1;
  int uniform = -1;
  std::string what;  ///< for the message: the operation's label
  Place place;
};
/// A routine of the library, src/rearrange, from arrays to arrays: the operation of `node` in each item, or once.
struct RearrangeStep {
  struct Input {
    bool global = false;  ///< array of the global group
    int index = 0;
  };
  ir::Ref node;
  std::vector<Input> inputs;  ///< the operation's arrays, in their order
  std::vector<int> outputs;   ///< per array that it gives: of the group; -1: not asked for
};
/// Throws the RunError where the value is not as required.
void require(const RequireStep& step, std::int64_t value, std::int64_t item);
/// The program of a sequence inside of the stage, once for all items of a chunk: StagePlan::nested[number]. Its first
/// argument is the number of items.
struct NestedStep {
  int number = 0;
  std::vector<RearrangeStep::Input>
      inputs;                ///< its other arguments; of the group's arrays the elements of all items
  std::vector<int> outputs;  ///< per result of the program, all vectors: array of the group; -1: none
};
using Step = std::variant<KernelStep, OffsetsStep, RequireStep, RearrangeStep, NestedStep>;

struct Group {
  std::vector<ItemDomain> domains;  ///< of a chunk group; the first is what the sources give
  std::vector<ir::Ref> uniforms;    ///< int64 expressions, evaluated on the host when first needed
  std::vector<PlanArray> arrays;
  std::vector<Descriptor> descriptors;
  std::vector<Step> steps;
};

struct Plan;

/// An array of items that other stages feed.
struct FedArray {
  ir::Scalars scalars;
  std::vector<int>
      extents;           ///< per dimension the global uniform that it is; -1: it differs from item to item
  bool overlap = false;  ///< PlanArray::overlap
};

struct StagePlan {
  std::vector<ir::StageSource> sources;
  /// What a source or sink is made with, in the order of its operands: numbers of global arrays, of global uniforms, and of the
  /// plan's bodies.
  struct Inputs {
    std::vector<int> arrays, uniforms, bodies;
  };
  std::vector<Inputs> source_inputs, sink_inputs;  ///< per source, per sink
  std::vector<std::vector<FedArray>> fed;          ///< for each source that is fed: its items' arrays
  bool feeds = false;  ///< another stage reads its results, chunk by chunk, and runs it
  std::vector<ir::Stage::Sink> sinks;
  std::vector<int> results;  ///< group array that holds result r of a chunk
  Group group;
  std::vector<Plan> nested;  ///< programs of sequences inside of the stage
};

/// A step of the global group.
struct StepAction {
  int step = 0;
};
/// A whole stage.
struct StageAction {
  int stage = 0;
  std::vector<int> with = {};  ///< stages that run at the same time
};
/// The first of `state`, body(state), body(body(state)), ... of which the predicate does not hold. A body is
/// a plan of its own, which is run with arrays as arguments.
struct LoopAction {
  int number = 0;          ///< among the loops and branches of the plan
  std::vector<int> state;  ///< global arrays: what the first round takes
  std::vector<ir::Scalars>
      collected;                ///< vectors that a round gives after the next state: all rounds' are joined
  int predicate = 0, body = 0;  ///< of the plan's bodies
  /// Whether a round may overwrite an array of the state, because nobody else has it. One for each.
  struct Own {
    bool at_first = false;  ///< the first round, if the array is the run's own
    bool made = false;      ///< the next one: the round has computed it
    int passed_on = -1;     ///< the next one, if this of its state was the round's own: it has passed that on
    friend bool operator==(const Own&, const Own&) = default;
  };
  std::vector<Own> own{};
};
/// `then` where the uniform is not 0, else `otherwise`.
struct BranchAction {
  int number = 0;
  int condition = 0;
  int then = 0, otherwise = 0;
};
/// What the run does at top level, in order. Whoever must know what there is visits it.
using Action = std::variant<StepAction, StageAction, LoopAction, BranchAction>;

struct Body;

struct Plan {
  Group global;
  std::vector<StagePlan> stages;
  std::vector<Body> bodies;  ///< of loops and branches
  std::vector<Action> actions;
  std::vector<std::vector<int>> last_needed;  ///< per action: global arrays that the run forgets after it
  std::vector<int> results;                   ///< global arrays
  std::vector<ir::Ref> parameters;
};

/// A plan inside of a plan. Its arguments are the state, if it is a loop's, and then what it captures.
struct Body {
  std::vector<int> captured;  ///< global arrays of the outer plan
  Plan plan;
};

/// f(group) for each group of the plan and of the plans inside of it.
template <class F>
void each_group(const Plan& plan, F&& f);
template <class F>
void each_group(const StagePlan& stage, F&& f) {
  f(stage.group);
  for (const Plan& nested : stage.nested) each_group(nested, f);
}
template <class F>
void each_group(const Plan& plan, F&& f) {
  f(plan.global);
  for (const StagePlan& stage : plan.stages) each_group(stage, f);
  for (const Body& body : plan.bodies) each_group(body.plan, f);
}

/// Whether it prints lines (`trace`).
template <class PlanOrStage>
bool prints(const PlanOrStage& plan) {
  bool found = false;
  each_group(plan, [&](const Group& group) {
    for (const Step& step : group.steps)
      if (const auto* rearrange = std::get_if<RearrangeStep>(&step))
        found |= rearrange->node->op() == ir::Op::trace;
  });
  return found;
}

/// The extents a chunk really has: what sizes are evaluated on.
struct ChunkShape {
  std::vector<std::int64_t> items;              ///< per domain of the group
  std::vector<std::int64_t> uniforms;           ///< per group uniform (0 where not evaluated yet)
  std::vector<std::int64_t> descriptor_totals;  ///< elements under each descriptor
  std::int64_t first_item = ir::no_item;        ///< its number in the stream, for messages
};

/// Exact number of elements of an array of the group in such a chunk.
/// Throws RunError on negative extents or overflow.
std::int64_t elements_of(const PlanArray& array, const ChunkShape& shape);
/// Positions of a kernel's domain, all items together. Throws RunError where there are too many.
std::int64_t positions_of(const KernelStep& step, const ChunkShape& shape);
/// Exact bytes of all its components.
std::int64_t bytes_of(const PlanArray& array, const ChunkShape& shape);

/// The same as a readable expression: "8 B x items", "12 B x elements of item 0".
std::string size_text(const Group& group, const PlanArray& array);

/// Readable listing of the whole plan, those inside of it indented.
std::string to_string(const Plan& plan);

}  // namespace anabranch::plan
