#include <algorithm>

#include <fmt/format.h>

#include "cuda/element_stages.h"
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
        seed_(operators_.seed),
        stages_(kernel, body_, [this](const ir::Node& node) { return !depends_on_element(node); }) {}

  std::vector<const char*> included() const override {
    std::vector<const char*> all{in_order_ ? "fold_tiles.cuh" : "fold.cuh"};
    if (has_few_blocks(kernel_)) all.push_back("fold_few_blocks.cuh");
    return all;
  }

  void assertions() override {
    out_.line(
        fmt::format("static_assert(fold_threads == {} && LongRows::header == {} && sizeof(LongRow) == {});",
                    block_threads, workspace_header, long_row_bytes));
    if (in_order_)
      out_.line(fmt::format("static_assert(tile_elements == {} && row_work == {} && longest_ordered == {});",
                            tile_elements, row_work, eight_rows));
  }

  /// Bytes that a lane should have under way where a warp reads a row: 512 threads of a multiprocessor with so
  /// many have 32 KB, and 768 48 KB, where an H200's full bandwidth takes 23 KB at a latency of 700 ns. They
  /// also wait for what they gather, and add.
  static constexpr std::int64_t lane_bytes = 64;
  /// Most elements that a thread computes together. With more, many lanes would find no element in rows of
  /// some hundred.
  static constexpr int most_together = 8;
  /// Registers for what is under way, of the 128 that a thread can have, and of 80.
  static constexpr std::int64_t most_words = 56, words_of_80 = 44;

  int unroll() const override {
    const std::int64_t cost = std::max<std::int64_t>(body_[0].cost, 1);
    if (cost > unroll_cost) return 1;
    int together = four;
    while (together < most_together && together * stages_.fetched_bytes() < lane_bytes &&
           2 * together * stages_.words() <= most_words && 2 * together * cost <= 4 * unroll_cost)
      together *= 2;
    return together;
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
                  return literal_text(type(c), ir::neutral_element(kernel::operator_of(kernel_, c), type(c)));
                }) +
                "; }");
    shuffles("shuffle_down", "int distance, int width", "distance, width");
    cells();
    if (in_order_) {
      read_in_order({});
      row_start();
      prefetch_elements();
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
    const bool staged = stages_ && unroll() > 1;
    out_.line(fmt::format("static constexpr bool staged = {};", staged));
    scalar_.brief = true;
    if (staged)
      staged_element(parameter);
    else
      element("element", parameter, body_);
    if (in_order_) {
      scalar_.is_pointwise = [this](const ir::Node& node) { return kernel::at_own_element(kernel_, node); };
      // Not `body_`: its regions hold the operands of these reads.
      const kernel::Regions body(kernel_.body, scalar_.is_pointwise);
      if (staged)
        staged_element_of_four(body);
      else
        element_of_four(body);
      scalar_.is_pointwise = own_;
    }
    scalar_.brief = false;
    if (checked()) element("examine", parameter, body_);
  }

  // Elements in stages (element_stages.h) -------------------------------------------------------------------

  using Stage = ElementStages::Stage;

  void staged_element(const std::string& parameter) {
    values_of_stage("Fetched", stages_.handed_on(Stage::fetch));
    values_of_stage("Gathered", stages_.handed_on(Stage::gather));
    stage("Fetched fetch(" + parameter + ")", stages_, body_, Stage::fetch, {});
    stage("Gathered gather(" + parameter + ", [[maybe_unused]] const Fetched& fetched)", stages_, body_,
          Stage::gather, {Stage::fetch, "fetched"});
    stage("Value combine(" + parameter + ", [[maybe_unused]] const Gathered& gathered)", stages_, body_,
          Stage::combine, {Stage::gather, "gathered"});
  }

  void staged_element_of_four(const kernel::Regions& body) {
    const ElementStages stages(
        kernel_, body, [this](const ir::Node& node) { return !depends_on_element(node); },
        scalar_.is_pointwise);
    values_of_stage("GatheredOfFour", stages.handed_on(Stage::gather));
    with_fetched([&] {
      stage("GatheredOfFour gather_of_four([[maybe_unused]] int n)", stages, body, Stage::gather, {});
      stage("Value combine_of_four([[maybe_unused]] int n, [[maybe_unused]] const GatheredOfFour& gathered)",
            stages, body, Stage::combine, {Stage::gather, "gathered"});
    });
  }

  void values_of_stage(const char* name, const std::vector<const ir::Node*>& nodes) {
    out_.open(fmt::format("struct {} {{", name));
    int number = 0;
    for (const ir::Node* node : nodes)
      for (const ScalarType type : node->type().scalars)
        out_.line(fmt::format("{} v{};", type_text(type), number++));
    out_.close("};");
  }

  /// What a stage gets: a structure of what the stages up to one hand on.
  struct Given {
    Stage stage = Stage::fetch;
    std::string name;  ///< empty: nothing
  };

  void stage(const std::string& signature, const ElementStages& stages, const kernel::Regions& body,
             Stage which, const Given& given) {
    const auto before = scalar_.mark();
    out_.open(fmt::format("ANABRANCH_DEVICE {} {{", signature));
    int number = 0;
    if (!given.name.empty())
      for (const ir::Node* node : stages.handed_on(given.stage)) {
        ExprTexts words;
        for (std::size_t c = 0; c < node->type().scalars.size(); ++c)
          words.push_back(fmt::format("{}.v{}", given.name, number++));
        scalar_.bind(*node, std::move(words));
      }
    scalar_.emit_region(body, 0, [&](const ir::Node& node) { return stages.belongs(node, which); });
    if (which == Stage::combine) {
      give(scalar_.results(kernel_.body));
    } else {
      ExprTexts values;
      for (const ir::Node* node : stages.handed_on(which))
        for (const std::string& word : scalar_.words(*node)) values.push_back(word);
      give(values);
    }
    out_.close();
    scalar_.undo(before);
  }

  void row_start() {
    out_.open("ANABRANCH_DEVICE i64 row_start(i64 position) const {");
    const kernel::KernelExtent& length = row_.length;
    if (length.kind == Kind::ragged)
      out_.line(fmt::format("return {};", offset_at(length.slot, length.offsets, "position")));
    else
      out_.line(fmt::format("return multiply(position, {});", length_));
    out_.close();
    out_.open(
        "ANABRANCH_DEVICE void prefetch_starts([[maybe_unused]] i64 begin, [[maybe_unused]] i64 end) const "
        "{");
    if (length.kind == Kind::ragged)
      out_.line(fmt::format("anabranch::prefetch({}, begin, end);",
                            buffer(length.slot, offset_type(length.offsets))));
    out_.close();
  }

  void prefetch_elements() {
    out_.open("ANABRANCH_DEVICE void prefetch_elements(i64 begin, i64 end) const {");
    for (const InOrder::Read& read : in_order_.reads)
      out_.line(fmt::format("anabranch::prefetch({}, begin, end);", buffer_of(read)));
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
    if (has_few_blocks(kernel_)) all.push_back({"few_blocks", "fold_few_blocks<anabranch::Kernel>"});
    if (in_order_ && commutative()) all.push_back({"tiles_by_warp", "fold_tiles<anabranch::Kernel, 32>"});
    return all;
  }

  // Without a minimum number of blocks the compiler aims at more threads than help, and spills registers for
  // them. One block more where that costs no spills: it reduces rows while others read. One fewer where a
  // thread has more under way than 80 registers hold, or it would wait for its first gathers before it issues
  // its last.
  const char* launch_bounds(const Entry& entry) const override {
    if (entry.call.starts_with("fold_tiles") && components() == 1 && body_[0].cost <= unroll_cost / 4)
      return "256, 4";
    if (entry.what == "finish" && has_many_finishers(kernel_)) return "1024, 1";
    if (body_[0].cost > unroll_cost) return "256, 1";
    const bool by_eight = entry.what == "by_eight", by_thread = entry.what == "by_thread";
    const std::int64_t under_way = (by_eight ? four : unroll()) * stages_.words();
    return under_way + (by_thread ? lanes_of_thread() : 0) > words_of_80 ? "256, 2" : "256, 3";
  }

  /// Registers for the lanes that a thread keeps of its row.
  std::int64_t lanes_of_thread() const {
    return commutative() ? 8 * static_cast<std::int64_t>((value_bytes(kernel_) + 3) / 4) : 0;
  }

  const kernel::Reduce& reduce_;
  kernel::Operators operators_;
  kernel::Regions combine_, seeded_combine_, seed_;
  ElementStages stages_;
};

}  // namespace

Unit generate_fold(const kernel::Kernel& kernel, int only) { return Fold(kernel).make(only); }

}  // namespace anabranch::cuda
