#include "run/backends/estimate.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include <anabranch/device_array.h>

#include <fmt/format.h>

#include "ir/views.h"

namespace anabranch::runtime {

namespace {

using plan::PlanArray;
using Shape = std::vector<double>;

/// Where nothing is known.
constexpr double some_extent = 64, some_items = 1e6, some_rounds = 32;

double product(const Shape& shape) {
  double all = 1;
  for (const double extent : shape) all *= extent;
  return all;
}

Shape shape_of(const detail::ArrayData& array) { return {array.extents.begin(), array.extents.end()}; }

double bytes_of(const ir::Scalars& scalars) {
  double bytes = 0;
  for (const ScalarType s : scalars) bytes += static_cast<double>(size_of(s));
  return bytes;
}

/// One plan, its arguments having these shapes.
class Estimator {
 public:
  /// `inside`: of another plan, whose arrays the arguments are.
  Estimator(const plan::Plan& plan, const std::vector<Shape>& arguments, bool inside)
      : plan_(plan), inside_(inside) {
    for (const PlanArray& array : plan.global.arrays) {
      if (array.origin == PlanArray::Origin::use)
        shapes_[array.node.get()] = shape_of(*array.node->payload().array);
      if (array.origin == PlanArray::Origin::argument)
        shapes_[array.node.get()] = arguments[static_cast<std::size_t>(array.index)];
    }
  }

  RunEstimate run() {
    for (const plan::Action& action : plan_.actions)
      std::visit([this](const auto& one) { act(one); }, action);
    return out_;
  }

  /// These arguments are on the GPU.
  void are_there(std::set<int> arguments) { there_ = std::move(arguments); }

  /// What comes in and goes out, of the whole run.
  RunEstimate run_with_results() {
    run();
    for (const int result : plan_.results) {
      const PlanArray& array = plan_.global.arrays[static_cast<std::size_t>(result)];
      if (array.origin == PlanArray::Origin::computed || array.origin == PlanArray::Origin::control)
        out_.bytes_down += product(shape_of_global(result)) * bytes_of(array.type.scalars);
    }
    return out_;
  }

 private:
  /// Items of a group, and the elements of all of them; of the global group one item.
  struct Extent {
    double items = 1, work = 1;
    bool has_vectors = false;
    double signal = 0;  ///< elements over which items lie, of items that may lie over each other
    double per_item() const { return items > 0 ? work / items : 0; }
    /// Of what is computed for each item: as large as the item.
    double computed() const { return has_vectors ? per_item() : some_extent; }
  };

  void act(const plan::StepAction& action) {
    const plan::Step& step = plan_.global.steps[static_cast<std::size_t>(action.step)];
    add(plan_.global, step, {});
    if (std::holds_alternative<plan::KernelStep>(step) || std::holds_alternative<plan::RearrangeStep>(step))
      ++out_.launches;
  }

  void act(const plan::StageAction& action) {
    add_stage(plan_.stages[static_cast<std::size_t>(action.stage)]);
    for (const int stage : action.with) add_stage(plan_.stages[static_cast<std::size_t>(stage)]);
  }

  void act(const plan::LoopAction& loop) {
    std::vector<Shape> state;
    for (const int array : loop.state) {
      state.push_back(shape_of_global(array));
      upload(array);
    }
    for (const int number : {loop.predicate, loop.body}) add_body(number, state, some_rounds);
    for (std::size_t a = 0; a < plan_.global.arrays.size(); ++a)
      if (const PlanArray& array = plan_.global.arrays[a];
          array.origin == PlanArray::Origin::control && array.index == loop.number &&
          static_cast<std::size_t>(array.part) < state.size())
        shapes_[array.node.get()] = state[static_cast<std::size_t>(array.part)];
  }

  void act(const plan::BranchAction& branch) {
    for (const int number : {branch.then, branch.otherwise}) add_body(number, {}, 0.5);
  }

  void add_body(int number, std::vector<Shape> arguments, double times) {
    const plan::Body& body = plan_.bodies[static_cast<std::size_t>(number)];
    for (const int array : body.captured) {
      arguments.push_back(shape_of_global(array));
      upload(array);
    }
    add(Estimator(body.plan, arguments, true).run(), times);
  }

