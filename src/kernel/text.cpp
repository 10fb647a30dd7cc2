#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/print.h"
#include "kernel/kernel.h"

/// Kernels as texts: the key and the listing.
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
    case KernelExtent::Kind::number:
      return fmt::format("scalar{} + item", e.slot);
    case KernelExtent::Kind::ragged: {
      std::string text = fmt::format("length(buffer{}:{})", e.slot, e.offsets == OffsetType::int32 ? 32 : 64);
      if (e.divisor_kind == KernelExtent::Kind::constant && e.divisor == 1) return text;
      return text +
             fmt::format("/{}{}", e.divisor_kind == KernelExtent::Kind::constant ? "" : "scalar", e.divisor);
    }
  }
  return "?";
}

std::string layout_text(const Layout& l) {
  std::string text = "[";
  for (std::size_t d = 0; d < l.extents.size(); ++d) text += (d ? ", " : "") + extent_text(l.extents[d]);
  return text + "]";
}

std::string offsets_text(const Layout& l) {
  if (l.form != Form::segmented) return {};
  return fmt::format(" offsets{}:{}", l.offsets, l.offset_type == OffsetType::int32 ? 32 : 64);
}

std::string array_text(const KernelArray& a) {
  return fmt::format("{} {} {} buffer{}{}{}", name_of(a.form), to_string(Type::array(a.type)), layout_text(a),
                     a.first_buffer, offsets_text(a), a.overwritten ? ", overwritten" : "");
}

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
    text_ += fmt::format("{}={}", number_.size(), node.op().code());
    for (ScalarType s : node.type().scalars) text_ += fmt::format(".{}", static_cast<int>(s));
    payload(distinguishing(node.payload()));
    for (const Ref& c : node.children()) text_ += fmt::format(" {}", number_.at(c.get()));
    text_ += '\n';
    number_.emplace(&node, number_.size());
  }

  void payload(const auto& fields) {
    const auto& [bits, primitive, first, count, array, source, sink, in_bounds, injective, consecutive, scan,
                 drops, text, order] = fields;
    if (array || source || sink || injective || consecutive || scan != ScanKind{} || drops || text ||
        order != fold_order::OperatorClass{})
      throw InternalError("kernel body: a payload that only array computations and sequences have");
    if (bits != 0) text_ += fmt::format("#{:x}", bits);
    if (primitive != Primitive{}) text_ += fmt::format("p{}", static_cast<int>(primitive));
    if (first != 0 || count != 0) text_ += fmt::format("f{},{}", first, count);
    if (in_bounds) text_ += '!';
  }

  std::string& text_;
  std::unordered_map<const Node*, std::size_t> number_;
};

}  // namespace

namespace {

std::string row_text(const Row& row) {
  return fmt::format("work:{}:{} length:{}", row.work_offsets, static_cast<int>(row.work_offset_type),
                     extent_text(row.length));
}

std::string kind_text(const Scan& scan) {
  return ir::to_string(scan.kind) + (scan.axis ? fmt::format(" along {}", *scan.axis) : "");
}

/// All of the form that is no body.
std::string form_key(const Kernel& k, Canonical& canonical) {
  const auto operator_key = [&](const Reduction& reduction) {
    for (const Ref& p : reduction.left) canonical.parameter(p);
    for (const Ref& p : reduction.right) canonical.parameter(p);
    return fmt::format(" {}{}", reduction.combine.size(), reduction.seed.empty() ? "" : "s");
  };
  const auto reduce = [&](const Reduce& r) {
    std::string text = fmt::format("reduce order:{} {}", static_cast<int>(r.order), row_text(r.row));
    canonical.parameter(r.row.index);
    for (const Reduction& reduction : r.reductions) text += operator_key(reduction);
    return text;
  };
  const auto scan = [&](const Scan& s) {
    canonical.parameter(s.row.index);
    return fmt::format("scan {} {}", kind_text(s), row_text(s.row)) + operator_key(s.reduction);
  };
  const auto recurrence = [&](const Recurrence& r) {
    canonical.parameter(r.row.index);
    for (const Ref& p : r.state) canonical.parameter(p);
    return fmt::format("recurrence {} {}", row_text(r.row), r.state.size());
  };
  return std::visit(overloaded{[](const Map&) { return std::string("map"); }, reduce, scan, recurrence},
                    k.form);
}

}  // namespace

std::string key_of(const Kernel& k) {
  std::string key;
  Canonical canonical(key);
  for (const KernelArray& a : k.arrays) canonical.parameter(a.parameter);
  for (const KernelScalar& s : k.scalars) canonical.parameter(s.parameter);
  for (const Ref& p : k.index) canonical.parameter(p);
  key = fmt::format("{} slots:{},{}\n", form_key(k, canonical), k.buffer_slots, k.scalar_slots);
  key += fmt::format("domain {} {}{} items:{}\n", name_of(k.domain.form), layout_text(k.domain),
                     offsets_text(k.domain), k.domain.over_items);
  for (const KernelOutput& o : k.outputs)
    key += fmt::format("out {}{} {} of {} {}\n", o.write == KernelOutput::Write::element ? "elements " : "",
                       o.first, o.which, o.of, array_text(o.array));
  for (const KernelArray& a : k.arrays) key += "in " + array_text(a) + "\n";
  for (const KernelScalar& s : k.scalars) key += "scalar " + extent_text(s.value) + "\n";
  for (const Ref& p : k.epilogue.results) canonical.parameter(p);
  const auto write = [&](const std::vector<Ref>& body) {
    std::string results = "->";
    for (const Ref& r : body) results += fmt::format(" {}", canonical.write(r));
    key += results + "\n";
  };
  write(k.body);
  for (const auto* body : other_bodies(k)) write(*body);
  for (const Check& c : k.checks)
    key += fmt::format("check {} {}\n", static_cast<int>(c.kind),
                       c.node ? static_cast<int>(canonical.number(c.node)) : -1);
  return key;
}

