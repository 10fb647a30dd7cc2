#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "run/chunks/backend.h"
#include "run/context/context.h"

/// A plan whose last stage is streamed out.
namespace anabranch::runtime {

/// Runs everything of a plan but its last stage, whose items are then asked for one by one.
class ItemStream {
 public:
  /// `ahead`: the caller's bounds, if it gives any.
  ItemStream(RunContext& context, RunBackend& backend, const std::optional<ReadAhead>& ahead);
  /// Waits for what is under way, which ends early if the run's stop token says so.
  ~ItemStream();
  ItemStream(const ItemStream&) = delete;
  ItemStream& operator=(const ItemStream&) = delete;

  /// The arrays of the next item; false at the end.
  bool next(std::vector<HostArray>& item);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace anabranch::runtime