  /// What comes in is kept from round to round.
  void add(const RunEstimate& inner, double times) {
    out_.operations += inner.operations * times;
    out_.launches += inner.launches * times;
    out_.bytes_up += inner.bytes_up;
    out_.bytes_read += inner.bytes_read;
    out_.bytes_down += inner.bytes_down;
  }

  void add_stage(const plan::StagePlan& stage) {
    for (const ir::StageSource& source : stage.sources)
      for (const int feed : source.feeds) add_stage(fed_by(feed));
    // Who only reads hands on what he has read.
    if (stage.feeds && stage.group.steps.empty()) return;
    const Extent extent = extent_of(stage);
    for (const plan::Step& step : stage.group.steps) {
      add(stage.group, step, extent);
      if (const auto* nested = std::get_if<plan::NestedStep>(&step)) add_nested(stage, *nested, extent);
    }
    const bool from_files = is_read(stage);
    std::set<int> read;
    for (const plan::Step& step : stage.group.steps) {
      if (const auto* kernel = std::get_if<plan::KernelStep>(&step))
        for (const plan::BufferRef& ref : kernel->buffers)
          if (ref.kind == plan::BufferRef::Kind::array && !ref.global) read.insert(ref.index);
      if (const auto* rearrange = std::get_if<plan::RearrangeStep>(&step))
        for (const plan::RearrangeStep::Input& input : rearrange->inputs)
          if (!input.global) read.insert(input.index);
    }
    for (std::size_t a = 0; a < stage.group.arrays.size(); ++a) {
      const PlanArray& array = stage.group.arrays[a];
      if (array.origin != PlanArray::Origin::item || !read.contains(static_cast<int>(a))) continue;
      double sent = elements(stage.group, array, extent);
      if (array.overlap) sent = std::min(sent, extent.signal);
      sent *= bytes_of(array.type.scalars);
      out_.bytes_up += sent;
      if (from_files) out_.bytes_read += sent;
    }
    for (const int result : stage.results) {
      const PlanArray& array = stage.group.arrays[static_cast<std::size_t>(result)];
      out_.bytes_down += elements(stage.group, array, extent) * bytes_of(array.type.scalars);
    }
    ++out_.launches;
  }

  /// Its arguments and results go by way of the host.
  void add_nested(const plan::StagePlan& stage, const plan::NestedStep& step, const Extent& extent) {
    const plan::Plan& nested = stage.nested[static_cast<std::size_t>(step.number)];
    std::vector<Shape> arguments{{}};
    double sent = 0;
    for (const plan::RearrangeStep::Input& input : step.inputs) {
      if (input.global) {
        arguments.push_back(shape_of_global(input.index));
        continue;
      }
      const PlanArray& array = stage.group.arrays[static_cast<std::size_t>(input.index)];
      arguments.push_back({elements(stage.group, array, extent)});
      sent += arguments.back()[0] * bytes_of(array.type.scalars);
    }
    add(Estimator(nested, arguments, true).run(), 1);
    out_.bytes_down += sent;
    out_.bytes_up += sent;
  }

  const plan::StagePlan& fed_by(int stage) const { return plan_.stages[static_cast<std::size_t>(stage)]; }

  /// Whether all its items are read from files: they lie nowhere before. Live sources have buffers of their own.
  bool is_read(const plan::StagePlan& stage) const {
    return std::all_of(stage.sources.begin(), stage.sources.end(), [this](const ir::StageSource& source) {
      if (source.node->op() == ir::Op::stream_in) {
        const SourceInfo& info = source.node->payload().source->info();
        return !info.in_memory && !info.live;
      }
      return !source.feeds.empty() && std::all_of(source.feeds.begin(), source.feeds.end(), [this](int feed) {
        return fed_by(feed).group.steps.empty() && is_read(fed_by(feed));
      });
    });
  }