namespace {

/// Of the parameters that the form binds, as they stand in the listing.
void name_values(const Kernel& k, Printer& printer) {
  std::size_t c = 0;
  const auto operands = [&](const Reduction& reduction) {
    for (std::size_t i = 0; i < reduction.left.size(); ++i, ++c) {
      printer.set_name(*reduction.left[i], k.body.size() == 1 ? "x" : fmt::format("x.{}", c));
      printer.set_name(*reduction.right[i], k.body.size() == 1 ? "y" : fmt::format("y.{}", c));
    }
  };
  const auto reduce = [&](const Reduce& r) {
    printer.set_name(*r.row.index, "r");
    for (const Reduction& reduction : r.reductions) operands(reduction);
  };
  const auto scan = [&](const Scan& s) {
    printer.set_name(*s.row.index, "r");
    operands(s.reduction);
  };
  const auto recurrence = [&](const Recurrence& r) {
    printer.set_name(*r.row.index, "r");
    for (const Ref& p : r.state) printer.set_name(*p, r.state.size() == 1 ? "s" : fmt::format("s.{}", c++));
  };
  std::visit(overloaded{[](const Map&) {}, reduce, scan, recurrence}, k.form);
  const std::vector<Ref>& results = k.epilogue.results;
  for (std::size_t i = 0; i < results.size(); ++i)
    printer.set_name(*results[i], results.size() == 1 ? "z" : fmt::format("z.{}", i));
}

}  // namespace

const char* name_of_form(const Kernel& k) {
  return std::visit(
      overloaded{[](const Map&) { return "map"; }, [](const Reduce&) { return "fold"; },
                 [](const Scan&) { return "scan"; }, [](const Recurrence&) { return "recurrence"; }},
      k.form);
}

std::string to_string(const Kernel& k) {
  Printer printer;
  std::string out =
      fmt::format("kernel {}: {}{}\n", k.name, name_of_form(k), k.domain.over_items ? " over items" : "");
  for (std::size_t i = 0; i < k.arrays.size(); ++i) {
    printer.set_name(*k.arrays[i].parameter, fmt::format("in{}", i));
    out += fmt::format("  in{} : {}\n", i, array_text(k.arrays[i]));
  }
  for (std::size_t i = 0; i < k.scalars.size(); ++i) {
    printer.set_name(*k.scalars[i].parameter, fmt::format("n{}", i));
    out += fmt::format("  n{} = {}\n", i, extent_text(k.scalars[i].value));
  }
  std::string index;
  const char* names[] = {"i", "j", "k", "l"};
  for (std::size_t d = 0; d < k.index.size(); ++d) {
    const char* name = names[std::min<std::size_t>(d, 3)];
    printer.set_name(*k.index[d], name);
    index += (d ? ", " : "") + std::string(name);
  }
  name_values(k, printer);
  std::string written;
  for (std::size_t i = 0; i < k.outputs.size(); ++i) {
    const std::string name = k.outputs.size() == 1 ? "out" : fmt::format("out{}", i);
    const KernelOutput& o = k.outputs[i];
    out += fmt::format("  {} : {}{}{}\n", name, array_text(o.array),
                       o.write == KernelOutput::Write::element ? ", one for each element of a row" : "",
                       o.of > 1 ? fmt::format(", element {}", o.which) : "");
    written += (i ? ", " : "") + name;
  }
  const auto block = [&](const std::string& what, const std::vector<Ref>& body) {
    std::string lets;
    const auto results = printer.scalars(body, lets, "    ");
    out += lets + fmt::format("  {} {}\n", what, fmt::join(results, ", "));
  };
  const std::string item = k.domain.over_items ? "item; " : "";
  const auto map = [&](const Map&) { block(fmt::format("{}[{}{}] =", written, item, index), k.body); };
  const auto elements = [&] {
    block(fmt::format("element({}{}{}r) =", item, index, index.empty() ? "" : ", "), k.body);
  };
  const auto operation = [&](const Reduction& reduction) {
    block("x o y =", reduction.combine);
    if (!reduction.seed.empty()) block("seed =", reduction.seed);
  };
  const auto reduce = [&](const Reduce& r) {
    elements();
    const bool lanes = r.order == fold_order::OperatorClass::commutative;
    out += fmt::format("  r < {}, {}\n", extent_text(r.row.length),
                       lanes ? "commutative: lanes" : "ordered: left to right");
    for (const Reduction& reduction : r.reductions) operation(reduction);
  };
  const auto scan = [&](const Scan& s) {
    elements();
    out += fmt::format("  r < {}, {}\n", extent_text(s.row.length), kind_text(s));
    operation(s.reduction);
  };
  const auto recurrence = [&](const Recurrence& r) {
    block(fmt::format("state({}{}{}r, s) =", item, index, index.empty() ? "" : ", "), k.body);
    out += fmt::format("  r < {}, one after the other\n", extent_text(r.row.length));
    block("at first s =", r.initial);
  };
  std::visit(overloaded{map, reduce, scan, recurrence}, k.form);
  if (!k.epilogue.body.empty()) block("of a result z, stored:", k.epilogue.body);
  return out;
}

}  // namespace anabranch::kernel
