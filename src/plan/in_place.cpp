#include "plan/in_place.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "kernel/pointwise.h"
#include "plan/lives.h"

namespace anabranch::plan {

namespace {

/// Of the arrays of a group, by their numbers.
using Arrays = std::vector<bool>;

std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// The array of the kernel's own group that is bound to a buffer slot; -1: none.
int own_array(const KernelStep& step, int slot) {
  const BufferRef& ref = step.buffers[at(slot)];
  return ref.kind == BufferRef::Kind::array && !ref.global ? ref.index : -1;
}

/// Arrays that sizes are made of, or where items lie: they are read when something is allocated or bound, too.
Arrays tell_sizes(const Group& group) {
  Arrays out(group.arrays.size());
  const auto extents = [&](const std::vector<PlanExtent>& all) {
    for (const PlanExtent& e : all)
      if (e.kind == PlanExtent::Kind::per_item) out[at(e.index)] = true;
  };
  for (const PlanArray& array : group.arrays) {
    extents(array.extents);
    if (array.origin == PlanArray::Origin::view) out[at(array.part)] = true;
  }
  for (const Descriptor& descriptor : group.descriptors) extents(descriptor.extents);
  for (const Step& step : group.steps) {
    if (const auto* kernel = std::get_if<KernelStep>(&step)) extents(kernel->positions.extents);
    if (const auto* require = std::get_if<RequireStep>(&step); require && require->array >= 0)
      out[at(require->array)] = true;
  }
  return out;
}

/// Arrays that programs inside take: what these give may be what they were given.
Arrays handed_in(const Group& group) {
  Arrays out(group.arrays.size());
  for (const Step& step : group.steps)
    if (const auto* nested = std::get_if<NestedStep>(&step))
      for (const RearrangeStep::Input& input : nested->inputs)
        if (!input.global) out[at(input.index)] = true;
  return out;
}

/// How often each global array is handed to a loop or a branch, or another one lies in its memory.
std::vector<int> handed_in(const Plan& plan) {
  std::vector<int> out(plan.global.arrays.size());
  for (const PlanArray& array : plan.global.arrays)
    if (array.origin == PlanArray::Origin::components) ++out[at(array.index)];
  for (const Body& body : plan.bodies)
    for (const int array : body.captured) ++out[at(array)];
  for (const Action& action : plan.actions)
    if (const auto* loop = std::get_if<LoopAction>(&action))
      for (const int array : loop->state) ++out[at(array)];
  return out;
}

/// Arrays of a chunk that may be overwritten when nothing of them is needed any more.
Arrays candidates(const Group& chunk) {
  const Arrays sizes = tell_sizes(chunk), handed = handed_in(chunk);
  Arrays out(chunk.arrays.size());
  for (std::size_t a = 0; a < out.size(); ++a)
    out[a] = chunk.arrays[a].origin == PlanArray::Origin::computed && chunk.arrays[a].result < 0 &&
             !sizes[a] && !handed[a];
  return out;
}

/// The same of the run, where some arguments may be its own.
Arrays candidates(const Plan& plan, std::size_t states) {
  const std::vector<int> handed = handed_in(plan);
  Arrays out(plan.global.arrays.size());
  for (std::size_t a = 0; a < out.size(); ++a) {
    const PlanArray& array = plan.global.arrays[a];
    const bool is_own = array.origin == PlanArray::Origin::computed ||
                        (array.origin == PlanArray::Origin::argument && at(array.index) < states);
    out[a] = is_own && handed[a] == 0;
  }
  return out;
}

/// Decides for the kernels of one group.
class InPlace {
 public:
  /// `is_last`: does nothing after this step need the array?
  InPlace(Group& group, Arrays candidates, std::function<bool(int array, int step)> is_last)
      : group_(group), candidates_(std::move(candidates)), is_last_(std::move(is_last)) {}

  void run() {
    for (std::size_t s = 0; s < group_.steps.size(); ++s)
      if (auto* kernel = std::get_if<KernelStep>(&group_.steps[s])) look_at(*kernel, static_cast<int>(s));
  }

