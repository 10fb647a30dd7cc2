#pragma once

#include "kernel/kernel.h"

/// Reads that need no index: those at the position a kernel writes.
namespace anabranch::kernel {

/// The array that a read is of; null: it is no manifest one.
const KernelArray* array_of(const Kernel& kernel, const ir::Node& read);

/// Is the node a read at the domain's current position, of an array laid out like the domain?
bool is_pointwise(const Kernel& kernel, const ir::Node& node);

/// Is this array of the kernel, the `number`-th, laid out like the domain, and read nowhere else?
bool is_read_pointwise(const Kernel& kernel, std::size_t number);
/// Does the kernel compute each position once, and store it after all that it reads there? What it reads nowhere else may
/// then be overwritten. What can fail is computed again, to tell the first failure.
bool may_overwrite(const Kernel& kernel);

/// Is everything the kernel reads at the position it writes?
/// Then it runs over flat positions, whatever the shapes.
bool is_flat(const Kernel& kernel);

/// Does a map that cannot fail read an array across: neighbours along the innermost dimension are rows apart, and those
/// along the dimension before it side by side? Then it runs over tiles, in which what the cache loads is used up.
bool reads_across(const Kernel& kernel);
/// Does a reduction read its rows across, as one along an outer dimension does: elements of a row are rows of an array
/// apart, those of neighbouring rows side by side? It fails for rows without elements only, has few
/// components, and all rows are of one length.
bool reduces_across(const Kernel& kernel);
/// Does such a reduction, whose domain has two dimensions or more, read something that does not depend on the last but one
/// index? Neighbours along both dimensions then have elements in common, as in a product of matrices.
bool reduces_tiles(const Kernel& kernel);
/// Does a scan that cannot fail go along an outer dimension? Then rows are scanned side by side.
bool scans_across(const Kernel& kernel);
/// Rows of a tile, and the least number of rows that are reduced side by side.
inline constexpr std::int64_t tile_rows = 64;

/// Of a kernel with rows: is the node a read of the row's current element, of an array in which the elements
/// of all rows are contiguous, row after row?
bool at_own_element(const Kernel& kernel, const ir::Node& node);

/// Of a kernel with rows: are these the only reads except for what all rows share, and does nothing else
/// differ between elements? Then elements can be computed without knowing which row they belong to.
bool is_flat_fold(const Kernel& kernel);

/// Does an epilogue of results by positions read nothing but what lies at the position, and is all else the same for all
/// positions, or, of a kernel with one position for each item, for all of an item? Then neighbouring positions are stored
/// together. Without an epilogue: yes.
bool has_flat_epilogue(const Kernel& kernel);
/// The same of an epilogue of results by elements, and of elements one after the other, of whichever rows.
bool has_epilogue_along_rows(const Kernel& kernel);

/// Whether such a read of a row's element has a check. (Those that the plan makes have none.) Then an element
/// may not be computed before it is known to belong to the row.
bool checks_own_elements(const Kernel& kernel);

}  // namespace anabranch::kernel
