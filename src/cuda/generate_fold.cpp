#include <algorithm>

#include <fmt/format.h>

#include "cuda/generator.h"
#include "cuda/words.h"
#include "ir/views.h"
#include "kernel/fold_operator.h"
#include "kernel/pointwise.h"

/// Reductions of rows: kernels/cuda/fold.cuh.
namespace anabranch::cuda {
namespace {

using Kind = kernel::KernelExtent::Kind;

class Fold : public Generator {
 public:
  explicit Fold(const kernel::Kernel& kernel)
      : Generator(kernel, {}, false),
        reduce_(kernel::reduce_of(kernel)),
        operators_(kernel),
        combine_(operators_.combine),
        seeded_combine_(operators_.seeded_combine),
        seed_(operators_.seed) {}

 private:
  const char* included() const override { return in_order_ ? "fold_tiles.cuh" : "fold.cuh"; }

  void assertions() override {
    out_.line(
        fmt::format("static_assert(fold_threads == {} && LongRows::header == {} && sizeof(LongRow) == {});",
                    block_threads, workspace_header, long_row_bytes));
    if (in_order_)
      out_.line(fmt::format("static_assert(tile_elements == {} && row_work == {} && longest_ordered == {});",
                            tile_elements, row_work, eight_rows));
  }

  std::vector<kernel::KernelExtent> own_extents() const override { return {reduce_.row.length}; }

  void name_own_values() override {
    scalar_.bind(*reduce_.row.index, {"r"});
    for (std::size_t c = 0; c < components(); ++c) {
      scalar_.bind(*operators_.left[c], {fmt::format("x.c{}", c)});
      scalar_.bind(*operators_.right[c], {fmt::format("y.c{}", c)});
    }
    length_ = extent(reduce_.row.length);
  }

  bool has_plain_element() const override { return true; }

  bool commutative() const { return reduce_.order == ir::fold_order::OperatorClass::commutative; }

  void constants() override {
    if (in_order_) out_.line(fmt::format("static_assert(sizeof(Value) == {});", value_bytes(kernel_)));
    out_.line(fmt::format("static constexpr bool commutative = {};", commutative()));
    out_.line(fmt::format("static constexpr bool seeded = {};", kernel::all_seeded(reduce_)));
    out_.line(fmt::format("static constexpr int components = {};", components()));
    out_.line(fmt::format("static constexpr i32 empty_check = {};",
                          kernel::all_seeded(reduce_) ? 0 : kernel::empty_check(kernel_)));
  }

  bool depends_on_element(const ir::Node& node) const {
    const auto& free = node.free();
    return std::find(free.begin(), free.end(), reduce_.row.index.get()) != free.end();
  }

  /// "{f(v.c0), f(v.c1)}" with `part` giving f.
  template <class F>
  std::string each_component(F&& part) {
    std::string out;
    for (std::size_t c = 0; c < components(); ++c) out += (c ? ", " : "") + part(c);
    return "{" + out + "}";
  }

  void parts() override {
    out_.line("");
    out_.line(fmt::format("ANABRANCH_DEVICE i64 length() const {{ return {}; }}", length_));

    // What the elements of a row share is kept in members.
    const auto before = scalar_.mark();
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
    // Tuples and projections name the members, too.
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

    out_.line("");
    scalar_.element = "u64(r)";
    elements("[[maybe_unused]] i64 r");
    scalar_.undo(before);

    out_.line("");
    out_.open("ANABRANCH_DEVICE Value join(Value x, Value y) {");
    const auto outside = scalar_.mark();
    scalar_.element = "after_elements";
    scalar_.emit_region(combine_, 0);
    give(scalar_.results(operators_.combine));
    out_.close();
    scalar_.undo(outside);

    out_.line("");
    out_.open("ANABRANCH_DEVICE Value seed() {");
    if (operators_.seed.empty()) {
      out_.line("return {};");
    } else {
      scalar_.element = "in_seed";
      scalar_.emit_region(seed_, 0);
      give(operators_.spread(scalar_.results(operators_.seed), ExprTexts(components(), "{}")));
      scalar_.undo(outside);
    }
    out_.close();
    finish();
    store_parts();

    out_.line("");
    if (commutative())
      out_.line("static ANABRANCH_DEVICE Value identity() { return " + each_component([&](std::size_t c) {
                  return literal_text(type(c), kernel::identity_of(kernel::operator_of(kernel_, c), type(c)));
                }) +
                "; }");
    out_.line("static ANABRANCH_DEVICE Value shuffle(Value v, int lane, int width) {");
    out_.line("  return " + each_component([](std::size_t c) {
                return fmt::format("anabranch::shuffle(v.c{}, lane, width)", c);
              }) +
              ";");
    out_.line("}");
    out_.line("static ANABRANCH_DEVICE Value shuffle_down(Value v, int distance, int width) {");
    out_.line("  return " + each_component([](std::size_t c) {
                return fmt::format("anabranch::shuffle_down(v.c{}, distance, width)", c);
              }) +
              ";");
    out_.line("}");
    out_.open("static ANABRANCH_DEVICE void put(u64* cell, Value v) {");
    for (std::size_t c = 0; c < components(); ++c) out_.line(fmt::format("cell[{0}] = to_bits(v.c{0});", c));
    out_.close();
    out_.line("static ANABRANCH_DEVICE Value get(const u64* cell) {");
    out_.line("  return " + each_component([&](std::size_t c) {
                return fmt::format("from_bits<{}>(cell[{}])", type_text(type(c)), c);
              }) +
              ";");
    out_.line("}");
    if (in_order_) {
      read_in_order({});
      row_start();
    }
  }

