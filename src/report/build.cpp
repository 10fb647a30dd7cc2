#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fuse/arrays.h"
#include "ir/print.h"
#include "ir/views.h"
#include "ir/walk.h"
#include "report/counts.h"
#include "report/kernel_report.h"
#include "report/report.h"

namespace anabranch::report {

using namespace ir;

namespace {

/// Which array of the plan: of a group, by number.
using ArrayKey = std::pair<const plan::Group*, int>;

std::size_t at(int number) { return static_cast<std::size_t>(number); }

// What operations read ---------------------------------------------------------------------------------------

/// The arrays whose elements an array computation takes, each once, in the order of its operands.
std::vector<const Node*> taken_by(const Node& reader) {
  std::vector<const Node*> found;
  std::vector<Ref> scalars;
  const auto add = [&](const Node& array) {
    if (std::find(found.begin(), found.end(), &array) == found.end()) found.push_back(&array);
  };
  const Node& maker = maker_of(reader);
  each_operand(maker, [&](const Operand& how, const Ref& operand) {
    if (how.role == Role::function && how.access == Access::applied) scalars.push_back(operand->result());
    if (how.role == Role::element) scalars.push_back(operand);
    if (how.role != Role::array || how.access == Access::shape_only) return;
    if (maker.op() == Op::map && !fuse::takes(maker, *operand)) return;
    add(*operand);
  });
  for (const Node* node :
       topological(scalars, [](const Node& n) { return n.op() != Op::shape && !n.type().is_array(); }))
    if (is_read(node->op())) add(*ir::Read(*node).array());
  return found;
}

// The report -------------------------------------------------------------------------------------------------

class Builder {
 public:
  Report build(std::span<const Ref> program, const Staged& staged, const plan::Plan& plan) {
    add_program(program);
    if (!program.empty())
      report_.result = program[0]->place().known()
                           ? fmt::format("{} ({})", program[0]->label(), to_string(program[0]->place()))
                           : program[0]->label();
    this->program(staged, plan, "", "once per run");
    for (auto& [key, stored] : stored_) {
      report_.stored[stored].name = name_of_array(key);
      report_.stored[stored].in_place_of = overwritten_by(key);
    }
    for (StoredArray& array : report_.stored)
      if (!array.kernels.empty()) array.made_by = names_of(array.kernels);
    return std::move(report_);
  }

 private:
  /// A program, or one inside of it.
  struct Scope {
    const Staged& staged;
    const plan::Plan& plan;
    std::string inside;
    int depth = 0;
    std::size_t once = 0;                                       ///< the part of what depends on no item
    std::unordered_map<const Node*, std::size_t> operations{};  ///< of Builder::operations_
    std::unordered_set<const Node*> shown{};
  };

  void add_program(std::span<const Ref> roots) {
    const std::string text = printer_.program(roots);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      std::string line = text.substr(begin, end - begin);
      // What goes on in another line belongs to the term above, and what is bound before it to the one below.
      report_.program.push_back(std::move(line));
      begin = end == std::string::npos ? text.size() : end + 1;
    }
  }

  // Parts and operations

  std::size_t new_part(std::string title, const Place& place, const Scope& scope) {
    Part part;
    part.title = std::move(title);
    part.place = place;
    part.inside = scope.inside;
    part.depth = scope.depth;
    report_.parts.push_back(std::move(part));
    return report_.parts.size() - 1;
  }

  void operation(Scope& scope, std::size_t part, const Node& node, const char* label, const Place& place) {
    if (!scope.shown.insert(&node).second) return;
    const Facts& facts = scope.staged.facts.at(&node);
    Operation out;
    out.name = printer_.name(node);
    out.label = label;
    out.type = to_string(node.type());
    out.form = facts.form;
    out.reason = facts.reason;
    out.place = place;
    if (scope.staged.is_manifest(&node)) out.stored = why(scope, node);
    for (const Control& control : scope.staged.controls)
      if (control.node.get() == &maker_of(node))
        for (const Ref& input : inputs_of(control))
          if (input->type().is_array()) out.reads.push_back(printer_.name(*input));
    if (!is_given(node))
      for (const Node* read : taken_by(node)) out.reads.push_back(printer_.name(*read));
    scope.operations[&node] = operations_.size();
    operations_.emplace_back(part, report_.parts[part].operations.size());
    report_.parts[part].operations.push_back(std::move(out));
  }

