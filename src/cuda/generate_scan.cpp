#include <algorithm>

#include <fmt/format.h>

#include "cuda/row_generator.h"
#include "cuda/words.h"

/// Prefixes of rows: kernels/cuda/scan.cuh.
namespace anabranch::cuda {
namespace {

using kernel::Prefixes;
using Write = kernel::KernelOutput::Write;

/// Largest cost of an operator whose code is repeated for each step over a warp's lanes.
constexpr std::int64_t small_operator_cost = unroll_cost / 4;

class Scan : public RowGenerator {
 public:
  explicit Scan(const kernel::Kernel& kernel) : Scan(kernel, std::get<kernel::Scan>(kernel.form)) {}

 private:
  Scan(const kernel::Kernel& kernel, const kernel::Scan& scan)
      : RowGenerator(kernel, scan.reduction.left, scan.reduction.right),
        scan_(scan),
        combine_(scan.reduction.combine),
        seed_(scan.reduction.seed) {}

  std::vector<const char*> included() const override { return {"scan_blocks.cuh"}; }

  void assertions() override {
    out_.line(
        fmt::format("static_assert(scan_threads == {} && LongRows::header == {} && sizeof(LongRow) == {});",
                    block_threads, workspace_header, long_row_bytes));
    out_.line(fmt::format("static_assert(packed_rows == {});", packed_rows));
  }

  bool stores_seed() const { return scan_.kind.prefixes != Prefixes::inclusive; }

  /// Elements are numbered in the order of the scan.
  void name_own_values() override {
    RowGenerator::name_own_values();
    if (scan_.kind.from_right) scalar_.bind(*row_.index, {fmt::format("({} - 1 - r)", length_)});
  }

  std::string row_size() const override {
    return scan_.kind.prefixes == Prefixes::all ? fmt::format("({} + 1)", length_) : length_;
  }
  std::string place_in_row() const override {
    return scan_.kind.from_right ? fmt::format("({} - 1 - r)", row_size()) : "r";
  }

  std::string row_step() const override {
    if (!scan_.axis) return RowGenerator::row_step();
    std::string step = "1ll";
    for (auto d = static_cast<std::size_t>(*scan_.axis); d < domain_.size(); ++d)
      step = step == "1ll" ? domain_[d] : fmt::format("multiply({}, {})", step, domain_[d]);
    return step;
  }

  bool has_totals() const {
    return std::any_of(kernel_.outputs.begin(), kernel_.outputs.end(),
                       [](const kernel::KernelOutput& o) { return o.write == Write::position; });
  }

  /// Packs of short rows that a warp reads at a time, as far as registers allow: what may fail is kept until
  /// it is known that it did not.
  int packs_ahead() const { return checked() || value_bytes(kernel_) > 8 ? 2 : 4; }
  bool small_operator() const { return combine_[0].cost <= small_operator_cost; }

  void constants() override {
    out_.line(fmt::format("static constexpr bool seeded = {};", !scan_.reduction.seed.empty()));
    out_.line(fmt::format("static constexpr bool seed_first = {};", stores_seed()));
    out_.line(fmt::format("static constexpr bool all_prefixes = {};", scan_.kind.prefixes == Prefixes::all));
    out_.line(fmt::format("static constexpr bool totals = {};", has_totals()));
    out_.line(fmt::format("static constexpr int components = {};", components()));
    out_.line(fmt::format("static constexpr bool small_operator = {};", small_operator()));
    // Each has its own view of the stop word, where there are loops.
    const bool repeated = small_operator() && body_[0].cost <= unroll_cost && !loops();
    out_.line(fmt::format("static constexpr int packs = {};", !repeated ? 1 : packs_ahead()));
  }

  void parts() override {
    row_parts();
    out_.line("");
    operation("ANABRANCH_DEVICE Value join(Value x, Value y, [[maybe_unused]] i64 at) {", combine_,
              scan_.reduction.combine, "of_join(at)");
    out_.line("");
    if (scan_.reduction.seed.empty())
      out_.line("ANABRANCH_DEVICE Value seed() { return {}; }");
    else
      operation("ANABRANCH_DEVICE Value seed() {", seed_, scan_.reduction.seed, "before_joins");
    out_.line("");
    row_places();
    store("store([[maybe_unused]] i64 r, [[maybe_unused]] Value v)", Write::element);
    store("store_total([[maybe_unused]] Value v)", Write::position);
    out_.line("");
    shuffles("shuffle_up", "int distance", "distance");
    cells();
  }

  /// In the order of ScanEntry.
  std::vector<Entry> all_entries() const override {
    return {{"packed", fmt::format("scan_rows<anabranch::Kernel, {}>", packed_rows)},
            {"by_warp", "scan_rows<anabranch::Kernel, 1>"},
            {"totals", "scan_totals<anabranch::Kernel>"},
            {"tree", "scan_tree<anabranch::Kernel>"},
            {"blocks", "scan_blocks<anabranch::Kernel>"}};
  }

  const char* launch_bounds(const Entry& entry) const override {
    if (body_[0].cost > unroll_cost || combine_[0].cost > unroll_cost) return "256, 1";
    // Items that rows are searched in, and rows that may fail, take more registers than three blocks leave.
    return entry.what == "packed" && checked() && segmented_ ? "256, 2" : "256, 3";
  }

  const kernel::Scan& scan_;
  kernel::Regions combine_, seed_;
};

}  // namespace

Unit generate_scan(const kernel::Kernel& kernel, int only) { return Scan(kernel).make(only); }

}  // namespace anabranch::cuda
