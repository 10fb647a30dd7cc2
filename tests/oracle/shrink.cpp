#include "oracle/shrink.h"

#include <algorithm>
#include <cstring>

#include <anabranch/error.h>

#include "ir/node_map.h"
#include "ir/views.h"
#include "ir/walk.h"
#include "support/memory_source.h"

namespace anabranch::testing {

using ir::Node;
using ir::Ref;

namespace {

const MemorySource* memory_source(const Node& node) {
  return node.op() == ir::Op::stream_in ? dynamic_cast<const MemorySource*>(node.payload().source.get())
                                        : nullptr;
}

std::int64_t elements_of(const Item& item) {
  std::int64_t sum = 1;
  for (const HostArray& array : item) sum += array->size();
  return sum;
}

std::int64_t weight_of(const Node& node) {
  if (node.op() == ir::Op::use) return 2 + node.payload().array->size();
  std::int64_t weight = 2;
  if (const MemorySource* source = memory_source(node))
    for (const Item& item : source->items()) weight += elements_of(item);
  // Of constants, zero is the simplest.
  if (node.op() == ir::Op::constant) weight = node.payload().bits == 0 ? 0 : 1;
  return weight;
}

Ref zero_of(const ir::Scalars& scalars) {
  std::vector<Ref> parts;
  for (const ScalarType type : scalars) parts.push_back(ir::constant(type, 0));
  return ir::tuple(std::move(parts));
}

/// The first elements of an array along each dimension.
HostArray corner(const HostArray& array, const std::vector<std::int64_t>& extents) {
  HostArray out = detail::allocate_array(array->scalars, extents);
  for (std::int64_t to = 0; to < out->size(); ++to) {
    std::int64_t from = 0, rest = to, stride = 1;
    for (std::size_t d = extents.size(); d-- > 0;) {
      from += rest % extents[d] * stride;
      rest /= extents[d];
      stride *= array->extents[d];
    }
    for (std::size_t c = 0; c < array->scalars.size(); ++c) {
      const std::size_t width = size_of(array->scalars[c]);
      std::memcpy(
          static_cast<std::byte*>(out->buffers[c].get()) + static_cast<std::size_t>(to) * width,
          static_cast<const std::byte*>(array->buffers[c].get()) + static_cast<std::size_t>(from) * width,
          width);
    }
  }
  return out;
}

/// What says that parts which should be consecutive are: where they begin and how long they are, back to the lengths.
ir::NodeSet kept_as_they_are(const std::vector<Ref>& program) {
  std::vector<Ref> terms;
  for (const Node* node : ir::topological(program))
    if (node->op() == ir::Op::part && node->payload().consecutive)
      terms.insert(terms.end(), {ir::PartOf(*node).shape(), ir::PartOf(*node).begin()});
  const auto enter = [](const Node& node) {
    return !node.type().is_array() || node.op() == ir::Op::project_array;
  };
  ir::NodeSet kept;
  for (const Node* node : ir::topological(terms, enter))
    if (enter(*node)) kept.insert(node);
  return kept;
}

/// What may stand in the place of a node.
class Candidates {
 public:
  explicit Candidates(const Ref& node) : node_(node) {
    const ir::Type& type = node->type();
    if (node->op() == ir::Op::parameter || node->op() == ir::Op::lambda) return;
    if (type.kind == ir::Type::Kind::element && node->op() != ir::Op::constant) add(zero_of(type.scalars));
    if (type.kind == ir::Type::Kind::array && node->op() != ir::Op::use)
      for (const std::int64_t extent : {1, 2})
        add(ir::use(detail::allocate_array(
            type.scalars, std::vector<std::int64_t>(static_cast<std::size_t>(type.rank), extent))));
    // (A terminal has the type of what consuming it gives, but may not stand elsewhere.)
    for (const Ref& child : node->children())
      if (node->op() != ir::Op::consume && child->op() != ir::Op::lambda && child->type() == type) add(child);
    if (node->op() == ir::Op::project_array && ir::maker_of(*node).op() == ir::Op::awhile) {
      const auto state = ir::Awhile(ir::maker_of(*node)).state();
      const auto which = static_cast<std::size_t>(ir::ProjectArray(node).which());
      if (which < state.size()) add(state[which]);  // no round at all
    }
    if (node->op() == ir::Op::constant && node->payload().bits != 0) add(zero_of(type.scalars));
    if (node->op() == ir::Op::use) smaller_arrays();
    if (const MemorySource* source = memory_source(*node)) smaller_sources(*source);
  }