  void operations(Scope& scope, std::size_t part, std::span<const Ref> roots) {
    for (const Node* node : topological(roots, reads_elements)) {
      if (!node->type().is_array()) continue;
      const bool once = scope.staged.facts.at(node).form == Form::avoided;
      operation(scope, once ? scope.once : part, *node, maker_of(*node).label(), node->place());
    }
  }

  /// Why an array is stored, in the report's names.
  std::string why(const Scope& scope, const Node& array) {
    return why_stored(scope.staged, array, [this](const Node& other) { return printer_.name(other); });
  }

  Operation* operation_of(const Scope& scope, const Node& node) {
    const auto found = scope.operations.find(&node);
    if (found == scope.operations.end()) return nullptr;
    const auto [part, index] = operations_[found->second];
    return &report_.parts[part].operations[index];
  }

  // The program, from the outside in

  /// `often`: how often what depends on no item is computed.
  void program(const Staged& staged, const plan::Plan& plan, const std::string& inside, const char* often) {
    Scope scope{staged, plan, inside, depth_};
    scope.once = new_part(often, {}, scope);
    std::vector<Ref> once = staged.results;
    for (const Control& control : staged.controls) {
      const std::vector<Ref> inputs = inputs_of(control);
      once.insert(once.end(), inputs.begin(), inputs.end());
    }
    for (const Stage& stage : staged.stages) {
      for (const StageSource& source : stage.sources)
        for (Ref& input : inputs_of(source)) once.push_back(std::move(input));
      for (const ItemBound& bound : stage.bounds) once.push_back(bound.count);
    }
    add_computed(plan.global, once);
    operations(scope, scope.once, once);
    std::vector<std::size_t> streams;
    for (std::size_t k = 0; k < staged.stages.size(); ++k) streams.push_back(stage_operations(scope, k));
    for (std::size_t k = 0; k < staged.stages.size(); ++k) sinks(scope, k, streams[k]);

    group(scope, scope.once, plan.global, plan.global);
    read_by_host(plan);
    for (std::size_t k = 0; k < staged.stages.size(); ++k) stage(scope, k, streams[k]);
    for (std::size_t k = 0; k < staged.stages.size(); ++k) inner_programs(scope, k, streams[k]);
    for (const plan::Action& action : plan.actions)
      std::visit(kernel::overloaded{[](const plan::StepAction&) {}, [](const plan::StageAction&) {},
                                    [&](const plan::LoopAction& loop) { this->loop(scope, loop); },
                                    [&](const plan::BranchAction& branch) { this->branch(scope, branch); }},
                 action);
    for (const int result : plan.results) {
      store(plan.global, result).is_result = true;
      const plan::PlanArray& array = plan.global.arrays[at(result)];
      if (array.origin == plan::PlanArray::Origin::components)
        store(plan.global, array.index).is_result = true;
    }
  }

  std::size_t stage_operations(Scope& scope, std::size_t number) {
    const Stage& stage = scope.staged.stages[number];
    const std::size_t part = new_part(fmt::format("stream {}", number), {}, scope);
    report_.parts[part].stream = true;
    for (const StageSource& source : stage.sources)
      for (int i = 0; i < source.count; ++i) {
        const Ref& item = stage.items[at(source.first + i)];
        item_sources_[item.get()] = source.node.get();
        operation(scope, part, *item, source.node->label(), source.node->place());
        for (const Ref& input : inputs_of(source))
          if (input->type().is_array()) operation_of(scope, *item)->reads.push_back(printer_.name(*input));
      }
    auto& remarks = report_.parts[part].remarks;
    for (const StageSource& source : stage.sources)
      for (const int feed : source.feeds)
        remarks.push_back(fmt::format("reads what stream {} gives, through {}", feed, source.node->label()));
    for (const ItemBound& bound : stage.bounds)
      remarks.push_back(fmt::format(
          "reads at most {} items: {}{}", counts_.scalar_text(bound.count), bound.take->label(),
          bound.take->place().known() ? "  -- " + to_string(bound.take->place()) : std::string()));
    for (const Nested& nested : stage.nested) operations(scope, part, nested.body.captured);
    std::vector<Ref> results = stage.results;
    add_computed(scope.plan.stages[number].group, results);
    operations(scope, part, results);
    return part;
  }

