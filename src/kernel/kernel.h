#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/fold_order.h"
#include "ir/form.h"
#include "ir/node.h"
#include "ir/overloaded.h"

/// A kernel: one parallel loop nest over a domain, independent of any back end. It is self-contained: it
/// names no program, no buffer of the plan, only its own *slots*, which the plan binds at launch. So equal
/// kernels of different programs are one cache entry, and a back end can be tested with kernels made by hand.
///
/// A chunk holds `items` items. Every array a kernel touches is laid out in one of three forms:
///   avoided    one array, the same for all items: element ix is at linear(ix)
///   regular    items x extents:                   element ix of item i is at i * size + linear(ix)
///   segmented  flat values + offsets[items + 1]:  element ix of item i is at offsets[i] + linear(ix),
///                                                 row-major in item i's own extents
/// (linear = row-major position; offsets count elements. offsets[0] may be any number: buffer pointers are
/// biased accordingly by the launcher.)
namespace anabranch::kernel {

using ir::Form;
using ir::name_of;
using ir::overloaded;
using ir::Prefixes;
using ir::ScanKind;

/// Where a kernel finds an int64 that is the same for all elements of an item: extents, mostly.
struct KernelExtent {
  enum class Kind : std::uint8_t {
    constant,  ///< `value`
    uniform,   ///< scalars[slot]: known when the kernel is launched
    per_item,  ///< buffers[slot][item], int64
    number,    ///< scalars[slot] + item: the item's number in its stream
    ragged,    ///< (offsets[item + 1] - offsets[item]) / (product of the inner extents): the outermost extent
               ///< of a segmented array whose other extents are uniform; the offsets are in buffers[slot],
               ///< `divisor` is that product
  };
  Kind kind = Kind::constant;
  std::int64_t value = 0;
  int slot = -1;
  OffsetType offsets = OffsetType::int64;  ///< ragged: width of buffers[slot]
  Kind divisor_kind = Kind::constant;      ///< ragged: constant or uniform
  std::int64_t divisor = 1;                ///< ragged: the constant, or the scalar slot
  bool same_for_all() const { return kind == Kind::constant || kind == Kind::uniform; }
  friend bool operator==(const KernelExtent&, const KernelExtent&) = default;
};

/// Where elements lie, or positions are counted, in one of the three forms.
struct Layout {
  Form form = Form::avoided;
  std::vector<KernelExtent> extents;  ///< one per dimension of an item, outermost first
  int offsets = -1;                   ///< segmented: buffer slot of the offsets
  OffsetType offset_type = OffsetType::int64;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The positions that a kernel computes.
struct Domain : Layout {
  bool over_items = false;  ///< else a program outside any stream: one item, everything avoided
};

/// A manifest array as one kernel sees it.
struct KernelArray : Layout {
  ir::Ref parameter;  ///< array parameter by which bodies mention it (null for outputs)
  ir::ArrayType type;
  int first_buffer = -1;  ///< component c is in buffer slot first_buffer + c (bool: one byte, 0 or 1)
  /// Read: outputs may lie in its memory, element by element. So nothing of it is read but at the position that is being
  /// computed, no position is computed after it has been stored, and its memory is no constant to the code.
  bool overwritten = false;
};

/// An array that a kernel writes.
struct KernelOutput {
  enum class Write : std::uint8_t {
    position,  ///< one result for each position of the domain, at that position: the domain's layout. Where it is one
               ///< `of` several for each position, at (position, which): their number is the innermost extent
    element,  ///< one for each element of the positions' rows: the domain's extents, and among them the rows'
              ///< length, or one more (Scan, all prefixes); as the innermost one, or where Scan::axis says
  };
  KernelArray array;
  std::size_t first =
      0;  ///< it stores the components from this one on: of the epilogue or, without, of the results
  Write write = Write::position;
  std::int64_t which = 0, of = 1;  ///< more than one: of a domain that is not segmented
};

/// A scalar the bodies mention that is bound per launch or per item rather than computed: an int64 parameter.
struct KernelScalar {
  ir::Ref parameter;
  KernelExtent value;
};

/// A place in the bodies that can fail at run time. Kernels never trap: they compute something harmless,
/// record the failure and return or go on; the launcher turns a recorded failure into a RunError.
struct Check {
  enum class Kind : std::uint8_t { index, division, empty_fold };
  Kind kind = Kind::index;
  const ir::Node* node = nullptr;  ///< the index / linear_index / divide / remainder node (empty_fold: null)
  std::string what;                ///< for the message: the operation's label
  Place place;
};

/// What a kernel does with its bodies' values. Code that depends on the form visits it with `overloaded`, so
/// that a new form does not compile until every such place handles it.

/// A position's results are the values of the bodies there.
struct Map {};

/// The elements that forms with rows have at every position of the domain.
struct Row {
  ir::Ref index;        ///< int64 parameter: the element's number in its row
  KernelExtent length;  ///< elements of a row
  /// Where the rows' elements lie, so that work can be split by elements: set when rows have per-item lengths
  /// and the array that they are read from has offsets in a buffer. Row lengths of item i then add up to
  /// offsets[i + 1] - offsets[i].
  int work_offsets = -1;
  OffsetType work_offset_type = OffsetType::int64;
};

/// One operator over some components of the elements.
struct Reduction {
  std::vector<ir::Ref> left, right;  ///< scalar parameters of the operator, per component
  std::vector<ir::Ref> combine;      ///< its results, per component
  std::vector<ir::Ref> seed;         ///< per component, over `index`; empty: fold1 (an empty row is an error)
};

/// A position's results are, for each reduction, seed o its components of element 0 o element 1 o ..., in the
/// canonical order of the class that all their operators are of. The first reduction has the elements' first
/// components, the second those after them, and so on.
struct Reduce {
  Row row;
  ir::fold_order::OperatorClass order = ir::fold_order::OperatorClass::ordered;
  std::vector<Reduction> reductions;
};

/// The prefixes of every row, in the canonical order of scans (ir/scan_order.h). An output that is written by elements
/// has the prefixes of the kind: inclusive ones, or the seed first, in which case all but the last inclusive one follow
/// (exclusive) or all of them. From the right the row's last element comes first, and the first prefix is the last
/// element of the output. The operator's left operand is what has been joined so far, in either direction. An output that
/// is written by positions is the last inclusive prefix of the row; of a row without elements the seed.
struct Scan {
  Row row;
  Reduction
      reduction;  ///< one operator, over all components. Without a seed there are inclusive prefixes only
  ScanKind kind;
  /// The rows' dimension in outputs that are written by elements, if it is not the innermost: neighbouring positions have
  /// their elements side by side then, and those of a row are apart.
  std::optional<int> axis;
};

/// The states of every row: element i of an output is the state after element i of the row. The bodies are the state
/// after an element, of the state before it and whatever they read; before the first element it is `initial`. One
/// element after the other.
struct Recurrence {
  Row row;
  std::vector<ir::Ref> state;    ///< scalar parameters of the bodies, per component: the state before
  std::vector<ir::Ref> initial;  ///< per component, over `index`
};

using KernelForm = std::variant<Map, Reduce, Scan, Recurrence>;

/// What is stored where a form with rows has its results: scalar code over these, the position and, of outputs that are
/// written by elements, the number of the element in the output. It cannot fail, and has no loops.
struct Epilogue {
  std::vector<ir::Ref> results;  ///< scalar parameters of the body: the form's results, per component
  std::vector<ir::Ref> body;     ///< per component that outputs may store; empty: they store the results
};

/// All bodies are scalar expressions (ir::ScalarOp) over: `index` parameters, `scalars` parameters,
/// what the form binds, and index / linear_index reads of `arrays` parameters. They hold no shape, no array
/// computation. Reads of a regular or segmented array are reads of the current item's part. An index node
/// with payload().in_bounds needs no check; every other index and every division that may fail (ir::can_fail) has an
/// entry in `checks`. So has the first reduction without a seed: a row without elements is its error.
struct Kernel {
  std::string name;  ///< for people: "fold(zip_with)@smvm.cpp:12"; not part of the key
  Place place;

