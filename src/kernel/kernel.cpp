#include "kernel/kernel.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/print.h"
#include "ir/walk.h"

namespace anabranch::kernel {

using namespace ir;

namespace {

std::string extent_text(const KernelExtent& e) {
  switch (e.kind) {
    case KernelExtent::Kind::constant:
      return fmt::format("{}", e.value);
    case KernelExtent::Kind::uniform:
      return fmt::format("scalar{}", e.slot);
    case KernelExtent::Kind::per_item:
      return fmt::format("buffer{}[item]", e.slot);
    case KernelExtent::Kind::ragged: {
      std::string text = fmt::format("length(buffer{}:{})", e.slot, e.offsets == OffsetType::int32 ? 32 : 64);
      if (e.divisor_kind == KernelExtent::Kind::constant && e.divisor == 1) return text;
      return text +
             fmt::format("/{}{}", e.divisor_kind == KernelExtent::Kind::constant ? "" : "scalar", e.divisor);
    }
  }
  return "?";
}

std::string array_text(const KernelArray& a) {
  std::string text = fmt::format("{} {} [", name_of(a.form), to_string(Type::array(a.type)));
  for (std::size_t d = 0; d < a.extents.size(); ++d) text += (d ? ", " : "") + extent_text(a.extents[d]);
  text += fmt::format("] buffer{}", a.first_buffer);
  if (a.form == Form::segmented)
    text += fmt::format(" offsets{}:{}", a.offsets, a.offset_type == OffsetType::int32 ? 32 : 64);
  return text;
}

std::vector<const std::vector<Ref>*> bodies(const Kernel& k) { return {&k.body, &k.combine, &k.seed}; }

/// Numbers nodes in the order a depth-first walk finishes them: a function of structure alone, unlike ids.
class Canonical {
 public:
  explicit Canonical(std::string& text) : text_(text) {}
  void parameter(const Ref& p) { number_.try_emplace(p.get(), number_.size()); }

  std::size_t write(const Ref& root) {
    std::vector<std::pair<const Node*, std::size_t>> open{{root.get(), 0}};
    while (!open.empty()) {
      auto& [node, next] = open.back();
      if (number_.contains(node)) {
        open.pop_back();
      } else if (next < node->children().size()) {
        open.push_back({node->child(next++).get(), 0});
      } else {
        line(*node);
        open.pop_back();
      }
    }
    return number_.at(root.get());
  }

  std::size_t number(const Node* node) const { return number_.at(node); }
  bool knows(const Node* node) const { return number_.contains(node); }

 private:
  void line(const Node& node) {
    const Payload& p = node.payload();
    text_ += fmt::format("{}={}", number_.size(), node.op().code());
    for (ScalarType s : node.type().scalars) text_ += fmt::format(".{}", static_cast<int>(s));
    if (node.op() == Op::constant) text_ += fmt::format("#{:x}", p.bits);
    if (node.op() == Op::primitive) text_ += fmt::format("p{}", static_cast<int>(p.primitive));
    if (node.op() == Op::project || node.op() == Op::lambda) text_ += fmt::format("f{},{}", p.first, p.count);
    if (p.in_bounds) text_ += '!';
    for (const Ref& c : node.children()) text_ += fmt::format(" {}", number_.at(c.get()));
    text_ += '\n';
    number_.emplace(&node, number_.size());
  }