  /// What kernels compute: of some arrays only extents are computed from their elements.
  static void add_computed(const plan::Group& group, std::vector<Ref>& roots) {
    for (const plan::PlanArray& array : group.arrays)
      if (array.origin == plan::PlanArray::Origin::computed && !is_of_extents(array))
        roots.push_back(array.node);
  }

  void sinks(Scope& scope, std::size_t number, std::size_t part) {
    const Stage& stage = scope.staged.stages[number];
    if (scope.plan.stages[number].feeds) return;  // the stream that it feeds says so
    for (const auto& t : stage.sinks) {
      const std::string result = printer_.name(*stage.results[at(t.result)]);
      if (Operation* consume = t.consume ? operation_of(scope, *t.consume) : nullptr)
        consume->reads.push_back(result);
      report_.parts[part].remarks.push_back(fmt::format("{} of {}", ir::name_of(t.kind), result));
    }
  }

  void stage(Scope& scope, std::size_t number, std::size_t part) {
    const plan::StagePlan& plan = scope.plan.stages[number];
    for (std::size_t s = 0; s < plan.sources.size(); ++s) {
      const Node& source = *plan.sources[s].node;
      const std::string& stream = report_.parts[part].title;
      if (!is_fed(source.op()))
        traverse(source, scope.inside.empty() ? stream : fmt::format("{} of {}", stream, scope.inside));
      if (source.op() == Op::rows)
        read_by(scope.plan.global, plan.source_inputs[s].arrays[0],
                {fmt::format("{}, rows", stream), source.place(), false, true});
    }
    group(scope, part, plan.group, scope.plan.global);
    const Stage& staged = scope.staged.stages[number];
    for (std::size_t s = 0; s < plan.sources.size(); ++s)
      functions(scope, staged.sources[s].bodies, plan.source_inputs[s]);
    for (std::size_t t = 0; t < plan.sinks.size(); ++t)
      functions(scope, staged.sinks[t].bodies, plan.sink_inputs[t]);
  }

  /// What a source or a sink applies as the stream passes, and the arrays that it begins with.
  void functions(Scope& scope, const std::vector<int>& controls, const plan::StagePlan::Inputs& inputs) {
    for (std::size_t i = 0; i < controls.size(); ++i) {
      const Control& control = scope.staged.controls[at(controls[i])];
      const ir::Body& applied = std::get<ir::Applied>(control.what).body;
      const auto own = applied.program.parameters.size() - applied.captured.size();
      body(scope, control, "function", applied, inputs.bodies[i], static_cast<int>(own), true);
      for (const int array : inputs.arrays)
        read_by(scope.plan.global, array, {control.node->label(), control.node->place(), false});
    }
  }

  void inner_programs(Scope& scope, std::size_t number, std::size_t part) {
    const Stage& stage = scope.staged.stages[number];
    const plan::StagePlan& plan = scope.plan.stages[number];
    for (std::size_t n = 0; n < stage.nested.size(); ++n) {
      const Nested& nested = stage.nested[n];
      std::string title = nested.control ? nested.control->label() : "inner sequence";
      for (const Nested::Result& result : nested.results)
        report_.parts[part].remarks.push_back(
            fmt::format("{} of each item, all of a chunk together: {}  -- {}", title,
                        printer_.name(*result.array), to_string(result.array->place())));
      ++chunks_;
      inner(nested.body.program, plan.nested[n], fmt::format("{} in {}", title, report_.parts[part].title),
            "for every chunk");
      --chunks_;
      // What it is given: the number of items, and these arrays.
      for (const plan::Step& step : plan.group.steps)
        if (const auto* given = std::get_if<plan::NestedStep>(&step); given && at(given->number) == n)
          for (std::size_t i = 0; i < given->inputs.size(); ++i)
            hand_on(given->inputs[i].global ? scope.plan.global : plan.group, given->inputs[i].index,
                    plan.nested[n].global, static_cast<int>(i) + 1, title, stage_place(nested), false);
    }
  }

  static Place stage_place(const Nested& nested) {
    if (nested.control) return nested.control->place();
    return nested.results.empty() ? Place{} : nested.results[0].array->place();
  }

  void inner(const Staged& staged, const plan::Plan& plan, const std::string& title, const char* often) {
    ++depth_;
    program(staged, plan, title, often);
    --depth_;
  }