 private:
  /// A component that may be overwritten, and the kernel's array that it belongs to.
  struct Free {
    ArrayPart part;
    std::size_t read;
  };

  void look_at(KernelStep& step, int number) {
    if (!step.makes_outputs || !kernel::may_overwrite(step.kernel)) return;
    std::vector<Free> free;
    for (std::size_t a = 0; a < step.kernel.arrays.size(); ++a)
      if (const int array = last_read(step, number, a); array >= 0)
        for (std::size_t c = 0; c < step.kernel.arrays[a].type.scalars.size(); ++c)
          free.push_back({{array, static_cast<int>(c)}, a});
    for (const int output : step.outputs) take(step, output, free);
  }

  /// The array of the group that the kernel's `a`-th is, if this is the last time that it is read; else -1.
  int last_read(const KernelStep& step, int number, std::size_t a) const {
    const kernel::KernelArray& read = step.kernel.arrays[a];
    const int array = own_array(step, read.first_buffer);
    if (array < 0 || !candidates_[at(array)] || !is_last_(array, number)) return -1;
    // It is read by one name only.
    std::size_t slots = 0;
    for (int slot = 0; slot < static_cast<int>(step.buffers.size()); ++slot)
      slots += own_array(step, slot) == array ? 1 : 0;
    return slots == read.type.scalars.size() && kernel::is_read_pointwise(step.kernel, a) ? array : -1;
  }

  void take(KernelStep& step, int output, std::vector<Free>& free) {
    PlanArray& made = group_.arrays[at(output)];
    if (made.result >= 0) return;
    std::vector<ArrayPart> parts(made.type.scalars.size());
    bool any = false;
    for (std::size_t c = 0; c < parts.size(); ++c) {
      const auto fits = std::find_if(free.begin(), free.end(), [&](const Free& f) {
        const PlanArray& old = group_.arrays[at(f.part.array)];
        return static_cast<const PlanLayout&>(old) == static_cast<const PlanLayout&>(made) &&
               size_of(old.type.scalars[at(f.part.component)]) == size_of(made.type.scalars[c]);
      });
      if (fits == free.end()) continue;
      parts[c] = fits->part;
      step.kernel.arrays[fits->read].overwritten = true;
      free.erase(fits);
      any = true;
    }
    if (any) made.in_place_of = std::move(parts);
  }

  Group& group_;
  Arrays candidates_;
  std::function<bool(int, int)> is_last_;
};

/// Per step of the global group the action that it is.
std::vector<int> actions_of_steps(const Plan& plan) {
  std::vector<int> out(plan.global.steps.size(), -1);
  for (std::size_t a = 0; a < plan.actions.size(); ++a)
    if (const auto* step = std::get_if<StepAction>(&plan.actions[a]))
      out[at(step->step)] = static_cast<int>(a);
  return out;
}

/// Does a program give this array once, and hand it to no program inside of it?
bool gives_alone(const Plan& plan, int array) {
  return std::count(plan.results.begin(), plan.results.end(), array) == 1 && handed_in(plan)[at(array)] == 0;
}

/// Who has an array of the state that a round gives?
LoopAction::Own own_after(const Plan& body, std::size_t state, std::size_t states) {
  LoopAction::Own own;
  const int array = body.results[state];
  if (!gives_alone(body, array)) return own;
  const PlanArray& given = body.global.arrays[at(array)];
  own.made = given.origin == PlanArray::Origin::computed;
  if (given.origin == PlanArray::Origin::argument && at(given.index) < states) own.passed_on = given.index;
  return own;
}

/// Who has the arrays of the loops' states?
void find_owners(Plan& plan, std::size_t states, const std::vector<int>& last) {
  const std::vector<int> handed = handed_in(plan);
  for (std::size_t a = 0; a < plan.actions.size(); ++a) {
    auto* const loop = std::get_if<LoopAction>(&plan.actions[a]);
    if (!loop) continue;
    const Plan& body = plan.bodies[at(loop->body)].plan;
    for (std::size_t s = 0; s < loop->state.size(); ++s) {
      const int array = loop->state[s];
      const PlanArray& first = plan.global.arrays[at(array)];
      const bool is_own = first.origin == PlanArray::Origin::computed ||
                          (first.origin == PlanArray::Origin::argument && at(first.index) < states);
      loop->own[s] = own_after(body, s, loop->state.size());
      loop->own[s].at_first = is_own && handed[at(array)] == 1 && last[at(array)] == static_cast<int>(a);
    }
  }
}

/// What a plan says of the memory of one group, held against its steps.
class Verifier {
 public:
  /// `is_last`: does nothing after this step need the array?
  Verifier(const Group& group, std::function<bool(int array, int step)> is_last)
      : group_(group), is_last_(std::move(is_last)) {}

