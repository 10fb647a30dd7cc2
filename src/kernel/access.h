#pragma once

#include <optional>
#include <unordered_map>

#include "kernel/interior.h"
#include "kernel/kernel.h"
#include "kernel/motion.h"

/// What the lanes of a vector are, and where the reads of a kernel take them.
namespace anabranch::kernel {

/// What neighbouring lanes compute.
struct Lanes {
  enum class Kind : std::uint8_t {
    alone,      ///< one position is computed, without lanes
    positions,  ///< neighbouring positions, whatever the shapes: all is read where it is written
    items,      ///< neighbouring items, of one position each
    innermost,  ///< neighbours along the innermost dimension of the domain
    row,        ///< neighbouring elements of a row
  };
  /// One of the two innermost dimensions, so short that all positions along it are computed together, each by code of its
  /// own: what they have in common is computed once, as the sums that the results of a butterfly share.
  struct Together {
    std::size_t dimension = 0;
    std::int64_t extent = 1;
    std::int64_t block = 1;  ///< positions that are best computed by one thread
  };

  Kind kind = Kind::alone;
  std::int64_t step = 1;  ///< of the index that moves: -1 from the right
  std::size_t dimension =
      0;  ///< innermost: along which they lie; before the innermost one where that is short
  std::optional<Together> together =
      std::nullopt;  ///< maps only; none of what such a map reads is out of range
};
Lanes lanes_of(const Kernel& kernel);

/// The part of a row that may have code of its own, inside of all borders that the bodies ask about. Nothing where the
/// lanes do not lie along a row, or there are no borders.
std::optional<Interior> interior_of(const Kernel& kernel, const Regions& regions);

/// How each read of the bodies moves from lane to lane.
class Accesses {
 public:
  /// `assumed`: what holds where the lanes are.
  explicit Accesses(const Kernel& kernel, Assumed assumed = {});
  Accesses(const Kernel& kernel, const Lanes& lanes, Assumed assumed = {});

  /// Of the positions that the lanes of a read take.
  const Motion& of(const ir::Node& read) const { return reads_.at(&read); }
  /// The reads that the bodies hold, in the order of their terms.
  const std::vector<const ir::Node*>& reads() const { return order_; }
  /// Of the components of a read's index, or of its row-major position.
  std::vector<Motion> index(const ir::Node& read) const;

 private:
  using Motions = std::vector<Motion>;  ///< per component
  struct View {
    Motion base;
    std::vector<Motion> extents;
  };

  void bind_parameters(const Lanes& lanes);
  View view(const Layout& layout) const;
  Motion extent(const KernelExtent& extent) const;
  void look_at(const std::vector<const ir::Node*>& nodes);
  bool settle_loops(const std::vector<const ir::Node*>& nodes);
  bool varies(const ir::Node& node) const;
  Motions known(const ir::Node& node) const;
  Motions of_node(const ir::Node& node);
  Motion position(const ir::Node& read) const;

  const Kernel& kernel_;
  const Assumed assumed_;
  Motion item_ = Motion::same();
  bool flat_ = false;
  std::unordered_map<const ir::Node*, Motions> values_;
  std::unordered_map<const ir::Node*, View> views_;
  std::unordered_map<const ir::Node*, Motion> reads_;
  std::vector<const ir::Node*> order_;
};

}  // namespace anabranch::kernel
