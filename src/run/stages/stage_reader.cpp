#include "run/stages/stage_reader.h"

#include <algorithm>

#include "run/chunks/chunk_layout.h"

namespace anabranch::runtime {

scheduler::ChunkSize ReadItems::size_of_part() const {
  const scheduler::ChunkSize all = chunk_size_of(chunks);
  const std::int64_t part = std::min(at_once, items() - next);
  const auto share = [&](std::int64_t n) { return n / std::max<std::int64_t>(all.items, 1) * part; };
  return {part, share(all.work), share(all.bytes)};
}

bool ReadItems::halve() {
  const std::int64_t part = std::min(at_once, items() - next);
  at_once = std::max<std::int64_t>(part / 2, 1);
  return part > 1;
}

StageReader::StageReader(RunContext& context, RunBackend& backend, int number, GlobalValues& global,
                         const RunBody& run_body)
    : context_(context),
      traits_(backend.traits()),
      pass_(context.plan, {number}, context.budget),
      streams_(context.plan, pass_, 0),
      input_(context, context.plan.stages[static_cast<std::size_t>(number)], global, streams_,
             feeds(context, backend, global, run_body)),
      computing_(backend.open_stage(input_.work(1))) {}

bool StageReader::read(const scheduler::Target& target, bool at_once, ReadItems& items) {
  items = {};
  if (!input_.read(target, items.chunks, at_once)) {
    items = {};
    return false;
  }
  items.at_once = items.items();
  items.reservation = context_.try_reserve("chunks", chunk_size_of(items.chunks).bytes);
  return true;
}

ReadItems StageReader::joined(std::vector<ReadItems> parts) {
  ReadItems all;
  for (std::size_t s = 0; s < input_.infos().size(); ++s) {
    std::vector<SourceChunk> chunks;
    for (ReadItems& part : parts) chunks.push_back(std::move(part.chunks[s]));
    all.chunks.push_back(runtime::joined(chunks, input_.infos()[s]));
  }
  parts.clear();
  all.at_once = all.items();
  all.reservation = context_.try_reserve("chunks", chunk_size_of(all.chunks).bytes);
  return all;
}

scheduler::ChunkSize StageReader::compute(ReadItems& items, StageOutput& results) {
  if (!items.reservation) items.reservation = context_.reserve("chunks", chunk_size_of(items.chunks).bytes);
  const std::int64_t end = std::min(items.items(), items.next + items.at_once);
  const std::vector<SourceChunk> part =
      end - items.next == items.items() ? items.chunks : input_.part_of(items.chunks, items.next, end);
  try {
    computing_->enqueue(0, part, results);
  } catch (const scheduler::BudgetExceeded&) {
    if (!computing_->make_room(0)) throw;
    computing_->enqueue(0, part, results);
  }
  computing_->complete(0, results);
  items.next = end;
  return chunk_size_of(part);
}

}  // namespace anabranch::runtime
