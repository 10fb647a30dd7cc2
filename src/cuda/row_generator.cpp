#include "cuda/row_generator.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::cuda {

using Write = kernel::KernelOutput::Write;

RowGenerator::RowGenerator(const kernel::Kernel& kernel, std::vector<ir::Ref> left,
                           std::vector<ir::Ref> right)
    : Generator(kernel, {}, false),
      row_(*kernel::row_of(kernel)),
      left_(std::move(left)),
      right_(std::move(right)) {
  for (const kernel::KernelOutput& output : kernel.outputs)
    if (output.write == Write::element && place_of(output.array) == places_.size())
      places_.push_back(output.array);
}

void RowGenerator::name_own_values() {
  scalar_.bind(*row_.index, {"r"});
  for (std::size_t c = 0; c < left_.size(); ++c) scalar_.bind(*left_[c], {fmt::format("x.c{}", c)});
  for (std::size_t c = 0; c < right_.size(); ++c) scalar_.bind(*right_[c], {fmt::format("y.c{}", c)});
  length_ = extent(row_.length);
}

bool RowGenerator::depends_on_element(const ir::Node& node) const {
  return std::any_of(node.free().begin(), node.free().end(), [&](const ir::Node* parameter) {
    return parameter == row_.index.get() || ir::is_among(left_, parameter);
  });
}

void RowGenerator::row_parts() {
  out_.line("");
  out_.line(fmt::format("ANABRANCH_DEVICE i64 length() const {{ return {}; }}", length_));

  const auto before = scalar_.mark();
  keep_shared_values();
  name_shared_values();

  out_.line("");
  scalar_.element = "u64(r)";
  elements("[[maybe_unused]] i64 r");
  scalar_.undo(before);
}

/// What the elements of a row share is kept in members.
void RowGenerator::keep_shared_values() {
  std::vector<std::pair<std::string, ScalarType>> kept;
  out_.line("");
  out_.open("ANABRANCH_DEVICE void begin_row() {");
  scalar_.emit_region(body_, 0, [&](const ir::Node& node) { return !depends_on_element(node); });
  end_of_user_lines();
  for (const ir::Node* node : body_[0].nodes) {
    if (depends_on_element(*node) || node->op() == ir::Op::constant || node->op() == ir::Op::tuple ||
        node->op() == ir::Op::project)
      continue;
    ExprTexts words = scalar_.words(*node);
    for (std::size_t c = 0; c < words.size(); ++c) {
      const std::string member = "row_" + words[c];
      out_.line(fmt::format("{} = {};", member, words[c]));
      kept.emplace_back(member, node->type().scalars[c]);
      words[c] = member;
    }
    scalar_.bind(*node, std::move(words));
  }
  out_.close();
  for (const auto& [member, type] : kept) out_.line(fmt::format("{} {} = {{}};", type_text(type), member));
}

/// Tuples and projections name the members, too.
void RowGenerator::name_shared_values() {
  for (const ir::Node* node : body_[0].nodes) {
    if (depends_on_element(*node)) continue;
    if (node->op() == ir::Op::tuple) {
      ExprTexts all;
      for (const auto& child : node->children())
        for (const auto& word : scalar_.words(*child)) all.push_back(word);
      scalar_.bind(*node, std::move(all));
    } else if (node->op() == ir::Op::project) {
      const ExprTexts& all = scalar_.words(*ir::Project(*node).value());
      const auto first = all.begin() + node->payload().first;
      scalar_.bind(*node, ExprTexts(first, first + node->payload().count));
    }
  }
}

void RowGenerator::elements(const std::string& parameter) {
  scalar_.brief = true;
  element("element", parameter, body_);
  scalar_.brief = false;
  if (checked()) element("examine", parameter, body_);
}

void RowGenerator::operation(const std::string& head, const kernel::Regions& body,
                             const std::vector<ir::Ref>& roots, const std::string& element) {
  out_.open(head);
  const auto outside = scalar_.mark();
  scalar_.element = element;
  scalar_.emit_region(body, 0);
  give(scalar_.results(roots));
  out_.close();
  scalar_.undo(outside);
}