  void finish() {
    if (operators_.seed.empty() || kernel::all_seeded(reduce_)) {
      out_.line(fmt::format("ANABRANCH_DEVICE Value finish(Value total) {{ return {}; }}",
                            operators_.seed.empty() ? "total" : "join(seed(), total)"));
      return;
    }
    out_.open("ANABRANCH_DEVICE Value finish(Value y) {");
    out_.line("[[maybe_unused]] const Value x = seed();");
    const auto outside = scalar_.mark();
    scalar_.element = "after_elements";
    scalar_.emit_region(seeded_combine_, 0);
    ExprTexts rest;
    for (std::size_t c = 0; c < components(); ++c) rest.push_back(fmt::format("y.c{}", c));
    give(operators_.spread(scalar_.results(operators_.seeded_combine), rest));
    out_.close();
    scalar_.undo(outside);
  }

  void elements(const std::string& parameter) {
    scalar_.brief = true;
    element("element", parameter, body_);
    if (in_order_) {
      scalar_.is_pointwise = [this](const ir::Node& node) { return kernel::at_own_element(kernel_, node); };
      // Not `body_`: its regions hold the operands of these reads.
      element_of_four(kernel::Regions(kernel_.body, scalar_.is_pointwise));
      scalar_.is_pointwise = own_;
    }
    scalar_.brief = false;
    if (checked()) element("examine", parameter, body_);
  }

  void row_start() {
    out_.open("ANABRANCH_DEVICE i64 row_start(i64 position) const {");
    const kernel::KernelExtent& length = reduce_.row.length;
    if (length.kind == Kind::ragged)
      out_.line(fmt::format("return {};", offset_at(length.slot, length.offsets, "position")));
    else
      out_.line(fmt::format("return multiply(position, {});", length_));
    out_.close();
  }

  /// In the order of FoldEntry.
  std::vector<Entry> all_entries() const override {
    const std::string rows = in_order_ ? "fold_tiles" : "fold_rows";
    std::vector<Entry> all{{"by_thread", rows + "<anabranch::Kernel, 1>"}};
    if (commutative()) {
      all.push_back({"by_eight", rows + "<anabranch::Kernel, 8>"});
      all.push_back({"by_warp", "fold_rows<anabranch::Kernel, 32>"});
    }
    all.push_back({"blocks", "fold_blocks<anabranch::Kernel>"});
    all.push_back({"finish", "fold_finish<anabranch::Kernel>"});
    return all;
  }

  // Without a minimum number of blocks the compiler aims at more threads than help, and spills registers for
  // them. One block more where that costs no spills: it reduces rows while others read.
  const char* launch_bounds(const Entry& entry) const override {
    if (entry.call.starts_with("fold_tiles") && components() == 1 && body_[0].cost <= unroll_cost / 4)
      return "256, 4";
    return body_[0].cost > unroll_cost ? "256, 1" : "256, 3";
  }

  const kernel::Reduce& reduce_;
  kernel::Operators operators_;
  kernel::Regions combine_, seeded_combine_, seed_;
  std::string length_;
};

}  // namespace

Unit generate_fold(const kernel::Kernel& kernel, int only) { return Fold(kernel).make(only); }

}  // namespace anabranch::cuda
