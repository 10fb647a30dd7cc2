#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cpu/llvm/frame.h"
#include "kernel/interior.h"
#include "kernel/known_gather.h"
#include "kernel/motion.h"
#include "kernel/regions.h"

namespace anabranch::cpu {

using kernel::Assumed;
using kernel::Region;
using kernel::Regions;

/// One scalar of the language in generated code, for all lanes at once.
struct Value {
  enum class Kind : unsigned char {
    uniform,  ///< the same in every lane: `v` is a scalar
    affine,   ///< integer `v` + lane * stride; `v` is a scalar
    varying,  ///< `v` is a vector of one value per lane
  };
  Kind kind = Kind::uniform;
  llvm::Value* v = nullptr;
  std::int64_t stride = 0;
  /// varying int64 only: lane j is also sign_extend(memory[j]) + offset. Code that wants the lanes one by one
  /// (gathers) then loads them from there, which is cheaper than taking a vector apart.
  llvm::Value* memory = nullptr;
  ScalarType memory_type = ScalarType::int64;
  llvm::Value* offset = nullptr;  ///< null: 0
  llvm::Value* narrow = nullptr;  ///< varying int64: the int32 vector whose sign extension it is

  bool uniform() const { return kind == Kind::uniform; }
  /// Of an int64.
  kernel::Motion motion() const;
};
using Values = std::vector<Value>;

/// The current item's part of an array or of the domain, or that of the lane's item.
struct ItemPart {
  Value base;  ///< position of the item's first element
  std::vector<Value> extents;
};

/// An array as the code at hand sees it.
struct View : ItemPart {
  std::vector<llvm::Value*> buffers;  ///< per component
};

/// How often a node is computed: what depends on nothing but the launch once per piece, and so on.
enum class Level : unsigned char { launch, item, row, lane };

/// Emits scalar expressions for `width` lanes side by side (SPMD). Width 1 gives plain scalar code.
///
/// Code is only reached when at least one lane is active, but where `may_rest` says that none need be; `mask` says which
/// ones are (null: all). Inactive lanes hold arbitrary values, never touch memory and never count in a check.
class Emitter {
 public:
  Emitter(Frame& frame, const kernel::Kernel& kernel, const Machine& machine);

  Frame& frame;
  llvm::IRBuilder<>& b;

  // What the lanes are.
  int width = 1;
  llvm::Value* mask = nullptr;
  bool may_rest = false;  ///< inside a short side of a conditional, which is computed without a branch
  /// Set while a kernel runs over flat positions: reads for which `is_pointwise` holds are at this position.
  Value flat_position;
  std::function<bool(const ir::Node&)> is_pointwise;
  /// Set while a loop reads along its rows: reads of consecutive elements prefetch this many elements ahead.
  llvm::Value* ahead = nullptr;
  /// Set while code is emitted for positions at which this holds.
  const Assumed* assumed = nullptr;

  // Environment. Bindings made after mark() go away with undo().
  std::size_t mark() const { return log_.size(); }
  void undo(std::size_t mark);
  void bind(const ir::Node& node, Values values);
  using Bindings = std::vector<std::pair<const ir::Node*, Values>>;
  /// Those that were made after mark() and are still there, to be made again by `bind`.
  Bindings made_since(std::size_t mark) const;
  void bind(const Bindings& bindings);
  const Values& values(const ir::Node& node) const { return environment_.at(&node); }
  bool knows(const ir::Node& node) const { return environment_.contains(&node); }
  Value value(const ir::Ref& node) const { return environment_.at(node.get())[0]; }
  void set_view(const ir::Node& parameter, View view) { views_[&parameter] = std::move(view); }
  const Value& base_of(const ir::Node& parameter) const { return views_.at(&parameter).base; }
  const std::vector<Value>& extents_of(const ir::Node& parameter) const {
    return views_.at(&parameter).extents;
  }
  llvm::Value* buffer_of(const ir::Node& parameter, std::size_t component) const {
    return views_.at(&parameter).buffers[component];
  }
  /// Of an array of rank 0, one for all lanes, whose elements have one component.
  llvm::Value* only_element(const ir::Node& parameter);
  void set_level(const ir::Node& parameter, Level level) { levels_[&parameter] = level; }
  Level level_of(const ir::Node& node) const;

  /// The nodes of the unconditional region that belong to `level`.
  void emit_level(const Regions& regions, Level level);
  /// Those of them that may be evaluated even if nothing needs them.
  void emit_certain(const Regions& regions, Level level);
  /// All nodes of a region.
  void emit_region(const Regions& regions, int region);

  // Kernel data.
  Value extent(const kernel::KernelExtent& extent, const Value& item);
  ItemPart part(const kernel::Layout& layout, const Value& item);
  View view(const kernel::KernelArray& array, const Value& item);
  llvm::Value* offset_at(int slot, OffsetType type, llvm::Value* index);