  Domain domain;
  std::vector<KernelArray> arrays;  ///< read
  std::vector<KernelScalar> scalars;
  std::vector<ir::Ref> index;  ///< int64 parameters, one per dimension of the domain
  std::vector<ir::Ref> body;   ///< per component: of a position, or of an element of its row
  KernelForm form;
  Epilogue epilogue;
  std::vector<KernelOutput> outputs;

  std::vector<Check> checks;
  int buffer_slots = 0;  ///< how many buffers the launcher must bind
  int scalar_slots = 0;  ///< how many int64 scalars
  int operations = 0;    ///< additions-equivalents per element (cost model)
};

/// The rows of a position, or null where the form has none.
const Row* row_of(const Kernel& kernel);
/// The types of the results' components.
std::vector<ScalarType> result_types(const Kernel& kernel);
/// The types of the components that outputs may store.
std::vector<ScalarType> stored_types(const Kernel& kernel);
/// "map", "fold", "scan", "recurrence".
const char* name_of_form(const Kernel& kernel);
/// The bodies that the kernel has beside `kernel.body`: the form's, and the epilogue's.
std::vector<const std::vector<ir::Ref>*> other_bodies(const Kernel& kernel);
/// Is it a fold or scan of rows whose lengths differ? Most are short, then, and code for short ones is made first.
bool has_short_rows(const Kernel& kernel);
/// Has a row without elements no result? That of a fold is its seed, that of a scan may be a total, or one prefix more.
bool leaves_out_empty_rows(const Kernel& kernel);
/// Is there a seed wherever a row may have no element?
bool all_seeded(const Reduce& reduce);
/// May an output lie in the memory of what the kernel reads?
bool writes_in_place(const Kernel& kernel);
/// Number of the check for rows without elements.
int empty_check(const Kernel& kernel);

/// One text that determines the generated code: canonical, without names and places. Cache key.
std::string key_of(const Kernel& kernel);

/// Readable listing. (In text.cpp, as key_of.)
std::string to_string(const Kernel& kernel);

/// Checks every promise made above; throws InternalError naming the first one broken. (In verify.cpp.)
void verify(const Kernel& kernel);

}  // namespace anabranch::kernel
