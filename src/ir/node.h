#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/detail/scan_kind.h>
#include <anabranch/error.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>

#include "ir/fold_order.h"
#include "ir/op.h"
#include "ir/primitive.h"
#include "ir/type.h"

/// The core language: one immutable, reference-counted node type for all strata (ir/op.h). Nodes are made
/// only by the checked constructors of ir/make.h; a node's id is larger than those of its children, so
/// sorting by id is a topological order and no pass needs recursion. What each operation means stands at its
/// constructor, what passes ask of it in ir/op_info.h.
namespace anabranch::ir {

using anabranch::detail::Prefixes;
using anabranch::detail::ScanKind;

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
  /// For owners that keep a reference outside of any Ref (the public handle): retain adds one, release gives
  /// it back.
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
  Primitive primitive{};   ///< primitive. accumulate: what joins
  /// project, project_seq: first component. project_array: which. lambda: number of parameters. scan: the dimension of rows
  int first = 0;
  int count = 0;  ///< project, project_seq: components. awhile: arrays that it collects
  std::shared_ptr<anabranch::detail::ArrayData> array;  ///< use
  std::shared_ptr<SourceBase> source;                   ///< stream_in
  std::shared_ptr<SinkBase> sink;                       ///< write
  /// The library name the user wrote where it is not the op's ("gather", "sum", "plus").
  Symbol label;
  /// In range by construction, so kernels do not check it. index, linear_index: set by passes only.
  /// backpermute: every index its function gives is in range (transpose, replicate).
  bool in_bounds = false;
  /// backpermute, index: no source element is read twice (slice, transpose), so fusing it duplicates no work.
  bool injective = false;
  bool consecutive = false;  ///< part: in a sequence, each item's begins where that of the item before ends
  ScanKind scan;             ///< scan
  bool drops = false;        ///< group, last_at, accumulate: an element at place -1 goes nowhere
  Symbol text;               ///< trace: what is printed before the array
  /// fold: the class of its function as it was made (ir/operator_class.h). What passes make of the function keeps it.
  fold_order::OperatorClass order = fold_order::OperatorClass::ordered;
};

/// All that tells two nodes of one operation, type and children apart: everything but the label. A field that
/// is not said here does not compile.
inline auto distinguishing(const Payload& payload) {
  const auto& [bits, primitive, first, count, array, source, sink, label, in_bounds, injective, consecutive,
               scan, drops, text, order] = payload;
  static_cast<void>(label);
  return std::tie(bits, primitive, first, count, array, source, sink, in_bounds, injective, consecutive, scan,
                  drops, text, order);
}

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