  /// What the stages that feed a source give together: as though all of it were the source's.
  Extent extent_of_feeds(const ir::StageSource& source) const {
    Extent all{0, 0};
    for (const int feed : source.feeds) {
      const plan::StagePlan& feeding = fed_by(feed);
      const Extent one = extent_of(feeding);
      all.items += one.items;
      double work = 0;
      for (const int result : feeding.results)
        work = std::max(work,
                        elements(feeding.group, feeding.group.arrays[static_cast<std::size_t>(result)], one));
      all.work += work;
    }
    return all;
  }

  /// Those of the whole stream.
  Extent extent_of(const plan::StagePlan& stage) const {
    Extent extent{some_items, 0};
    bool is_known = false, has_work = false;
    for (std::size_t s = 0; s < stage.sources.size(); ++s) {
      const ir::Node& node = *stage.sources[s].node;
      const plan::StagePlan::Inputs& inputs = stage.source_inputs[s];
      double items = some_items, work = 0;
      if (node.op() == ir::Op::stream_in) {
        const SourceInfo& info = node.payload().source->info();
        if (info.items) items = static_cast<double>(*info.items);
        if (info.work) work = static_cast<double>(*info.work);
      } else if (node.op() == ir::Op::produce) {
        items = uniform(plan_.global, inputs.uniforms[0]);
      } else if (node.op() == ir::Op::rows) {
        const Shape shape = shape_of_global(inputs.arrays[0]);
        items = shape.empty() ? 1 : shape[0];
        work = product(shape);
      } else if (node.op() == ir::Op::windows_seq) {
        extent.signal = std::max(extent.signal, extent_of_feeds(stage.sources[s]).work);
        double hop = std::max(1.0, uniform(plan_.global, inputs.uniforms[0]));
        double size = uniform(plan_.global, inputs.uniforms[1]);
        for (std::size_t d = 2; d < inputs.uniforms.size(); ++d) {
          const double extent_of_row = uniform(plan_.global, inputs.uniforms[d]);
          size *= extent_of_row;
          hop *= extent_of_row;
        }
        items = std::max(0.0, std::floor((extent.signal - size) / hop) + 1);
        work = items * size;
      } else if (!stage.sources[s].feeds.empty()) {
        const Extent fed = extent_of_feeds(stage.sources[s]);
        items = fed.items;
        work = fed.work;
      }
      extent.items = is_known ? std::min(extent.items, items) : items;
      is_known = true;
      extent.work = std::max(extent.work, work);
      has_work |= work > 0;
    }
    const auto is_vector = [](const PlanArray& array) {
      return array.origin == PlanArray::Origin::item && array.type.rank > 0;
    };
    const auto& arrays = stage.group.arrays;
    extent.has_vectors = std::any_of(arrays.begin(), arrays.end(), is_vector);
    if (!has_work) extent.work = extent.items * (extent.has_vectors ? some_extent : 1);
    return extent;
  }

  void add(const plan::Group& group, const plan::Step& step, const Extent& extent) {
    if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) return add(group, *kernel, extent);
    const auto* rearrange = std::get_if<plan::RearrangeStep>(&step);
    if (!rearrange) return;
    for (const plan::RearrangeStep::Input& input : rearrange->inputs) {
      const PlanArray& array = group.arrays[static_cast<std::size_t>(input.index)];
      out_.operations += elements(group, array, extent) * additions_of(*rearrange->node);
      if (&group == &plan_.global) upload(input.index);
    }
    for (const int output : rearrange->outputs)
      if (output >= 0) note(group, output);
  }

  /// What rearranging an element costs, in additions: an order of magnitude.
  static double additions_of(const ir::Node& rearranged) {
    constexpr double sorting = 200, sending = 50, choosing = 10;
    if (rearranged.op() == ir::Op::sort || rearranged.op() == ir::Op::group) return sorting;
    const bool sends = rearranged.op() == ir::Op::last_at || rearranged.op() == ir::Op::accumulate;
    return sends ? sending : choosing;
  }