  void traverse(const Node& source, const std::string& stream) {
    const void* what =
        source.payload().source ? static_cast<const void*>(source.payload().source.get()) : &source;
    const auto [number, is_new] = sources_.try_emplace(what, report_.sources.size());
    if (is_new) report_.sources.push_back({source.label(), source.place(), {}});
    // What is no input, rows or numbers, may be another one in each round.
    const bool each_round = rounds_ > 0 && source.payload().source;
    report_.sources[number->second].read_by.push_back({stream, source.place(), each_round});
  }

  void loop(Scope& scope, const plan::LoopAction& action) {
    const Control& control = scope.staged.controls[at(action.number)];
    const auto& what = std::get<ir::Loop>(control.what);
    const Place place = control.node->place();
    report_.loops.push_back({control.node->label(), place});
    const int states = static_cast<int>(action.state.size());
    body(scope, control, "predicate", what.predicate, action.predicate, states, true);
    body(scope, control, "body", what.body, action.body, states, true);
    for (const int state : action.state)
      read_by(scope.plan.global, state, {control.node->label(), place, false});
  }

  void branch(Scope& scope, const plan::BranchAction& action) {
    const Control& control = scope.staged.controls[at(action.number)];
    const auto& what = std::get<ir::Branch>(control.what);
    body(scope, control, "then", what.then, action.then, 0, false);
    body(scope, control, "otherwise", what.otherwise, action.otherwise, 0, false);
  }

  void body(Scope& scope, const Control& control, const char* name, const ir::Body& staged, int number,
            int states, bool each_round) {
    const plan::Body& body = scope.plan.bodies[at(number)];
    rounds_ += each_round ? 1 : 0;
    inner(staged.program, body.plan, fmt::format("{} of {}", name, control.node->label()),
          each_round ? "in every round" : "where it is taken");
    rounds_ -= each_round ? 1 : 0;
    for (std::size_t i = 0; i < body.plan.global.arrays.size(); ++i) {
      const plan::PlanArray& array = body.plan.global.arrays[i];
      if (array.origin == plan::PlanArray::Origin::argument && array.index < states)
        store(body.plan.global, static_cast<int>(i)).is_state = true;
    }
    for (std::size_t i = 0; i < body.captured.size(); ++i)
      hand_on(scope.plan.global, body.captured[i], body.plan.global, states + static_cast<int>(i),
              control.node->label(), control.node->place(), each_round);
  }

  /// An array is argument `argument` of a program inside: whoever reads it there reads the array.
  void hand_on(const plan::Group& group, int array, const plan::Group& inside, int argument,
               const std::string& what, const Place& place, bool each_round) {
    bool any = false;
    for (std::size_t i = 0; i < inside.arrays.size(); ++i) {
      const plan::PlanArray& parameter = inside.arrays[i];
      if (parameter.origin != plan::PlanArray::Origin::argument || parameter.index != argument) continue;
      const std::vector<Reader> readers = store(inside, static_cast<int>(i)).read_by;
      for (Reader reader : readers) {
        reader.each_round = reader.each_round || each_round;
        reader.what += " of " + what;
        read_by(group, array, std::move(reader));
        any = true;
      }
    }
    if (!any) read_by(group, array, {what, place, false});
  }

  // Arrays in memory

  StoredArray& store(const plan::Group& group, int number) {
    const auto [found, is_new] = stored_.try_emplace({&group, number}, report_.stored.size());
    if (!is_new) return report_.stored[found->second];
    const plan::PlanArray& array = group.arrays[at(number)];
    StoredArray out;
    const auto given = item_sources_.find(array.node.get());
    const Node* source = given == item_sources_.end() ? nullptr : given->second;
    out.label = source ? source->label() : maker_of(*array.node).label();
    out.type = to_string(Type::array(array.type));
    out.place = source ? source->place() : array.node->place();
    out.is_result = array.result >= 0;
    out.why = array.why;
    out.depth = depth_;
    out.of_items = chunks_ > 0;
    out.of_chunk = out.of_items || !group.domains.empty();
    out.of_extents = is_of_extents(array);
    out.bytes = {Counts::width_of(array.type.scalars), Counts::text(counts_.of(group, array))};
    using Origin = plan::PlanArray::Origin;
    using Maker = StoredArray::Maker;
    const auto made = [&](Maker maker, std::string by) {
      out.maker = maker;
      out.made_by = std::move(by);
    };
    switch (array.origin) {
      case Origin::use:
        made(Maker::host, "the host");
        break;
      case Origin::argument:
        made(Maker::host, fmt::format("argument {}", array.index));
        break;
      case Origin::stream:
        made(Maker::stream, fmt::format("stream {}", array.index));
        break;
      case Origin::control:
        made(Maker::control, maker_of(*array.node).label());
        break;
      case Origin::nested:
        made(Maker::inner, "a program inside of the stream's function");
        break;
      case Origin::view:
      case Origin::components:
        made(Maker::view, "a view of another array");
        break;
      case Origin::item:
        made(Maker::source, "the source");
        break;
      case Origin::computed:
        made(Maker::kernel, "");
        break;
    }
    report_.stored.push_back(std::move(out));
    return report_.stored.back();
  }

