#pragma once

#include <functional>

#include "cpu/llvm/emitter.h"

/// The loop nests around the bodies.
namespace anabranch::cpu {

/// Emits the entry functions entry0, entry1, ... of a kernel into the module; gives their number. `short_rows`: of the
/// image for short rows (cpu/abi.h).
int emit_map(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine);
int emit_fold(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine, bool short_rows);
int emit_recurrence(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine);
int emit_scan(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine, bool short_rows);

/// How many lanes suit these bodies: as many as fill a vector register with their usual scalar.
int suitable_lanes(std::span<const ir::Ref> bodies, const Machine& machine);
/// How many times as many suit a map that computes them: more than one where operations wait for each other all along, as
/// in a hash.
int registers_side_by_side(std::span<const ir::Ref> bodies, const Machine& machine);

// What the skeletons share ---------------------------------------------------------------------------------

/// Levels of the kernel's parameters, and what does not depend on the item.
void enter_launch(Emitter& e, const kernel::Kernel& kernel);
/// What depends on the item (or the lanes' items).
void enter_item(Emitter& e, const kernel::Kernel& kernel, const Value& item);
/// The scalars among that.
void bind_scalars(Emitter& e, const kernel::Kernel& kernel, const Value& item);

/// A run of consecutive output positions inside one innermost row: positions [position, position + hi - lo),
/// which are [lo, hi) in the row.
struct Run {
  llvm::Value* item;
  std::vector<llvm::Value*> outer;  ///< index in the outer dimensions
  llvm::Value* position;
  llvm::Value* lo;
  llvm::Value* hi;
};
/// Cuts output positions [begin, end) into runs. With `inner` the innermost dimension of the output is the
/// run; else every position is one of its own. `in_item` is called once per item that has positions here,
/// before its runs.
void each_run(Emitter& e, const kernel::Kernel& kernel, llvm::Value* begin, llvm::Value* end,
              llvm::Value* first_item, bool inner, const std::function<void(llvm::Value* item)>& in_item,
              const std::function<void(const Run&)>& body);
/// Index in the output's first `dimensions` dimensions of the current item's position `local` in them.
std::vector<llvm::Value*> decode(Emitter& e, std::span<const Value> extents, llvm::Value* local);

/// Where output position 0 lies in the buffers.
llvm::Value* output_bias(Emitter& e, const kernel::Kernel& kernel);
/// The first output position of the item whose part of the domain this is.
llvm::Value* item_start(Emitter& e, const kernel::Kernel& kernel, const ItemPart& positions);

/// offset of a field of Scratch, loaded.
llvm::Value* scratch_field(Frame& frame, llvm::Value* scratch, std::size_t offset, llvm::Type* type);

/// In the image for short rows: has the row that the run is computed and stored by the image for rows of any length.
void call_for_row(Frame& frame, const Run& run);

}  // namespace anabranch::cpu