  void add(const plan::Group& group, const plan::KernelStep& step, const Extent& extent) {
    double rows = elements(group, step.positions, extent), row = 1;
    if (const kernel::Row* const r = kernel::row_of(step.kernel)) {
      const auto& length = r->length;
      using Kind = kernel::KernelExtent::Kind;
      if (length.kind == Kind::constant)
        row = static_cast<double>(length.value);
      else if (length.kind == Kind::uniform)
        row = scalar(group, step, length.slot);
      else
        row = length.kind == Kind::ragged ? extent.per_item() : extent.computed();
    }
    out_.operations += rows * row * std::max(1, step.kernel.operations);
    for (const plan::BufferRef& ref : step.buffers) {
      const bool global = ref.global || &group == &plan_.global;
      if (ref.kind != plan::BufferRef::Kind::array || !global) continue;
      upload(ref.index, ref.component);
    }
    for (const int output : step.outputs) note(group, output);
  }

  /// A component that is there before the run, once.
  void upload(int number, int component) {
    const PlanArray& array = plan_.global.arrays[static_cast<std::size_t>(number)];
    if (array.origin == PlanArray::Origin::components)
      return upload(array.index, array.components[static_cast<std::size_t>(component)]);
    const bool is_input =
        array.origin == PlanArray::Origin::use || (array.origin == PlanArray::Origin::argument && !inside_);
    if (!is_input || !uploaded_.insert({number, component}).second) return;
    const ScalarType type = array.type.scalars[static_cast<std::size_t>(component)];
    const bool is_there = array.origin == PlanArray::Origin::argument && there_.contains(array.index);
    (is_there ? out_.bytes_there : out_.bytes_up) +=
        product(shape_of_global(number)) * static_cast<double>(size_of(type));
  }
  void upload(int number) {
    const PlanArray& array = plan_.global.arrays[static_cast<std::size_t>(number)];
    for (std::size_t c = 0; c < array.type.scalars.size(); ++c) upload(number, static_cast<int>(c));
  }

  /// The shape of what the global group has computed is known from now on.
  void note(const plan::Group& group, int array) {
    if (&group != &plan_.global) return;
    const PlanArray& planned = group.arrays[static_cast<std::size_t>(array)];
    Shape shape;
    for (const plan::PlanExtent& d : planned.extents) shape.push_back(value(group, d, {}));
    shapes_[planned.node.get()] = std::move(shape);
  }

  Shape shape_of_global(int number) const {
    const PlanArray& array = plan_.global.arrays[static_cast<std::size_t>(number)];
    if (array.origin == PlanArray::Origin::components) return shape_of_global(array.index);
    const auto found = shapes_.find(array.node.get());
    return found != shapes_.end() ? found->second
                                  : Shape(static_cast<std::size_t>(array.type.rank), some_extent);
  }

  double elements(const plan::Group& group, const plan::PlanLayout& layout, const Extent& extent) const {
    if (layout.form == ir::Form::segmented && layout.descriptor >= 0 &&
        group.descriptors[static_cast<std::size_t>(layout.descriptor)].item >= 0)
      return extent.work;
    double all = extent.items;
    for (const plan::PlanExtent& d : layout.extents) all *= value(group, d, extent);
    return all;
  }

  double value(const plan::Group& group, const plan::PlanExtent& d, const Extent& extent) const {
    switch (d.kind) {
      case plan::PlanExtent::Kind::constant:
        return static_cast<double>(d.value);
      case plan::PlanExtent::Kind::uniform:
        return uniform(group, d.index);
      case plan::PlanExtent::Kind::per_item:
        return extent.computed();
      case plan::PlanExtent::Kind::item_extent:
        return extent.per_item();
    }
    return some_extent;
  }

  double scalar(const plan::Group& group, const plan::KernelStep& step, int slot) const {
    const auto s = static_cast<std::size_t>(slot);
    return s < step.scalars.size() ? uniform(group, step.scalars[s]) : some_extent;
  }

  double uniform(const plan::Group& group, int number) const {
    return std::max(0.0, value(*group.uniforms[static_cast<std::size_t>(number)], 8));
  }

