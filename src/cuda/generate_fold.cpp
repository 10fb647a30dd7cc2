#include <fmt/format.h>

#include "cuda/row_generator.h"
#include "cuda/words.h"
#include "kernel/fold_operator.h"
#include "kernel/pointwise.h"

/// Reductions of rows: kernels/cuda/fold.cuh.
namespace anabranch::cuda {
namespace {

using Kind = kernel::KernelExtent::Kind;

class Fold : public RowGenerator {
 public:
  explicit Fold(const kernel::Kernel& kernel) : Fold(kernel, kernel::Operators(kernel)) {}

 private:
  Fold(const kernel::Kernel& kernel, kernel::Operators operators)
      : RowGenerator(kernel, operators.left, operators.right),
        reduce_(kernel::reduce_of(kernel)),
        operators_(std::move(operators)),
        combine_(operators_.combine),
        seeded_combine_(operators_.seeded_combine),
        seed_(operators_.seed) {}

  const char* included() const override { return in_order_ ? "fold_tiles.cuh" : "fold.cuh"; }

  void assertions() override {
    out_.line(
        fmt::format("static_assert(fold_threads == {} && LongRows::header == {} && sizeof(LongRow) == {});",
                    block_threads, workspace_header, long_row_bytes));
    if (in_order_)
      out_.line(fmt::format("static_assert(tile_elements == {} && row_work == {} && longest_ordered == {});",
                            tile_elements, row_work, eight_rows));
  }

  bool commutative() const { return reduce_.order == ir::fold_order::OperatorClass::commutative; }

  void constants() override {
    if (in_order_) out_.line(fmt::format("static_assert(sizeof(Value) == {});", value_bytes(kernel_)));
    out_.line(fmt::format("static constexpr bool commutative = {};", commutative()));
    out_.line(fmt::format("static constexpr bool seeded = {};", kernel::all_seeded(reduce_)));
    out_.line(fmt::format("static constexpr int components = {};", components()));
    out_.line(fmt::format("static constexpr i32 empty_check = {};",
                          kernel::all_seeded(reduce_) ? 0 : kernel::empty_check(kernel_)));
  }

  void parts() override {
    row_parts();
    out_.line("");
    operation("ANABRANCH_DEVICE Value join(Value x, Value y) {", combine_, operators_.combine,
              "after_elements");
    out_.line("");
    seed();
    finish();
    store_parts();

    out_.line("");
    if (commutative())
      out_.line("static ANABRANCH_DEVICE Value identity() { return " + each_component([&](std::size_t c) {
                  return literal_text(type(c), kernel::identity_of(kernel::operator_of(kernel_, c), type(c)));
                }) +
                "; }");
    shuffles("shuffle_down", "int distance, int width", "distance, width");
    cells();
    if (in_order_) {
      read_in_order({});
      row_start();
    }
  }

  void seed() {
    out_.open("ANABRANCH_DEVICE Value seed() {");
    if (operators_.seed.empty()) {
      out_.line("return {};");
    } else {
      const auto outside = scalar_.mark();
      scalar_.element = "in_seed";
      scalar_.emit_region(seed_, 0);
      give(operators_.spread(scalar_.results(operators_.seed), ExprTexts(components(), "{}")));
      scalar_.undo(outside);
    }
    out_.close();
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

  void elements(const std::string& parameter) override {
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
    const kernel::KernelExtent& length = row_.length;
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
};

}  // namespace

Unit generate_fold(const kernel::Kernel& kernel, int only) { return Fold(kernel).make(only); }

}  // namespace anabranch::cuda