  // Values and memory.
  llvm::Type* type_of(ScalarType type) const;         ///< in a register; half: its bits, as an integer
  llvm::Type* memory_type_of(ScalarType type) const;  ///< bool: a byte
  llvm::Type* vector_type(llvm::Type* scalar) const;  ///< `scalar` itself at width 1
  Value uniform(llvm::Value* v) const { return {Value::Kind::uniform, v}; }
  Value affine(llvm::Value* v, std::int64_t stride) const;
  Value varying(llvm::Value* v) const;
  /// One register that holds all lanes.
  llvm::Value* lanes(const Value& value);
  Value add(const Value& x, const Value& y);
  Value multiply(const Value& x, const Value& y);
  Value load(llvm::Value* buffer, ScalarType type, const Value& position, llvm::Value* active);
  void store(llvm::Value* buffer, ScalarType type, const Value& position, const Value& value);
  llvm::Value* any(llvm::Value* lanes_mask);
  int registers_of(const ir::Type& type) const;
  /// The same of a vector of any length.
  llvm::Value* any_lane(llvm::Value* lanes_mask);
  llvm::Value* to_memory(ScalarType type, llvm::Value* v);
  llvm::Value* from_memory(ScalarType type, llvm::Value* v);
  llvm::Value* constant(ScalarType type, std::uint64_t bits) const;

 private:
  void emit(const Regions& regions, int region, const ir::Node& node);
  bool emit_assumed(const ir::Node& node);
  Values cond(const Regions& regions, int region, const ir::Node& node);
  Values uniform_cond(const Regions& regions, int inner, const ir::Node& node, llvm::Value* condition);
  Values divergent_cond(const Regions& regions, int inner, const ir::Node& node, llvm::Value* condition);
  Values side(const Regions& regions, int region, const ir::Node& result, llvm::Value* active);
  bool flattens(const Regions& regions, int region) const;
  Values loop(const Regions& regions, int region, const ir::Node& node);
  Values uniform_loop(const Regions& regions, int region, const ir::Node& node, const Values& initial);
  Values divergent_loop(const Regions& regions, int region, const ir::Node& node, const Values& initial);
  bool varies(const ir::Node& node) const;

  // emit_read.cpp
  struct Test {
    Value index, bound;
  };
  Values read(const ir::Node& node);
  void fetch_ahead(const View& from, const ir::Node& array);
  Values access(const View& view, const ir::Node& array, const Value& position, llvm::Value* active);
  llvm::Value* turned(llvm::Value* v);
  Value load_backwards(llvm::Value* buffer, ScalarType type, llvm::Value* position, llvm::Value* active);
  Value load_every_other(llvm::Value* buffer, ScalarType type, llvm::Value* position);
  Value gather(llvm::Value* buffer, ScalarType type, const Value& position, llvm::Value* active);
  llvm::Value* gather_narrow(llvm::Type* cells, llvm::Value* addresses, llvm::Value* active);
  bool emit_byte_word(const ir::Node& node);
  Value load_byte_word(llvm::Value* buffer, ScalarType type, const Value& position);
  llvm::Value* in_range_all(const Test& test);
  llvm::Value* in_range(const Test& test);
  void require(int check, std::span<const Test> tests);
  llvm::Value* in_lane(const Value& value, llvm::Value* lane);
  int check_of(const ir::Node& node) const;

  // emit_primitive.cpp
  Value primitive(const ir::Node& node);
  Value apply(const ir::Node& node, std::span<const Value> operands);
  class PrimitiveBuilder;
  /// y; where a lane may have no quotient, 1 in those that are not active. Leaves the function if an active lane has none.
  llvm::Value* checked_divisor(const ir::Node& node, llvm::Value* x, llvm::Value* y);
  llvm::Value* quotient(ScalarType type, llvm::Value* x, llvm::Value* y);
  llvm::Value* wide_quotient(bool is_signed, llvm::Value* x, llvm::Value* y);
  llvm::Value* float_remainder(ScalarType type, llvm::Value* x, llvm::Value* y);
  llvm::Value* double_remainders(llvm::Value* x, llvm::Value* y);
  /// What `other` gives if any active lane is one of these, else what `usual` gives: one of both is executed.
  llvm::Value* unless_any(llvm::Value* lanes, const std::function<llvm::Value*()>& usual,
                          const std::function<llvm::Value*()>& other);

  // emit_mathematical.cpp
  llvm::Value* mathematical(ir::Primitive primitive, ScalarType type, llvm::Value* x, llvm::Value* y);
  llvm::Value* call_routine(ir::Primitive primitive, ScalarType type, llvm::Value* x, llvm::Value* y);

  const kernel::Kernel& kernel_;
  const Machine& machine_;
  const std::optional<kernel::KnownGather> known_gather_;
  std::unordered_map<const ir::Node*, Values> environment_;
  Bindings log_;  ///< what a binding hid (empty: nothing)
  std::unordered_map<const ir::Node*, View> views_;
  std::unordered_map<const ir::Node*, Level> levels_;
  std::unordered_map<const ir::Node*, int> checks_;
};

}  // namespace anabranch::cpu