  void run() {
    for (std::size_t s = 0; s < group_.steps.size(); ++s)
      if (const auto* kernel = std::get_if<KernelStep>(&group_.steps[s]))
        for (const int output : kernel->outputs)
          if (!group_.arrays[at(output)].in_place_of.empty()) written(*kernel, static_cast<int>(s), output);
  }

 private:
  void require(bool ok, int array, const char* what) const {
    if (!ok) throw InternalError(fmt::format("plan: array {} is {}", array, what));
  }

  void written(const KernelStep& step, int number, int output) {
    const PlanArray& made = group_.arrays[at(output)];
    require(step.makes_outputs && made.result < 0 && made.in_place_of.size() == made.type.scalars.size(),
            output, "not made in place as a whole, or a result of a stage");
    for (std::size_t c = 0; c < made.in_place_of.size(); ++c) {
      const ArrayPart part = made.in_place_of[c];
      if (part.array < 0) continue;
      const PlanArray& old = group_.arrays[at(part.array)];
      require(static_cast<const PlanLayout&>(old) == static_cast<const PlanLayout&>(made) &&
                  size_of(old.type.scalars[at(part.component)]) == size_of(made.type.scalars[c]),
              part.array, "overwritten by one that is laid out otherwise");
      require(is_last_(part.array, number), part.array, "overwritten though it is still needed");
      require(!is_lain_in(part.array), part.array, "overwritten though another one lies in it");
      require(is_overwritten(step, part.array), part.array, "overwritten by a kernel that does not know");
      require(std::find(taken_.begin(), taken_.end(), part) == taken_.end(), part.array, "overwritten twice");
      taken_.push_back(part);
    }
  }

  bool is_lain_in(int array) const {
    return std::any_of(group_.arrays.begin(), group_.arrays.end(), [&](const PlanArray& other) {
      return other.origin == PlanArray::Origin::components && other.index == array;
    });
  }

  static bool is_overwritten(const KernelStep& step, int array) {
    return std::any_of(step.kernel.arrays.begin(), step.kernel.arrays.end(), [&](const auto& read) {
      return read.overwritten && own_array(step, read.first_buffer) == array;
    });
  }

  const Group& group_;
  std::function<bool(int, int)> is_last_;
  std::vector<ArrayPart> taken_;
};

}  // namespace

void write_in_place(Group& chunk) {
  InPlace(chunk, candidates(chunk), [&](int array, int step) {
    return chunk.arrays[at(array)].last_step == step;
  }).run();
}

void write_in_place(Plan& plan, std::size_t states) {
  const std::vector<int> last = last_actions(plan), actions = actions_of_steps(plan);
  InPlace(plan.global, candidates(plan, states), [&](int array, int step) {
    return last[at(array)] == actions[at(step)];
  }).run();
  find_owners(plan, states, last);
}

void verify_in_place(const Plan& plan) {
  const std::vector<int> last = last_actions(plan), actions = actions_of_steps(plan);
  Verifier(plan.global, [&](int array, int step) { return last[at(array)] == actions[at(step)]; }).run();
  for (const StagePlan& stage : plan.stages) {
    Verifier(stage.group, [&](int array, int step) {
      return stage.group.arrays[at(array)].last_step == step;
    }).run();
    for (const Plan& nested : stage.nested) verify_in_place(nested);
  }
  for (const Body& body : plan.bodies) verify_in_place(body.plan);
}

}  // namespace anabranch::plan