  /// Of an expression of extents of known arrays: nothing is computed that takes long. `depth`: where it is deeper, it
  /// is not looked through.
  double value(const ir::Node& e, int depth) const {
    if (e.op() == ir::Op::constant) return static_cast<double>(static_cast<std::int64_t>(e.payload().bits));
    if (const auto extent = ir::as_extent(e)) {
      const auto found = shapes_.find(extent->array.get());
      const auto d = static_cast<std::size_t>(extent->dimension);
      return found != shapes_.end() && d < found->second.size() ? found->second[d] : some_extent;
    }
    if (e.op() != ir::Op::primitive || depth == 0) return some_extent;
    const auto operands = ir::PrimitiveTerm(e).operands();
    if (operands.size() != 2) return some_extent;
    const double x = value(*operands[0], depth - 1), y = value(*operands[1], depth - 1);
    using ir::Primitive;
    const Primitive primitive = e.payload().primitive;
    if (primitive == Primitive::add) return x + y;
    if (primitive == Primitive::subtract) return x - y;
    if (primitive == Primitive::multiply) return x * y;
    if (primitive == Primitive::divide) return y != 0 ? x / y : 0;
    if (primitive == Primitive::minimum) return std::min(x, y);
    if (primitive == Primitive::maximum) return std::max(x, y);
    return some_extent;
  }

  const plan::Plan& plan_;
  bool inside_;
  std::unordered_map<const ir::Node*, Shape> shapes_;  ///< of global arrays
  std::set<std::pair<int, int>> uploaded_;             ///< global arrays' components
  std::set<int> there_;                                ///< arguments that are on the GPU
  RunEstimate out_;
};

// What one thread, or one multiprocessor, does in a second: orders of magnitude, which is what the choice depends on.
constexpr double additions_of_thread = 20e9, additions_of_multiprocessor = 60e9;
constexpr double memory_of_thread = 20e9, memory_at_most = 100e9;  ///< bytes
constexpr double seconds_of_gpu_launch = 30e-6, seconds_of_cpu_launch = 3e-6;

double memory_rate(const MachineRates& machine) {
  return std::min(memory_of_thread * machine.threads, memory_at_most);
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

}  // namespace

RunEstimate estimate(const plan::Plan& plan, const std::vector<HostArray>& arguments) {
  std::vector<Shape> shapes;
  std::set<int> there;
  for (const HostArray& argument : arguments) {
    if (detail::is_on_device(*argument)) there.insert(static_cast<int>(shapes.size()));
    shapes.push_back(shape_of(*argument));
  }
  Estimator estimator(plan, shapes, false);
  estimator.are_there(std::move(there));
  return estimator.run_with_results();
}

double seconds_of_cpu(const RunEstimate& run, const MachineRates& machine) {
  return run.launches * seconds_of_cpu_launch +
         std::max(run.operations / (additions_of_thread * machine.threads),
                  (run.link_bytes() + run.bytes_there) / memory_rate(machine));
}

double seconds_of_gpu(const RunEstimate& run, const MachineRates& machine) {
  // A copy reads its source, and writes past the caches.
  const double staging = 2 * run.staged_bytes() / memory_rate(machine);
  return run.launches * seconds_of_gpu_launch +
         std::max({run.bytes_up / machine.link, run.bytes_down / machine.link, staging,
                   run.operations / (additions_of_multiprocessor * machine.multiprocessors)});
}

std::string why_no_gpu(const RunEstimate& run, int threads) {
  const double cpu = seconds_of_cpu(run, {threads}), launches = run.launches * seconds_of_gpu_launch;
  if (cpu > launches) return "";
  return fmt::format("the CPU would take about {}, the launches on a GPU alone {}", time_text(cpu),
                     time_text(launches));
}

Comparison compare(const RunEstimate& run, const MachineRates& machine, const std::string& gpu_name) {
  const double cpu = seconds_of_cpu(run, machine), gpu = seconds_of_gpu(run, machine);
  return {
      gpu < cpu,
      fmt::format(
          "the GPU ({}) would take about {}, with {:.3g} MB over a link of {:.3g} GB/s; the CPU about {}, "
          "with {:.3g} million additions by {} threads",
          gpu_name, time_text(gpu), run.link_bytes() * 1e-6, machine.link * 1e-9, time_text(cpu),
          run.operations * 1e-6, machine.threads)};
}

}  // namespace anabranch::runtime
