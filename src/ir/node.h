#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/error.h>
#include <anabranch/source.h>

#include "ir/primitive.h"
#include "ir/type.h"

/// The core language: one immutable, reference-counted node type for its three strata (scalar expressions,
/// array computations, sequence computations) and for functions. Nodes are made only by the checked
/// constructors of ir/make.h; a node's id is larger than those of its children, so sorting by id is a
/// topological order and no pass needs recursion.
///
/// Meaning (the interpreter executes this; every back end agrees with it):
///
///  scalar expressions. An element is a flat product of scalars.
///   parameter           a lambda's argument (element or array), identified by the node itself
///   constant            one scalar
///   primitive           see ir/primitive.h
///   tuple               concatenation of the components of its children
///   project             components [first, first + count) of its child
///   cond c t e          t if c else e; the other side is not evaluated observably
///   while_loop p f x    x while not p(x), else while_loop p f (f x)
///   index a ix          element of array a at ix (int64 x rank); out of range is a RunError
///   linear_index a i    element at row-major position i
///   shape a             the extents of a, int64 x rank, outermost first
///
///  functions.
///   lambda p... r...    parameters and results; scalar (element to one element) or array level
///
///  array computations.
///   use                 a host array
///   unit e              rank 0
///   generate sh f       element at ix is f(ix); negative extents are a RunError
///   map f a...          elementwise; the shape is the arguments' intersection: the minimum per dimension
///   fold f a [z]        reduces the innermost dimension in the canonical order of ir/fold_order.h; z is
///                       joined once, from the left, and need not be neutral; without z an empty row is a
///                       RunError
///   backpermute sh f a  element at ix is a[f(ix)]; out of range is a RunError
///   reshape sh a        same elements in row-major order; sizes must agree (RunError)
///   consume t           the result of a sequence terminal
///
///  sequence computations. Items are tuples of arrays.
///   stream_in           a Source
///   produce n f         items f(unit 0), ..., f(unit (n-1)); f takes an int64 scalar array
///   rows a              the sub-arrays along a's outermost dimension
///   map_seq f s...      f over the items of all streams, their components concatenated; the shortest ends it
///   project_seq s       components [first, first + count) of every item
///   elements s          terminal: all elements of all items (one component), row-major, one vector
///   tabulate s          terminal: items stacked on a new outermost dimension, each extent trimmed to the
///                       minimum over the whole stream (an empty stream: all extents 0)
namespace anabranch::ir {

enum class Op : std::uint8_t {
  parameter,
  constant,
  primitive,
  tuple,
  project,
  cond,
  while_loop,
  index,
  linear_index,
  shape,
  lambda,
  use,
  unit,
  generate,
  map,
  fold,
  backpermute,
  reshape,
  consume,
  stream_in,
  produce,
  rows,
  map_seq,
  project_seq,
  elements,
  tabulate,
};
inline constexpr int op_count = static_cast<int>(Op::tabulate) + 1;
const char* name_of(Op op);

class Node;

/// Owning handle to a node. Releasing the last handle to a deep program does not recurse.
class Ref {
 public:
  Ref() = default;
  explicit Ref(const Node* node) noexcept;
  Ref(const Ref& other) noexcept;
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Ref();

  const Node* get() const { return node_; }
  const Node& operator*() const { return *node_; }
  const Node* operator->() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  /// For owners that keep a reference outside of any Ref
  /// (the public handle): retain adds one, release gives it back.
  static void retain(const Node* node) noexcept;
  static void release(const Node* node) noexcept;
  friend bool operator==(const Ref& a, const Ref& b) { return a.node_ == b.node_; }

 private:
  friend class Node;
  const Node* node_ = nullptr;
};

/// The free parameters of a node, by id, sorted. Shared between nodes that have the same set.
using FreeParameters = std::shared_ptr<const std::vector<const Node*>>;

/// What a node carries beside its type and children. Only the fields its op names are meaningful.
struct Payload {
  std::uint64_t bits = 0;  ///< constant: the scalar's bytes, zero-extended
  Primitive primitive{};   ///< primitive
  int first = 0;           ///< project, project_seq: first component. lambda: number of parameters
  int count = 0;           ///< project, project_seq
  std::shared_ptr<anabranch::detail::ArrayData> array;  ///< use
  std::shared_ptr<SourceBase> source;                   ///< stream_in
  /// The library name the user wrote where it is not the op's ("gather", "sum", "plus").
  Symbol label;
  /// In range by construction, so kernels do not check it. index, linear_index: set by passes only.
  /// backpermute: every index its function gives is in range (transpose, replicate).
  bool in_bounds = false;
  /// backpermute: no source element is read twice (slice, transpose), so fusing it duplicates no work.
  bool injective = false;
};

class Node {
 public:
  std::uint64_t id() const { return id_; }
  Op op() const { return op_; }
  const Type& type() const { return type_; }
  const Place& place() const { return place_; }
  const Payload& payload() const { return payload_; }
  std::span<const Ref> children() const { return children_; }
  const Ref& child(std::size_t i) const { return children_[i]; }
  const std::vector<const Node*>& free() const { return *free_; }
  const FreeParameters& shared_free() const { return free_; }
  bool closed() const { return free_->empty(); }
  /// parameter: a lambda has been made with it; what mentions it outside of that lambda has leaked.
  bool bound() const { return bound_.load(std::memory_order_relaxed); }
  /// The name to show a person.
  const char* label() const { return payload_.label ? payload_.label.c_str() : name_of(op_); }

  // lambda
  std::span<const Ref> parameters() const {
    return children().first(static_cast<std::size_t>(payload_.first));
  }
  std::span<const Ref> results() const {
    return children().subspan(static_cast<std::size_t>(payload_.first));
  }
  const Ref& result() const { return children_[static_cast<std::size_t>(payload_.first)]; }

 private:
  friend class Ref;
  friend class Maker;
  Node(Op op, Type type, std::vector<Ref> children, Payload payload, Place place, FreeParameters free);
  ~Node() = default;
  static void destroy(const Node* node) noexcept;

  mutable std::atomic<std::uint32_t> references_{0};
  mutable std::atomic<bool> bound_{false};
  Op op_;
  std::uint64_t id_;
  Type type_;
  std::vector<Ref> children_;
  Payload payload_;
  Place place_;
  FreeParameters free_;
};

inline void Ref::retain(const Node* node) noexcept {
  if (node) node->references_.fetch_add(1, std::memory_order_relaxed);
}
inline void Ref::release(const Node* node) noexcept {
  if (node && node->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Node::destroy(node);
}
inline Ref::Ref(const Node* node) noexcept : node_(node) { retain(node_); }
inline Ref::Ref(const Ref& other) noexcept : Ref(other.node_) {}
inline Ref::~Ref() { release(node_); }

}  // namespace anabranch::ir
