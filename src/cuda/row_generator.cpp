#include "cuda/row_generator.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/views.h"

namespace anabranch::cuda {

RowGenerator::RowGenerator(const kernel::Kernel& kernel, std::vector<ir::Ref> left,
                           std::vector<ir::Ref> right)
    : Generator(kernel, {}, false),
      row_(*kernel::row_of(kernel)),
      left_(std::move(left)),
      right_(std::move(right)) {}

void RowGenerator::name_own_values() {
  scalar_.bind(*row_.index, {"r"});
  for (std::size_t c = 0; c < components(); ++c) {
    scalar_.bind(*left_[c], {fmt::format("x.c{}", c)});
    scalar_.bind(*right_[c], {fmt::format("y.c{}", c)});
  }
  length_ = extent(row_.length);
}

bool RowGenerator::depends_on_element(const ir::Node& node) const {
  const auto& free = node.free();
  return std::find(free.begin(), free.end(), row_.index.get()) != free.end();
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

}  // namespace anabranch::cuda