  std::string& text_;
  std::unordered_map<const Node*, std::size_t> number_;
};

}  // namespace

std::string key_of(const Kernel& k) {
  std::string key = fmt::format("{} items:{} order:{} seeded:{} slots:{},{} work:{}:{} length:{}\n",
                                k.skeleton == Skeleton::map ? "map" : "fold", k.over_items,
                                static_cast<int>(k.order), !k.seed.empty(), k.buffer_slots, k.scalar_slots,
                                k.work_offsets, static_cast<int>(k.work_offset_type), extent_text(k.length));
  key += "out " + array_text(k.output) + "\n";
  for (const KernelArray& a : k.arrays) key += "in " + array_text(a) + "\n";
  for (const KernelScalar& s : k.scalars) key += "scalar " + extent_text(s.value) + "\n";
  Canonical canonical(key);
  for (const KernelArray& a : k.arrays) canonical.parameter(a.parameter);
  for (const KernelScalar& s : k.scalars) canonical.parameter(s.parameter);
  for (const Ref& p : k.index) canonical.parameter(p);
  if (k.reduction) canonical.parameter(k.reduction);
  for (const Ref& p : k.left) canonical.parameter(p);
  for (const Ref& p : k.right) canonical.parameter(p);
  for (const auto* body : bodies(k)) {
    std::string results = "->";
    for (const Ref& r : *body) results += fmt::format(" {}", canonical.write(r));
    key += results + "\n";
  }
  for (const Check& c : k.checks)
    key += fmt::format("check {} {}\n", static_cast<int>(c.kind),
                       c.node ? static_cast<int>(canonical.number(c.node)) : -1);
  return key;
}

std::string to_string(const Kernel& k) {
  Printer printer;
  std::string out = fmt::format("kernel {}: {}{}\n", k.name, k.skeleton == Skeleton::map ? "map" : "fold",
                                k.over_items ? " over items" : "");
  for (std::size_t i = 0; i < k.arrays.size(); ++i) {
    printer.set_name(*k.arrays[i].parameter, fmt::format("in{}", i));
    out += fmt::format("  in{} : {}\n", i, array_text(k.arrays[i]));
  }
  for (std::size_t i = 0; i < k.scalars.size(); ++i) {
    printer.set_name(*k.scalars[i].parameter, fmt::format("n{}", i));
    out += fmt::format("  n{} = {}\n", i, extent_text(k.scalars[i].value));
  }
  std::vector<std::string> index;
  const char* names[] = {"i", "j", "k", "l"};
  for (std::size_t d = 0; d < k.index.size(); ++d) {
    printer.set_name(*k.index[d], names[std::min<std::size_t>(d, 3)]);
    index.push_back(names[std::min<std::size_t>(d, 3)]);
  }
  if (k.reduction) printer.set_name(*k.reduction, "r");
  for (std::size_t c = 0; c < k.left.size(); ++c) {
    printer.set_name(*k.left[c], k.left.size() == 1 ? "x" : fmt::format("x.{}", c));
    printer.set_name(*k.right[c], k.left.size() == 1 ? "y" : fmt::format("y.{}", c));
  }
  out += fmt::format("  out : {}\n", array_text(k.output));
  const auto block = [&](const char* what, const std::vector<Ref>& body) {
    std::string lets;
    const auto results = printer.scalars(body, lets, "    ");
    out += lets + fmt::format("  {} {}\n", what, fmt::join(results, ", "));
  };
  if (k.skeleton == Skeleton::map) {
    block(fmt::format("out[{}{}] =", k.over_items ? "item; " : "", fmt::join(index, ", ")).c_str(), k.body);
    return out;
  }
  block(fmt::format("element({}{}) =", k.over_items ? "item; " : "",
                    index.empty() ? "r" : fmt::format("{}, r", fmt::join(index, ", ")))
            .c_str(),
        k.body);
  out += fmt::format(
      "  r < {}, {}\n", extent_text(k.length),
      k.order == fold_order::OperatorClass::commutative ? "commutative: lanes" : "ordered: left to right");
  block("x o y =", k.combine);
  if (!k.seed.empty()) block("seed =", k.seed);
  return out;
}

void verify(const Kernel& k) {
  const auto require = [&](bool ok, const char* what) {
    if (!ok) throw InternalError(fmt::format("kernel {}: {}", k.name, what));
  };
  std::unordered_set<const Node*> allowed;
  for (const KernelScalar& s : k.scalars) allowed.insert(s.parameter.get());
  for (const Ref& p : k.index) allowed.insert(p.get());
  for (const KernelArray& a : k.arrays) {
    require(a.parameter && a.parameter->type() == Type::array(a.type),
            "an array has no parameter of its type");
    require(a.extents.size() == static_cast<std::size_t>(a.type.rank),
            "an array has not one extent per dimension");
    require((a.form == Form::segmented) == (a.offsets >= 0), "exactly the segmented arrays have offsets");
    require(a.first_buffer >= 0 && a.first_buffer + static_cast<int>(a.type.scalars.size()) <= k.buffer_slots,
            "an array lies outside the buffer slots");
    allowed.insert(a.parameter.get());
  }
  require(k.output.first_buffer >= 0, "the output has no buffer");
  require(k.index.size() == k.output.extents.size(), "index parameters and output extents differ");
  require(k.body.size() == k.output.type.scalars.size(),
          "the body gives another number of components than the output has");
  const auto check_body = [&](const std::vector<Ref>& body, const std::unordered_set<const Node*>& scope,
                              const char* what) {
    for (const Ref& r : body)
      for (const Node* p : r->free()) require(scope.contains(p), what);
    for (const Node* node : topological(body)) {
      require(node->type().is_element() || node->op() == Op::lambda ||
                  (node->op() == Op::parameter && node->type().is_array()),
              "a body holds an array computation");
      require(node->op() != Op::shape, "a body holds a shape");
    }
  };
  auto inside = allowed;
  if (k.skeleton == Skeleton::fold) {
    require(static_cast<bool>(k.reduction), "a fold needs its reduction parameter");
    inside.insert(k.reduction.get());
    auto operands = allowed;
    for (const Ref& p : k.left) operands.insert(p.get());
    for (const Ref& p : k.right) operands.insert(p.get());
    require(k.left.size() == k.body.size() && k.right.size() == k.body.size() &&
                k.combine.size() == k.body.size(),
            "operator and element differ in components");
    require(k.seed.empty() || k.seed.size() == k.body.size(), "seed and element differ in components");
    check_body(k.combine, operands, "the operator mentions something unbound");
    check_body(k.seed, allowed, "the seed mentions something unbound");
  }
  check_body(k.body, inside, "the body mentions something unbound");
}

}  // namespace anabranch::kernel
