#include <fmt/format.h>

#include "cuda/row_generator.h"
#include "cuda/words.h"

/// States along rows: kernels/cuda/recurrence.cuh.
namespace anabranch::cuda {
namespace {

class Recurrence : public RowGenerator {
 public:
  explicit Recurrence(const kernel::Kernel& kernel)
      : Recurrence(kernel, std::get<kernel::Recurrence>(kernel.form)) {}

 private:
  Recurrence(const kernel::Kernel& kernel, const kernel::Recurrence& form)
      : RowGenerator(kernel, form.state, {}), form_(form), initial_(form.initial) {}

  std::vector<const char*> included() const override { return {"recurrence.cuh"}; }

  void assertions() override {
    out_.line(fmt::format("static_assert(recurrence_threads == {});", block_threads));
  }
  void constants() override {}

  void parts() override {
    row_parts();
    out_.line("");
    operation("ANABRANCH_DEVICE Value initial() {", initial_, form_.initial, "0ull");
    out_.line("");
    row_places();
    store("store(i64 r, Value v)", kernel::KernelOutput::Write::element);
  }

  void elements(const std::string& parameter) override {
    element("next", parameter + ", [[maybe_unused]] Value x", body_);
  }

  std::vector<Entry> all_entries() const override { return {{"rows", "recurrence_rows<anabranch::Kernel>"}}; }
  const char* launch_bounds(const Entry&) const override {
    return body_[0].cost > unroll_cost ? "256, 1" : "256, 3";
  }

  const kernel::Recurrence& form_;
  kernel::Regions initial_;
};

}  // namespace

Unit generate_recurrence(const kernel::Kernel& kernel, int only) { return Recurrence(kernel).make(only); }

}  // namespace anabranch::cuda