void RowGenerator::shuffles(const std::string& other, const std::string& parameters,
                            const std::string& arguments) {
  out_.line("static ANABRANCH_DEVICE Value shuffle(Value v, int lane, int width) {");
  out_.line("  return " + each_component([](std::size_t c) {
              return fmt::format("anabranch::shuffle(v.c{}, lane, width)", c);
            }) +
            ";");
  out_.line("}");
  out_.line(fmt::format("static ANABRANCH_DEVICE Value {}(Value v, {}) {{", other, parameters));
  out_.line("  return " + each_component([&](std::size_t c) {
              return fmt::format("anabranch::{}(v.c{}, {})", other, c, arguments);
            }) +
            ";");
  out_.line("}");
}

void RowGenerator::cells() {
  out_.open("static ANABRANCH_DEVICE void put(u64* cell, Value v) {");
  for (std::size_t c = 0; c < components(); ++c) out_.line(fmt::format("cell[{0}] = to_bits(v.c{0});", c));
  out_.close();
  out_.line("static ANABRANCH_DEVICE Value get(const u64* cell) {");
  out_.line("  return " + each_component([&](std::size_t c) {
              return fmt::format("from_bits<{}>(cell[{}])", type_text(type(c)), c);
            }) +
            ";");
  out_.line("}");
}

// Outputs that are written by elements --------------------------------------------------------------------

/// The number of the array's layout in `places_`.
std::size_t RowGenerator::place_of(const kernel::Layout& layout) const {
  return static_cast<std::size_t>(std::find(places_.begin(), places_.end(), layout) - places_.begin());
}

/// Where the row's prefixes lie, for each layout.
void RowGenerator::row_places() {
  for (std::size_t p = 0; p < places_.size(); ++p) out_.line(fmt::format("i64 row_at{} = 0;", p));
  out_.open("ANABRANCH_DEVICE void enter_row(i64 item_number, i64 position) {");
  out_.line("enter(item_number, position);");
  for (std::size_t p = 0; p < places_.size(); ++p)
    out_.line(fmt::format("row_at{} = {};", p, row_place(places_[p])));
  out_.close();
}

std::string RowGenerator::row_place(const kernel::Layout& layout) {
  const auto place = [&](const std::string& position) {
    const std::string step = row_step();
    if (step == "1ll") return fmt::format("multiply({}, {})", position, row_size());
    return fmt::format("row_across({}, {}, {})", position, row_size(), step);
  };
  // Without offsets items are alike, and rows lie one after the other.
  if (layout.form != kernel::Form::segmented) return place("position");
  std::string base = offset_at(layout.offsets, layout.offset_type, "item");
  if (kernel_.domain.extents.empty()) return base;
  std::string rows = "1ll";
  for (const std::string& e : domain_) rows = fmt::format("multiply({}, {})", rows, e);
  const std::string first = segmented_ ? "start(item)" : fmt::format("multiply(item, {})", rows);
  return fmt::format("{} + {}", base, place(fmt::format("(position - {})", first)));
}

void RowGenerator::store(const std::string& signature, Write write) {
  out_.open(fmt::format("ANABRANCH_DEVICE void {} {{", signature));
  const auto before = scalar_.mark();
  ExprTexts values;
  if (write == Write::element) {
    scalar_.bind(*row_.index, {place_in_row()});
    values = stored_values();
  } else {
    for (std::size_t c = 0; c < components(); ++c) values.push_back(fmt::format("v.c{}", c));
  }
  for (const kernel::KernelOutput& output : kernel_.outputs) {
    if (output.write != write) continue;
    const kernel::KernelArray& array = output.array;
    const std::string at =
        write == Write::position
            ? "out_at"
            : fmt::format("row_at{} + multiply({}, {})", place_of(array), place_in_row(), row_step());
    for (std::size_t c = 0; c < array.type.scalars.size(); ++c)
      out_.line(fmt::format(
          "{}[{}] = {};",
          buffer(array.first_buffer + static_cast<int>(c), memory_type_text(array.type.scalars[c])), at,
          in_memory(output.first + c, values[output.first + c])));
  }
  out_.close();
  scalar_.undo(before);
}

}  // namespace anabranch::cuda
