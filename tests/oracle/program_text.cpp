#include "oracle/program_text.h"

#include <cstring>
#include <stdexcept>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/views.h"
#include "ir/walk.h"
#include "support/memory_source.h"

namespace anabranch::testing {

using ir::Node;
using ir::Ref;

namespace {

template <class List, class F>
std::string listed(const List& list, F&& text) {
  std::string out;
  for (const auto& x : list) out += (out.empty() ? "" : ", ") + text(x);
  return "{" + out + "}";
}

std::string scalars_text(const ir::Scalars& scalars) {
  return listed(scalars, [](ScalarType type) { return fmt::format("\"{}\"", name_of(type)); });
}

std::string extents_text(const std::vector<std::int64_t>& extents) {
  return listed(extents, [](std::int64_t e) { return std::to_string(e); });
}

std::string array_text(const HostArray& array) {
  std::string components;
  for (std::size_t c = 0; c < array->scalars.size(); ++c) {
    const std::size_t width = size_of(array->scalars[c]);
    std::string bits;
    for (std::int64_t i = 0; i < array->size(); ++i) {
      std::uint64_t element = 0;
      std::memcpy(
          &element,
          static_cast<const std::byte*>(array->buffers[c].get()) + static_cast<std::size_t>(i) * width,
          width);
      bits += fmt::format("{}{:#x}", i == 0 ? "" : ", ", element);
    }
    components += fmt::format("{}{{{}}}", c == 0 ? "" : ", ", bits);
  }
  return fmt::format("host_array({}, {}, {{{}}})", scalars_text(array->scalars), extents_text(array->extents),
                     components);
}

std::string info_text(const ArrayInfo& info) {
  return fmt::format("component({}, {}, {}, {})", scalars_text(info.scalars),
                     listed(info.extents,
                            [](const std::optional<std::int64_t>& e) {
                              return e ? fmt::format("std::int64_t{{{}}}", *e) : std::string("std::nullopt");
                            }),
                     info.descriptor, info.offsets == OffsetType::int32 ? 32 : 64);
}

std::string stream_text(const Node& node) {
  const auto* source = dynamic_cast<const MemorySource*>(node.payload().source.get());
  if (!source) throw std::logic_error("text_of: a source that is not in memory");
  return fmt::format(
      "stream_of({}, {})", listed(source->info().arrays, info_text),
      listed(source->items(), [](const Item& item) { return "Item" + listed(item, array_text); }));
}

class Text {
 public:
  std::string line(const Node& node) {
    const std::string name = fmt::format("n{}", names_.size());
    const std::string value = node.op().visit([&](auto op) { return call(op, node); });
    names_.emplace(&node, name);
    return fmt::format("  const Ref {} = {};\n", name, value);
  }
  const std::string& name(const Ref& node) const { return names_.at(node.get()); }

 private:
  std::string child(const Node& node, std::size_t i) const { return name(node.child(i)); }
  /// Those from position `from` on, in braces.
  std::string list(const Node& node, std::size_t from, std::size_t count = ~std::size_t{0}) const {
    const auto children = node.children();
    return listed(children.subspan(from, std::min(count, children.size() - from)),
                  [&](const Ref& x) { return name(x); });
  }
  std::string of_children(const char* function, const Node& node) const {
    std::string out;
    for (const Ref& x : node.children()) out += (out.empty() ? "" : ", ") + name(x);
    return fmt::format("ir::{}({})", function, out);
  }
  std::string call(ir::ScalarOp op, const Node& node) const;
  std::string call(ir::FunctionOp op, const Node& node) const;
  std::string call(ir::ArrayOp op, const Node& node) const;
  std::string call(ir::SourceOp op, const Node& node) const;
  std::string call(ir::SequenceOp op, const Node& node) const;
  std::string call(ir::SinkOp op, const Node& node) const {
    return op == ir::Op::write ? fmt::format("written({})", child(node, 0)) : of_children(name_of(op), node);
  }

