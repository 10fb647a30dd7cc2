#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "ir/run_error.h"
#include "plan/plan.h"
#include "run/context/results.h"

/// What is computed once per run: arrays and uniforms of the plan's global group.
namespace anabranch::runtime {

/// Values of the global group: evaluated as the run goes on.
class GlobalValues {
 public:
  /// Before the host reads an array: its elements may be elsewhere.
  using Fetch = std::function<void(const HostArray&)>;
  /// Evaluating ends with Cancelled once `stop` is requested. `item`: of the stream, that they are computed for, or
  /// ir::no_item.
  GlobalValues(
      const plan::Plan& plan, const std::vector<HostArray>& arguments, std::stop_token stop,
      Fetch fetch = [](const HostArray&) {}, std::int64_t item = ir::no_item);
  /// With its elements.
  const HostArray& array(int number) const;
  /// Its elements may be elsewhere: for who asks where they are, or for its shape, or hands it on.
  const HostArray& place(int number) const;
  /// Arrays of the program that are there, for evaluating uniforms: as `place`.
  const HostArray* find(const ir::Node* node) const;
  void fetch(const HostArray& array) const { fetch_(array); }
  void set(int number, const HostArray& array);
  /// While the step is under way that makes an array: the component in whose memory this one is put, if it is.
  std::optional<plan::ArrayPart> overwritten_by(int array, std::size_t component) const;
  /// Nothing asks for it any more.
  void forget(int number);
  /// Thread-safe, once what it is computed from is there.
  std::int64_t uniform(int number);
  /// Of a kernel of the global group.
  std::int64_t positions(const plan::KernelStep& step);
  const plan::Plan& plan() const { return plan_; }
  const std::stop_token& stop() const { return stop_; }
  /// That messages name.
  std::int64_t item() const { return item_; }

 private:
  const plan::Plan& plan_;
  std::stop_token stop_;
  Fetch fetch_;
  std::int64_t item_;
  std::vector<HostArray> arrays_;
  std::unordered_map<const ir::Node*, HostArray> by_node_;
  std::mutex mutex_;  ///< guards what follows
  std::vector<std::optional<std::int64_t>> uniforms_;
};

/// What a plan reads that is there before the run: arrays inside the program and its bodies, and arguments.
std::vector<HostArray> inputs_of(const plan::Plan& plan, const std::vector<HostArray>& arguments);

/// An int64 expression over known arrays, on the host.
std::int64_t evaluate_uniform(const ir::Ref& expression, const GlobalValues& values);

}  // namespace anabranch::runtime
