#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/node.h"

/// Where the nodes of a shared expression graph are evaluated.
///
/// A *region* is code that runs under one condition: the root always, a side of a conditional when it is
/// taken, the predicate and the body of a loop once per round. A node is evaluated in the lowest region that
/// dominates all its uses if every path through that region needs it, or if it is total and cheap; otherwise
/// in each branch or loop body that needs it. So sharing raises no error and runs no loop that the program would
/// not have met. Work that is not cheap is repeated where one path takes several such branches, of conditionals
/// beside one another, and in each round of such a body.
namespace anabranch::kernel {

struct Region {
  enum class Kind : std::uint8_t { root, then, otherwise, predicate, loop };
  Kind kind = Kind::root;
  int parent = -1;
  int depth = 0;
  const ir::Node* owner = nullptr;     ///< the conditional or loop
  std::vector<const ir::Node*> nodes;  ///< evaluated here, operands first
  std::int64_t cost = 0;               ///< in additions, nested regions included
  bool total = true;                   ///< cannot fail and ends, and touches no memory
  bool maskable = true;                ///< total but for array reads, which a mask makes harmless
};

class Regions {
 public:
  /// `leaf` nodes are evaluated by the caller: their operands are not looked at. Parameters are always
  /// leaves.
  explicit Regions(std::span<const ir::Ref> roots, const std::function<bool(const ir::Node&)>& leaf = {});

  const Region& operator[](int region) const { return regions_[static_cast<std::size_t>(region)]; }
  /// First of the two regions of a conditional (then, otherwise) or loop (predicate, loop) evaluated in
  /// `region`.
  int inner(int region, const ir::Node& owner) const;
  /// Components of a loop's result that something reads.
  const std::vector<bool>& live_components(const ir::Node& loop) const { return live_.at(&loop); }
  /// With all it needs: cannot fail, ends, touches no memory.
  bool is_total(const ir::Node& node) const { return total_cost_.contains(&node); }
  std::size_t nodes() const { return count_; }

 private:
  struct Key {
    int region;
    const ir::Node* owner;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      return std::hash<const void*>()(k.owner) * 31 + static_cast<std::size_t>(k.region);
    }
  };
  void find_total(std::span<const ir::Node* const> order, const std::function<bool(const ir::Node&)>& leaf);
  int add(Region::Kind kind, int parent, const ir::Node* owner);
  bool binds(int region, const ir::Node& node) const;
  int common(int a, int b, const ir::Node& node) const;
  bool certain_above(int region, const ir::Node& node) const;
  std::vector<int> place(const ir::Node& node, std::vector<int> uses) const;
  void summarise();

  std::vector<Region> regions_;
  std::unordered_map<Key, int, Hash> inner_;
  std::unordered_map<const ir::Node*, std::vector<bool>> live_;
  std::unordered_map<const ir::Node*, std::int64_t> total_cost_;  ///< of total nodes, as a tree
  std::size_t count_ = 0;
};

/// All nodes reachable from the roots through scalar operands, by ascending id (operands first).
std::vector<const ir::Node*> reachable(std::span<const ir::Ref> roots,
                                       const std::function<bool(const ir::Node&)>& leaf = {});

/// Throws ProgramError, naming the place, where code generators cannot make code of a kernel's body: what is
/// evaluated under conditions is nested more than 1,000 deep, or would be evaluated once per branch too
/// often.
void check_branches(std::span<const ir::Ref> roots);

}  // namespace anabranch::kernel