  std::unordered_map<const Node*, std::string> names_;
};

std::string Text::call(ir::ScalarOp op, const Node& node) const {
  const ir::Payload& p = node.payload();
  switch (op) {
    case ir::Op::constant:
      return fmt::format("ir::constant(type_named(\"{}\"), {:#x})", name_of(node.type().scalars[0]), p.bits);
    case ir::Op::primitive:
      if (p.primitive == ir::Primitive::cast || p.primitive == ir::Primitive::bitcast)
        return fmt::format("ir::{}(type_named(\"{}\"), {})", ir::info(p.primitive).name,
                           name_of(node.type().scalars[0]), child(node, 0));
      return fmt::format("ir::primitive(primitive_named(\"{}\"), {})", ir::info(p.primitive).name,
                         list(node, 0));
    case ir::Op::tuple:
      return fmt::format("ir::tuple({})", list(node, 0));
    case ir::Op::project:
      return fmt::format("ir::project({}, {}, {})", child(node, 0), p.first, p.count);
    case ir::Op::index:
    case ir::Op::linear_index:
      return fmt::format("ir::{}({}, {}, {{}}, {})", name_of(op), child(node, 0), child(node, 1),
                         p.in_bounds);
    case ir::Op::cond:
    case ir::Op::while_loop:
    case ir::Op::shape:
      return of_children(name_of(op), node);
  }
  return {};
}

std::string Text::call(ir::FunctionOp op, const Node& node) const {
  const auto count = static_cast<std::size_t>(node.payload().first);
  switch (op) {
    case ir::Op::parameter:
      return node.type().is_element()
                 ? fmt::format("ir::parameter(element_type({}))", scalars_text(node.type().scalars))
                 : fmt::format("ir::parameter(array_type({}, {}))", node.type().rank,
                               scalars_text(node.type().scalars));
    case ir::Op::lambda:
      return fmt::format("ir::lambda({}, {})", list(node, 0, count), list(node, count));
  }
  return {};
}

std::string Text::call(ir::ArrayOp op, const Node& node) const {
  const ir::Payload& p = node.payload();
  switch (op) {
    case ir::Op::use:
      return fmt::format("ir::use({})", array_text(p.array));
    case ir::Op::map:
      return fmt::format("ir::map({}, {})", child(node, 0), list(node, 1));
    case ir::Op::fold:
      return fmt::format("ir::fold({}, {}, {})", child(node, 0), child(node, 1),
                         node.children().size() > 2 ? child(node, 2) : "Ref()");
    case ir::Op::scan:
      return fmt::format("ir::scan({}, {}, {}, {{ir::Prefixes({}), {}}}, {})", child(node, 0), child(node, 1),
                         node.children().size() > 2 ? child(node, 2) : "Ref()",
                         static_cast<int>(p.scan.prefixes), p.scan.from_right, p.first);
    case ir::Op::trace:
      return fmt::format("ir::trace(\"{}\", {})", p.text.view(), child(node, 0));
    case ir::Op::backpermute:
      return fmt::format("ir::backpermute({}, {}, {}, {{{}, {}}})", child(node, 0), child(node, 1),
                         child(node, 2), p.injective, p.in_bounds);
    case ir::Op::project_array:
      return fmt::format("ir::project_array({}, {})", child(node, 0), p.first);
    case ir::Op::awhile:
      return fmt::format("ir::awhile({}, {}, {})", child(node, 0), child(node, 1), list(node, 2));
    case ir::Op::group:
    case ir::Op::last_at:
      return fmt::format("ir::{}({}, {}, {})", name_of(op), child(node, 0), child(node, 1), p.drops);
    case ir::Op::accumulate:
      return fmt::format("ir::accumulate(Primitive::{}, {}, {}, {}, {})", ir::info(p.primitive).name,
                         child(node, 0), child(node, 1), child(node, 2), p.drops);
    case ir::Op::part:
      if (!p.consecutive) return of_children("part", node);
      return fmt::format("ir::part({}, {}, {}, {{}}, {{}}, true)", child(node, 0), child(node, 1),
                         child(node, 2));
    case ir::Op::sort:
    case ir::Op::select:
    case ir::Op::repeat:
    case ir::Op::scan_state:
    case ir::Op::compute:
    case ir::Op::unit:
    case ir::Op::generate:
    case ir::Op::reshape:
    case ir::Op::consume:
    case ir::Op::acond:
      return of_children(name_of(op), node);
  }
  return {};
}

std::string Text::call(ir::SourceOp op, const Node& node) const {
  switch (op) {
    case ir::Op::stream_in:
      return stream_text(node);
    case ir::Op::produce:
    case ir::Op::rows:
      return of_children(name_of(op), node);
  }
  return {};
}

std::string Text::call(ir::SequenceOp op, const Node& node) const {
  switch (op) {
    case ir::Op::map_seq:
      return fmt::format("ir::map_seq({}, {})", child(node, 0), list(node, 1));
    case ir::Op::project_seq:
      return fmt::format("ir::project_seq({}, {}, {})", child(node, 0), node.payload().first,
                         node.payload().count);
    case ir::Op::append_seq:
      return fmt::format("ir::append_seq({})", list(node, 0));
    case ir::Op::flatten_seq: {
      std::string items;
      for (const ir::ArrayType& item : node.type().arrays)
        items +=
            fmt::format("{}{{{}, {}}}", items.empty() ? "" : ", ", item.rank, scalars_text(item.scalars));
      return fmt::format("ir::flatten_seq({}, {{{}}})", child(node, 0), items);
    }
    case ir::Op::windows_seq:
      return fmt::format("ir::windows_seq({}, {}, {})", child(node, 0), child(node, 1), list(node, 2));
    case ir::Op::map_accum_seq:
      return fmt::format("ir::map_accum_seq({}, {}, {})", child(node, 0), child(node, 1), list(node, 2));
    case ir::Op::take_seq:
    case ir::Op::filter_seq:
    case ir::Op::take_while_seq:
    case ir::Op::drop_seq:
      return of_children(name_of(op), node);
  }
  return {};
}

}  // namespace

std::string text_of(const std::vector<Ref>& program, const std::string& configuration,
                    const std::string& name, const std::string& comment) {
  std::string out = fmt::format(
      "// {}\n#include \"oracle/check.h\"\n#include \"oracle/literals.h\"\n\nusing namespace anabranch;\n"
      "using namespace anabranch::testing;\nusing ir::Ref;\n\nTEST_CASE(\"{}\") {{\n",
      comment, name);
  Text text;
  for (const Node* node : ir::topological(program)) out += text.line(*node);
  return out + fmt::format("  check_everywhere({}, {});\n}}\n",
                           listed(program, [&](const Ref& x) { return text.name(x); }), configuration);
}

}  // namespace anabranch::testing
