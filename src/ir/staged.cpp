#include "ir/staged.h"

namespace anabranch::ir {

std::vector<Ref> inputs_of(const Control& control) {
  std::vector<Ref> inputs;
  each_own_input(control, [&](const Ref& input) { inputs.push_back(input); });
  each_body(control, [&](const char*, const Body& body) {
    inputs.insert(inputs.end(), body.captured.begin(), body.captured.end());
  });
  return inputs;
}

std::vector<Ref> arguments_of(const Control& control, const Body& body) {
  std::vector<Ref> arguments = std::visit(overloaded{[](const Loop& loop) { return loop.state; },
                                                     [](const Branch&) { return std::vector<Ref>(); }},
                                          control.what);
  arguments.insert(arguments.end(), body.captured.begin(), body.captured.end());
  return arguments;
}

}  // namespace anabranch::ir
