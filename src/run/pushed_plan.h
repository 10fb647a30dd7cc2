#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "run/chunks/backend.h"
#include "run/context/context.h"
#include "run/stages/item_results.h"

/// A plan that is driven by what is pushed into it.
namespace anabranch::runtime {

class PushedItems;

/// Throws ProgramError where the plan does not read these items, or in several passes.
void check_passes_once(const plan::Plan& plan, const PushedItems& pushed);

/// One of its stages reads the pushed items. What does not depend on them has run when this has been made; what needs the
/// results of that stage runs at the end.
class PushedPlan {
 public:
  /// Given the results of some items, where the stage is streamed out.
  using OnResults = std::function<void(std::unique_ptr<ItemResults>)>;

  /// Throws ProgramError where the items would be read several times.
  PushedPlan(RunContext& context, RunBackend& backend, PushedItems& pushed, OnResults on_results);
  ~PushedPlan();
  PushedPlan(const PushedPlan&) = delete;
  PushedPlan& operator=(const PushedPlan&) = delete;

  /// Computes what has been pushed. Where it throws, the results of all items before the one that fails have been given.
  void advance();
  /// Further items have no effect: the program takes no more, or a shorter stream beside them has ended.
  bool over() const;
  /// The pushed items have ended. The results of the program; none where the stage is streamed out.
  std::vector<HostArray> finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace anabranch::runtime
