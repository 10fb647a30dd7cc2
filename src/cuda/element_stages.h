#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/regions.h"

/// The three stages in which elements of a row are computed, so that the reads of several elements are under
/// way together: what is read at places that no other read gives is *fetched*, what is read at places that
/// other reads give is *gathered*, and the rest is *combined*. A compiler that has element after element
/// before it would wait for the first element's gather before it issues the last one's.
namespace anabranch::cuda {

class ElementStages {
 public:
  enum Stage : int { fetch, gather, combine };

  /// `shared`: what all elements of a row share, and is there already. `own`: reads that cost nothing, because
  /// their values are in registers; may be empty.
  using Holds = std::function<bool(const ir::Node&)>;
  ElementStages(const kernel::Kernel& kernel, const kernel::Regions& body, const Holds& shared,
                const Holds& own = {});

  /// Is there anything to gather? Else there are no stages.
  explicit operator bool() const { return gathers_; }
  /// Is the node's text part of this stage? Of nodes without code of their own, in every stage from theirs on that needs
  /// them.
  bool belongs(const ir::Node& node, Stage stage) const;
  /// Bytes that the first stage reads for an element, and registers (of 4 bytes) that all reads, the gathers'
  /// addresses, and what else stages hand on take.
  std::int64_t fetched_bytes() const { return bytes_; }
  std::int64_t words() const { return words_; }
  /// Nodes whose values this stage hands on: each stage up to it may have computed them.
  std::vector<const ir::Node*> handed_on(Stage stage) const;

 private:
  bool is_free(const ir::Node& node) const;
  bool is_done(const ir::Node& node, Stage stage) const;
  std::vector<const ir::Node*> used_after(Stage stage) const;

  const kernel::Kernel& kernel_;
  Holds shared_, own_;
  std::vector<const ir::Node*> nodes_;  ///< of the outermost region, operands first
  std::unordered_map<const ir::Node*, Stage> stages_;
  std::array<std::unordered_set<const ir::Node*>, combine> used_after_;  ///< by the stage
  bool gathers_ = false;
  std::int64_t bytes_ = 0, words_ = 0;
};

}  // namespace anabranch::cuda
