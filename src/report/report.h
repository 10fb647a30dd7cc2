#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <anabranch/error.h>

#include "ir/form.h"
#include "ir/staged.h"
#include "kernel/access.h"
#include "plan/plan.h"

/// What the compiler made of a program and why, as data: `explain` prints it, expectations (expect.h) are held against
/// it. Nothing is decided here. Forms and their reasons come from lifting, what is stored and why from array fusion, kernels
/// from the plan, and how reads reach memory from the rules that the code generator for the CPU follows (kernel/access.h).
namespace anabranch::report {

/// An array computation.
struct Operation {
  std::string name;  ///< a5
  std::string label;
  std::string type;
  ir::Form form = ir::Form::avoided;
  std::string reason;  ///< for the form
  std::string stored;  ///< why it is stored; empty: it is computed inside of its readers
  Place place;
  std::vector<std::string> reads;  ///< operations whose elements it takes
  std::vector<int> kernels;        ///< that compute it: its own, or those of its readers
};

/// Bytes that a step moves: `each` x `times`.
struct Traffic {
  std::int64_t each = 0;
  std::string times;     ///< "items", "elements of a1", "once"
  bool at_most = false;  ///< what is read is read where it is needed
};

enum class CheckKind : std::uint8_t {
  own_element,  ///< none: the element at the reader's own position
  known,        ///< none: in range, as is known when the program is compiled
  checked,      ///< the index is compared with the extent, wherever it is read
  at_borders,   ///< only near the ends of a row; the code for what is between has none
};
const char* name_of(CheckKind kind);

/// A place in a kernel that reads elements of a stored array.
struct Read {
  std::string array;
  int number = 0;     ///< of it in the kernel's listing
  std::string label;  ///< of the operation that reads
  Place place;
  kernel::AccessPattern pattern = kernel::AccessPattern::gathered;
  std::string stride;  ///< strided: how far apart, in elements
  bool inside_borders =
      false;  ///< `pattern` holds between the borders of a row; near them elements are gathered
  bool where_needed = false;  ///< on one side of a conditional, or in a loop
  CheckKind check = CheckKind::checked;
  std::string why;  ///< the check is there, or is not
  Traffic bytes;    ///< of the components that are used
};

/// Another check that a kernel makes.
struct OtherCheck {
  std::string what;  ///< "division by zero", "empty row"
  std::string label;
  Place place;
};

struct Kernel {
  int number = 0;  ///< from 1
  std::string name;
  std::string form;  ///< map, fold, scan, recurrence
  Place place;
  std::string lanes;                  ///< what neighbouring lanes compute
  std::vector<std::string> computes;  ///< operations whose arrays it writes
  std::vector<std::string> fused;     ///< operations that exist only inside of it and of other kernels
  std::vector<Read> reads;
  std::vector<OtherCheck> checks;
  std::vector<std::pair<std::string, Traffic>> read_bytes;  ///< per array; of offsets and extents, too
  std::vector<std::pair<std::string, Traffic>> written_bytes;
  int operations = 0;        ///< an element, in additions
  bool equal_items = false;  ///< there is another one for chunks whose items are of one shape
  std::string listing;
};

/// What is done, in this order.
struct Step {
  enum class Kind : std::uint8_t { kernel, offsets, check, routine, inner } kind = Kind::kernel;
  int kernel = -1;   ///< of Report::kernels
  std::string text;  ///< of all others
};

/// What is computed once, or for every chunk of a stream.
struct Part {
  std::string title;  ///< "once per run", "stream 0"; of a program inside "in every round", "for every chunk"
  bool stream = false;
  Place place;
  std::string inside;  ///< title of the part around it, if it is a program inside of one
  int depth = 0;
  std::vector<Operation> operations;
  std::vector<std::string> remarks;  ///< bounds of what is read, sinks, what inner programs give
  std::vector<Step> steps;
};

/// Who reads a stored array.
struct Reader {
  std::string what;  ///< "kernel 2, fold", "sort", "awhile"
  Place place;
  bool each_round = false;  ///< of a loop
  bool by_rows = false;     ///< a stream whose items are its rows
};

/// An array in memory.
struct StoredArray {
  enum class Maker : std::uint8_t {
    host,    ///< an input that is held whole
    source,  ///< items of a stream
    kernel,
    routine,
    stream,   ///< all that a stream gives
    control,  ///< a loop or a branch
    inner,    ///< a program inside of a stream's function
    view,     ///< part of another one
  } maker = Maker::kernel;
  std::string name, label, type;
  Place place;
  std::string why;
  std::string made_by;
  std::vector<int> kernels;  ///< that make it
  Traffic bytes;
  std::vector<std::string> in_place_of;  ///< names of the arrays that it is written over
  bool of_extents = false;               ///< sizes of items: no array of the program
  bool decides_shapes = false;           ///< the host reads it to compute extents
  bool decides_branches = false;         ///< the host reads it to choose a side of a branch
  bool is_result = false;                ///< of the program, of a stream's function or of a body
  bool is_state = false;                 ///< of a loop, in its predicate or body
  int depth = 0;                         ///< of the program that it belongs to
  bool of_chunk = false;                 ///< it lives as long as a chunk
  bool of_items = false;                 ///< of a program inside of a stream's function
  std::vector<Reader> read_by;
};

/// A stream and who reads it.
struct Source {
  std::string label;
  Place place;
  std::vector<Reader> read_by;  ///< parts that traverse it
};

/// A loop, which keeps its state from round to round.
struct Loop {
  std::string label;
  Place place;
};

struct Pass {
  std::string name;
  double seconds = 0;
};

struct Report {
  std::vector<std::string> program;  ///< after sharing and contraction: one term each
  std::vector<Part> parts;           ///< outer ones before those inside
  std::vector<Kernel> kernels;
  std::vector<StoredArray> stored;
  std::vector<Source> sources;
  std::vector<Loop> loops;
  std::string result;  ///< operation and place of the first result
  std::vector<Pass> passes;
};

/// `program`: as it was before sequence fusion. Without passes.
Report make(std::span<const ir::Ref> program, const ir::Staged& staged, const plan::Plan& plan);

/// "kernel 1", "kernels 1, 2".
std::string names_of(const std::vector<int>& kernels);

/// For a person.
std::string to_text(const Report& report);
/// One object; its members are described in docs/explain.md.
std::string to_json(const Report& report);
/// A graph in the language of Graphviz: operations, in a box for each kernel, and what they read.
std::string to_dot(const Report& report);

}  // namespace anabranch::report
