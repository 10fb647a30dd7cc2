#include <fmt/format.h>

#include "cuda/generator.h"
#include "cuda/words.h"
#include "kernel/pointwise.h"

/// Maps: kernels/cuda/map.cuh.
namespace anabranch::cuda {
namespace {

class Map : public Generator {
 public:
  explicit Map(const kernel::Kernel& kernel)
      : Generator(
            kernel, [&kernel](const ir::Node& node) { return kernel::is_pointwise(kernel, node); },
            kernel::is_flat(kernel)) {}

 private:
  std::vector<const char*> included() const override { return {"map.cuh"}; }

  void assertions() override {
    out_.line(fmt::format("static_assert(map_threads == {} && map_tile == {});", block_threads, map_tile));
  }

  void constants() override {
    if (has_plain_element())
      out_.line(fmt::format("static constexpr bool in_place = {};", kernel::writes_in_place(kernel_)));
  }

  void parts() override {
    store_parts();
    out_.line("");
    scalar_.brief = true;
    if (has_plain_element()) element("element", "", body_);
    if (in_order_) element_of_four(body_);
    scalar_.brief = false;
    if (checked()) element("examine", "", body_);
    if (!in_order_) return;
    std::vector<std::string> written;
    for (const Stored& s : stored()) written.push_back(s.buffer);
    read_in_order(written);
    store_four();
  }

  bool has_plain_element() const override { return !in_order_; }

  void store_four() {
    out_.open("ANABRANCH_DEVICE void store_four(const Value* v, i64 at, Range range, bool even) {");
    out_.open("if (even && range.has_four(at)) {");
    for (const Stored& s : stored()) {
      std::string values;
      for (int i = 0; i < four; ++i)
        values += ", " + in_memory(s.component, fmt::format("v[{}].c{}", i, s.component));
      out_.line(fmt::format("anabranch::store_four({}, at{});", s.buffer, values));
    }
    out_.line("return;");
    out_.close();
    out_.line("#pragma unroll");
    out_.open("for (int i = 0; i < four; ++i) {");
    out_.line("out_at = at + i;");
    out_.line("if (range.has(out_at)) store(v[i]);");
    out_.close();
    out_.close();
  }

  std::vector<Entry> all_entries() const override {
    return {{"map", in_order_              ? "map_in_order<anabranch::Kernel>"
                    : segmented_ && !flat_ ? "map_segments<anabranch::Kernel>"
                                           : "map_positions<anabranch::Kernel>"}};
  }

  // Without a minimum number of blocks the compiler aims at more threads than help, and spills for them.
  const char* launch_bounds(const Entry&) const override {
    return body_[0].cost > unroll_cost ? "256, 1" : "256, 2";
  }
};

}  // namespace

Unit generate_map(const kernel::Kernel& kernel, int only) { return Map(kernel).make(only); }

}  // namespace anabranch::cuda
