#pragma once

#include <memory>
#include <vector>

#include "run/backend.h"
#include "run/context.h"

/// A plan whose last stage is streamed out.
namespace anabranch::runtime {

/// Runs everything of a plan but its last stage, whose chunks are then asked for one by one.
class ChunkReader {
 public:
  ChunkReader(RunContext& context, RunBackend& backend, const std::vector<HostArray>& arguments);
  ~ChunkReader();
  /// The items of the next chunk, one vector of arrays per item; false at the end.
  bool next(std::vector<std::vector<HostArray>>& items);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace anabranch::runtime
