#include "interp/interpret.h"

#include "interp/machine.h"
#include "interp/pass.h"

namespace anabranch::interp {

std::vector<HostArray> run(std::span<const ir::Ref> arrays, std::stop_token stop, Callbacks callbacks) {
  const auto on_values = std::move(callbacks.on_values);
  const auto on_computed = std::move(callbacks.on_computed), on_written = std::move(callbacks.on_written);
  Machine machine(arrays, std::move(stop), std::move(callbacks));
  std::vector<HostArray> values;
  for (const ir::Ref& array : arrays) values.push_back(anabranch::detail::copy_of(*machine.demand(*array)));
  machine.sinks().finish();
  if (on_values) on_values(values);
  if (on_computed) on_computed();
  machine.sinks().commit(on_written);
  return values;
}

bool meets_no_item(std::span<const ir::Ref> arrays, std::stop_token stop) {
  Machine machine(arrays, std::move(stop), {});
  for (const ir::Ref& array : arrays) machine.demand(*array);
  return machine.met_no_item;
}

struct ItemStream::State {
  State(ir::Ref s, std::stop_token stop, Callbacks callbacks)
      : sequence(std::move(s)),
        machine({&sequence, 1}, std::move(stop), std::move(callbacks)),
        pass(machine, machine.evaluator().number(*sequence), *sequence) {
    machine.sinks().commit();
  }

  ir::Ref sequence;
  Machine machine;
  Pass pass;
};

ItemStream::ItemStream(ir::Ref sequence, std::stop_token stop, Callbacks callbacks)
    : state_(std::make_unique<State>(std::move(sequence), std::move(stop), std::move(callbacks))) {}
ItemStream::~ItemStream() = default;
ItemStream::ItemStream(ItemStream&&) noexcept = default;
ItemStream& ItemStream::operator=(ItemStream&&) noexcept = default;

bool ItemStream::next(std::vector<HostArray>& item) {
  if (!state_->pass.next(item)) return false;
  for (HostArray& array : item) array = anabranch::detail::copy_of(*array);
  return true;
}

}  // namespace anabranch::interp