  static bool is_of_extents(const plan::PlanArray& array) {
    return array.node->op() == Op::unit && std::string_view(array.node->label()) == "extent" &&
           array.type.rank == 0;
  }

  void read_by(const plan::Group& group, int array, Reader reader) {
    store(group, array).read_by.push_back(std::move(reader));
  }

  std::string name_of_array(const ArrayKey& key) {
    const plan::PlanArray& array = key.first->arrays[at(key.second)];
    if (is_of_extents(array)) return fmt::format("extents{}", stored_.at(key));
    return printer_.name(*array.node);
  }

  /// The arrays in whose memory it lies.
  std::vector<std::string> overwritten_by(const ArrayKey& key) {
    std::vector<std::string> names;
    for (const plan::ArrayPart& part : key.first->arrays[at(key.second)].in_place_of) {
      if (part.array < 0) continue;
      std::string name = name_of_array({key.first, part.array});
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
    return names;
  }

  // Steps

  void group(Scope& scope, std::size_t part, const plan::Group& group, const plan::Group& global) {
    for (std::size_t i = 0; i < group.arrays.size(); ++i) {
      const plan::PlanArray& array = group.arrays[i];
      StoredArray& out = store(group, static_cast<int>(i));
      if (scope.staged.is_manifest(array.node.get()) && array.why == why_stored(scope.staged, *array.node))
        out.why = why(scope, *array.node);
    }
    for (const plan::Step& step : group.steps)
      std::visit(kernel::overloaded{
                     [&](const plan::KernelStep& s) { kernel_step(scope, part, group, global, s); },
                     [&](const plan::OffsetsStep& s) {
                       other(part, Step::Kind::offsets,
                             fmt::format("offsets of the items' parts of {}, from their sizes",
                                         counts_.name_of(group, s.descriptor)));
                     },
                     [&](const plan::RequireStep& s) {
                       other(part, Step::Kind::check,
                             fmt::format("check of {}{}", s.what,
                                         s.place.known() ? fmt::format(" ({})", to_string(s.place)) : ""));
                     },
                     [&](const plan::RearrangeStep& s) { routine(part, group, global, s); },
                     [&](const plan::NestedStep& s) {
                       other(part, Step::Kind::inner,
                             fmt::format("inner program {}, once for all items of the chunk", s.number));
                     }},
                 step);
  }

  /// Arrays whose elements decide what is computed, and how much: uniforms are evaluated on the host.
  void read_by_host(const plan::Plan& plan) {
    std::vector<bool> is_condition(plan.global.uniforms.size());
    for (const plan::Action& action : plan.actions)
      if (const auto* branch = std::get_if<plan::BranchAction>(&action))
        is_condition[at(branch->condition)] = true;
    std::vector<Ref> conditions, extents;
    for (std::size_t u = 0; u < is_condition.size(); ++u)
      (is_condition[u] ? conditions : extents).push_back(plan.global.uniforms[u]);
    for (const plan::StagePlan& stage : plan.stages)
      extents.insert(extents.end(), stage.group.uniforms.begin(), stage.group.uniforms.end());
    read_by_host(plan.global, extents, &StoredArray::decides_shapes);
    read_by_host(plan.global, conditions, &StoredArray::decides_branches);
  }

  /// Not what the arrays that are read are made of, nor those of which only the shape is asked.
  void read_by_host(const plan::Group& global, std::span<const Ref> uniforms, bool StoredArray::* decides) {
    const auto enter = [](const Node& node) { return !node.type().is_array() && node.op() != Op::shape; };
    for (const Node* node : topological(uniforms, enter)) {
      if (!is_read(node->op())) continue;
      for (std::size_t i = 0; i < global.arrays.size(); ++i)
        if (global.arrays[i].node == ir::Read(*node).array())
          store(global, static_cast<int>(i)).*decides = true;
    }
  }

  void other(std::size_t part, Step::Kind kind, std::string text) {
    report_.parts[part].steps.push_back({kind, -1, std::move(text)});
  }

  void routine(std::size_t part, const plan::Group& group, const plan::Group& global,
               const plan::RearrangeStep& step) {
    const std::string title = ir::title(*step.node);
    std::vector<std::string> written;
    for (const int output : step.outputs) {
      if (output < 0) continue;
      StoredArray& array = store(group, output);
      array.maker = StoredArray::Maker::routine;
      array.made_by = title;
      written.push_back(fmt::format("{} B x {}", array.bytes.each, array.bytes.times));
    }
    for (const plan::RearrangeStep::Input& input : step.inputs)
      read_by(input.global ? global : group, input.index, {title, step.node->place(), false});
    other(part, Step::Kind::routine,
          fmt::format("{}: by a routine of the library; writes {}", title, fmt::join(written, " + ")));
  }

  /// The delayed operations inside of one that is computed.
  std::vector<const Node*> fused_into(const Scope& scope, const Node& root) const {
    std::vector<const Node*> open{&root}, found;
    std::unordered_set<const Node*> seen{&root};
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      if (is_given(*node) || (node != &root && scope.staged.is_manifest(node))) continue;
      if (node != &root) found.push_back(node);
      for (const Node* read : taken_by(*node))
        if (seen.insert(read).second) open.push_back(read);
    }
    std::sort(found.begin(), found.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
    return found;
  }

  void kernel_step(Scope& scope, std::size_t part, const plan::Group& group, const plan::Group& global,
                   const plan::KernelStep& step) {
    Kernel out = kernels_.report(group, global, step, static_cast<int>(report_.kernels.size()) + 1);
    for (const int output : step.outputs) {
      StoredArray& array = store(group, output);
      array.kernels.push_back(out.number);
      const Node& node = *group.arrays[at(output)].node;
      if (is_of_extents(group.arrays[at(output)])) continue;
      // A copy of what is stored elsewhere computes nothing.
      const bool copies =
          is_given(node) || (scope.staged.facts_of(Ref(&node)).form == Form::avoided && &group != &global);
      if (copies && scope.staged.is_manifest(&node)) continue;
      if (Operation* operation = operation_of(scope, node)) operation->kernels.push_back(out.number);
      for (const Node* fused : fused_into(scope, node)) {
        const std::string name = printer_.name(*fused);
        if (std::find(out.fused.begin(), out.fused.end(), name) != out.fused.end()) continue;
        out.fused.push_back(name);
        if (Operation* operation = operation_of(scope, *fused)) operation->kernels.push_back(out.number);
      }
    }
    report_.parts[part].steps.push_back({Step::Kind::kernel, static_cast<int>(report_.kernels.size()), ""});
    report_.kernels.push_back(std::move(out));
  }

  Report report_;
  Printer printer_;
  Counts counts_{printer_};
  KernelReporter kernels_{
      counts_, [this](const plan::Group& group, int array) { return name_of_array({&group, array}); },
      [this](const plan::Group& group, int array, Reader reader) {
        read_by(group, array, std::move(reader));
      }};
  int depth_ = 0;                                                ///< of programs inside of programs
  int chunks_ = 0;                                               ///< of these that are run for each chunk
  int rounds_ = 0;                                               ///< of these that a loop runs in every round
  std::vector<std::pair<std::size_t, std::size_t>> operations_;  ///< part, number in it
  std::map<ArrayKey, std::size_t> stored_;                       ///< of report_.stored
  std::unordered_map<const void*, std::size_t> sources_;
  std::unordered_map<const Node*, const Node*> item_sources_;  ///< an item's array: what gives it
};

}  // namespace

std::string names_of(const std::vector<int>& kernels) {
  return fmt::format("{} {}", kernels.size() == 1 ? "kernel" : "kernels", fmt::join(kernels, ", "));
}

const char* name_of(CheckKind kind) {
  switch (kind) {
    case CheckKind::own_element:
    case CheckKind::known:
      return "not checked";
    case CheckKind::checked:
      return "checked";
    case CheckKind::at_borders:
      return "checked near the borders of a row only";
  }
  return "?";
}

Report make(std::span<const Ref> program, const Staged& staged, const plan::Plan& plan) {
  return Builder().build(program, staged, plan);
}

}  // namespace anabranch::report