  const std::vector<Ref>& all() const { return all_; }

 private:
  void add(Ref candidate) { all_.push_back(std::move(candidate)); }

  void smaller_arrays() {
    const HostArray& array = node_->payload().array;
    for (std::size_t d = 0; d < array->extents.size(); ++d)
      for (const std::int64_t extent :
           {std::int64_t{1}, array->extents[d] / 2, array->extents[d] * 3 / 4, array->extents[d] - 1}) {
        if (extent < 0 || extent >= array->extents[d]) continue;
        std::vector<std::int64_t> extents = array->extents;
        extents[d] = extent;
        add(ir::use(corner(array, extents)));
      }
  }

  void smaller_sources(const MemorySource& source) {
    const auto& items = source.items();
    const auto keep = [&](std::size_t from, std::size_t to) {
      add(ir::stream_in(std::make_shared<MemorySource>(
          "shrunk", source.info().arrays,
          std::vector<Item>(items.begin() + static_cast<std::ptrdiff_t>(from),
                            items.begin() + static_cast<std::ptrdiff_t>(to)))));
    };
    const std::size_t n = items.size();
    if (n == 0) return;
    keep(0, n / 2);
    keep(n / 2, n);
    keep(0, n - 1);
    keep(1, n);
  }

  Ref node_;
  std::vector<Ref> all_;
};

class Shrinker {
 public:
  Shrinker(std::vector<Ref> program, const ShowsFault& shows_fault, int attempts)
      : program_(std::move(program)), shows_fault_(shows_fault), attempts_(attempts) {}

  std::vector<Ref> run() {
    for (bool smaller = true; smaller && attempts_ > 0;) {
      smaller = drop_results();
      smaller = replace_nodes() || smaller;
    }
    return program_;
  }

 private:
  bool accept(std::vector<Ref> program) {
    if (attempts_ <= 0 || testing::weight_of(program) >= testing::weight_of(program_)) return false;
    --attempts_;
    if (!shows_fault_(program)) return false;
    program_ = std::move(program);
    return true;
  }

  bool drop_results() {
    bool dropped = false;
    for (std::size_t i = 0; program_.size() > 1 && i < program_.size();) {
      std::vector<Ref> fewer = program_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (accept(std::move(fewer)))
        dropped = true;
      else
        ++i;
    }
    return dropped;
  }

  /// From the results down, so that much goes at once.
  bool replace_nodes() {
    bool replaced = false;
    std::size_t from_end = 0;
    for (;;) {
      const std::vector<const Node*> nodes = ir::topological(program_);
      if (from_end >= nodes.size()) return replaced;
      const Node* node = nodes[nodes.size() - 1 - from_end];
      if (!kept_as_they_are(program_).contains(node) && replace(Ref(node)))
        replaced = true;
      else
        ++from_end;
    }
  }

  bool replace(const Ref& node) {
    const Candidates candidates(node);
    return std::any_of(candidates.all().begin(), candidates.all().end(), [&](const Ref& candidate) {
      std::vector<Ref> program;
      try {
        ir::Rewriter rewrite([](const Ref&, const Ref& rebuilt) { return rebuilt; });
        rewrite.set(node, candidate);
        for (const Ref& root : program_) program.push_back(rewrite(root));
      } catch (const ProgramError&) {
        return false;  // not everything may stand everywhere
      }
      return accept(std::move(program));
    });
  }

  std::vector<Ref> program_;
  const ShowsFault& shows_fault_;
  int attempts_;
};

}  // namespace

std::int64_t weight_of(const std::vector<Ref>& program) {
  std::int64_t weight = static_cast<std::int64_t>(program.size());
  for (const Node* node : ir::topological(program)) weight += weight_of(*node);
  return weight;
}

std::vector<Ref> shrunk(std::vector<Ref> program, const ShowsFault& shows_fault, int attempts) {
  return Shrinker(std::move(program), shows_fault, attempts).run();
}

}  // namespace anabranch::testing
