#include "run/stages/stage_pieces.h"

#include <algorithm>
#include <utility>

#include "run/context/computing.h"
#include "run/record/run_trace.h"

namespace anabranch::runtime {

namespace {

/// The rest is for the intermediate arrays of pieces, and for results that are appended.
std::int64_t most_held(const scheduler::Budget& budget) {
  return budget.unlimited() ? INT64_MAX : budget.available() / 4;
}

/// Of items that have not been counted yet there is one at least.
scheduler::ChunkSize size_of_piece(const ZippedPiece& piece) {
  return {std::max<std::int64_t>(piece.items(), 1), piece.work(), piece.bytes()};
}

/// The parts are those of a piece that begins with this item.
void number_from(std::int64_t first, std::vector<std::vector<SourceChunk>>& parts) {
  for (std::vector<SourceChunk>& part : parts) {
    for (SourceChunk& chunk : part) chunk.first = first;
    first += part[0].items;
  }
}

std::int64_t bytes_of(const std::vector<std::vector<SourceChunk>>& parts) {
  std::int64_t bytes = 0;
  for (const std::vector<SourceChunk>& part : parts) bytes += chunk_size_of(part).bytes;
  return bytes;
}

}  // namespace

StagePieces::Slot::Slot(StagePieces& pieces)
    : results(pieces.context_, pieces.input_.stage(), pieces.results_, pieces.held_) {}

StagePieces::StagePieces(RunContext& context, StageInput& input, StageResults& results,
                         StageBackend& computing, int slots, std::int64_t largest_work)
    : context_(context),
      input_(input),
      results_(results),
      computing_(computing),
      largest_work_(largest_work),
      held_(most_held(context.budget)) {
  slots_.resize(static_cast<std::size_t>(slots));  // each is made when a piece comes to it
}

StagePieces::Slot& StagePieces::new_slot(int number) {
  auto& slot = slots_[static_cast<std::size_t>(number)];
  if (!slot) slot = std::make_unique<Slot>(*this);
  return *slot;
}

scheduler::PiecePhases StagePieces::phases() {
  scheduler::PiecePhases phases;
  phases.take = [this](int s, const scheduler::Target& target) { return take(new_slot(s), target); };
  phases.read = [this](int s) { return read(slot(s)); };
  phases.compute = [this](int s, bool alone) { return alone ? compute_alone(s) : compute(s); };
  phases.array_bytes = [this](int s) { return slot(s).array_bytes; };
  phases.commit = [this](int s) { commit(s); };
  return phases;
}

/// Sources that read a piece to hand it out may find no memory for it: while others are in flight, it waits for theirs.
std::unique_ptr<ZippedPiece> StagePieces::split(const scheduler::Target& target) {
  return with_room(context_, in_flight_ == 0, [&] { return input_.split(target); });
}

/// The memory of a piece is reserved before it is read, where the source says how much that is.
std::optional<scheduler::ChunkSize> StagePieces::take(Slot& slot, scheduler::Target target) {
  target.work = std::min(target.work, largest_work_);
  std::unique_ptr<ZippedPiece> piece = pending_ ? std::move(pending_) : split(target);
  if (!piece) return std::nullopt;
  const scheduler::ChunkSize size = size_of_piece(*piece);
  auto reservation = context_.try_reserve("chunks", size.bytes);
  if (!reservation && in_flight_ > 0) {
    pending_ = std::move(piece);
    throw scheduler::ChunkTooBig("a piece waits for memory", {1, size.work, size.bytes});
  }
  slot.reservation = reservation ? std::move(*reservation) : context_.reserve("chunks", size.bytes);
  slot.piece = std::move(piece);
  slot.number = taken_++;
  ++in_flight_;
  return size;
}

scheduler::ChunkSize StagePieces::read(Slot& slot) {
  slot.parts = slot.piece->read();
  scheduler::ChunkSize size{slot.piece->items(), 0, 0};
  for (const std::vector<SourceChunk>& part : slot.parts) {
    check_not_read(input_.written(), part, input_.infos());
    const scheduler::ChunkSize of_part = chunk_size_of(part);
    size.work += of_part.work;
    size.bytes += of_part.bytes;
  }
  return size;
}

scheduler::Computed StagePieces::compute(int number) {
  Slot& slot = this->slot(number);
  const Computing computing(results_.beside());
  const RunTrace::InPiece in_piece(context_.trace.get(), slot.number, number);
  const std::int64_t bytes = bytes_of(slot.parts);
  const std::optional<std::int64_t> first = slot.piece->first();
  try {
    context_.resize(slot.reservation, bytes);
    number_from(first.value_or(0), slot.parts);
    slot.results.begin(first);
    slot.array_bytes = 0;
    for (const std::vector<SourceChunk>& part : slot.parts) {
      computing_.enqueue(number, part, slot.results);
      slot.array_bytes = std::max(slot.array_bytes, computing_.array_bytes(number));
    }
  } catch (const scheduler::BudgetExceeded&) {
    slot.results.clear();
    throw scheduler::ChunkTooBig("a piece waits for memory", {slot.piece->items(), 0, bytes});
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    if (first) throw;
    // What has failed names an item: it is computed again when the items before it have been counted.
    slot.results.clear();
    throw scheduler::ChunkTooBig("a piece waits until those before it are committed",
                                 {slot.piece->items(), 0, bytes});
  }
  // What has been computed is not looked at any more, and the memory is still in this core's caches.
  slot.parts.clear();
  slot.reservation.release();
  return scheduler::Computed::whole;
}

/// It is this piece's turn, and nothing else is being computed: what it gives is committed at once.
scheduler::Computed StagePieces::compute_alone(int number) {
  Slot& slot = this->slot(number);
  const RunTrace::InPiece in_piece(context_.trace.get(), slot.number, number);
  context_.resize(slot.reservation, bytes_of(slot.parts));
  number_from(slot.piece->first().value(), slot.parts);
  auto computed = scheduler::Computed::whole;
  for (const std::vector<SourceChunk>& part : slot.parts) {
    if (fits(number, part)) continue;
    computing_.make_room(number);
    if (fits(number, part)) continue;
    compute_in_halves(number, part);
    computed = scheduler::Computed::in_parts;
  }
  slot.parts.clear();
  slot.reservation.release();
  return computed;
}

void StagePieces::compute_in_halves(int number, const std::vector<SourceChunk>& chunks) {
  const std::int64_t items = chunks[0].items;
  if (items <= 1) std::rethrow_exception(refusal_);
  for (const auto& [from, to] : {std::pair(std::int64_t{0}, items / 2), std::pair(items / 2, items)}) {
    const std::vector<SourceChunk> half = input_.part_of(chunks, from, to);
    if (fits(number, half)) continue;
    computing_.make_room(number);
    if (to - from <= 1 && fits(number, half)) continue;
    compute_in_halves(number, half);
  }
}

bool StagePieces::fits(int number, const std::vector<SourceChunk>& chunks) {
  try {
    computing_.enqueue(number, chunks, results_);
    return true;
  } catch (const scheduler::BudgetExceeded&) {
    refusal_ = std::current_exception();
    results_.forget_room();
    return false;
  }
}

void StagePieces::commit(int number) {
  Slot& slot = this->slot(number);
  const RunTrace::InPiece in_piece(context_.trace.get(), slot.number, number);
  slot.piece->complete();
  slot.results.number_from(slot.piece->first().value());
  when_others_gave_back(context_, results_.beside(), [&] { slot.results.move_to(results_); });
  slot.piece.reset();
  --in_flight_;
}

}  // namespace anabranch::runtime
