#pragma once

#include "fuse/options.h"
#include "ir/staged.h"

/// Segments of a computed vector. What a stage reads of a map or generate of which nothing else is read is computed where
/// the segment is read: a part of map(f, a, b) is map(f, part of a, part of b). So fold_seg(f, z, zip_with(g, a, b),
/// segments) stores no vector. A part of a reshaped array is one of the array; that it can be reshaped so is a
/// condition of the stage (ir::Stage::required).
namespace anabranch::fuse {

/// In the stages of a program, all of them composed.
void parts(ir::Staged& staged);

}  // namespace anabranch::fuse
