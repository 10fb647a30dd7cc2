#include "run/context/context.h"

namespace anabranch::runtime {

std::int64_t ResultSizes::of(int stage, int result) const {
  const std::lock_guard lock(mutex_);
  const auto known = elements_.find({stage, result});
  return known == elements_.end() ? 0 : known->second;
}

void ResultSizes::note(int stage, int result, std::int64_t elements) {
  const std::lock_guard lock(mutex_);
  elements_[{stage, result}] = elements;
}

std::shared_ptr<const scheduler::Learned> LearnedChunks::of(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto known = learned_.find(key);
  return known == learned_.end() ? nullptr : known->second;
}

void LearnedChunks::note(const Key& key, std::shared_ptr<const scheduler::Learned> learned) {
  if (!learned) return;
  const std::lock_guard lock(mutex_);
  learned_[key] = std::move(learned);
}

std::optional<scheduler::Reservation> RunContext::try_reserve(std::string_view name,
                                                              std::int64_t bytes) const {
  auto reservation = budget.try_reserve(name, bytes);
  if (reservation) return reservation;
  blocks.trim();
  return budget.try_reserve(name, bytes);
}

scheduler::Reservation RunContext::reserve(std::string_view name, std::int64_t bytes) const {
  auto reservation = try_reserve(name, bytes);
  return reservation ? std::move(*reservation) : budget.reserve(name, bytes);
}

void RunContext::resize(scheduler::Reservation& reservation, std::int64_t bytes) const {
  try {
    reservation.resize(bytes);
  } catch (const scheduler::BudgetExceeded&) {
    blocks.trim();
    reservation.resize(bytes);
  }
}

void* RunContext::take_block(std::int64_t bytes) const {
  const bool own = budget.unlimited() && executor.concurrency() > 1 && executor.runs_in_line();
  return blocks.take(bytes, own ? BlockPool::From::own : BlockPool::From::all);
}

std::shared_ptr<void> RunContext::take_counted(const std::string& what, std::int64_t bytes) const {
  auto held = std::make_shared<scheduler::Reservation>(reserve(what, bytes));
  auto taken = memory.share(memory.take(static_cast<std::size_t>(bytes) + 64));
  void* const address = taken.get();
  return {address, [held, taken](void*) {}};
}

RunContext RunContext::for_body(const plan::Plan& body) const {
  return {.plan = body,
          .options = options,
          .memory = memory,
          .executor = executor,
          .budget = budget,
          .blocks = blocks,
          .report = report,
          .record = record,
          .trace = trace,
          .into = into,
          .sizes = nullptr,
          .learned = learned,
          .own_sinks = nullptr,
          .sinks = nullptr,
          .names_items = names_items,
          .gives_before_failure = gives_before_failure,
          .chunk_memory = chunk_memory,
          .equal_chunks = equal_chunks,
          .printer = printer};
}

RunContext RunContext::beside(RunOptions& own) const {
  own = options;
  own.progress = {};
  return {.plan = plan,
          .options = own,
          .memory = memory,
          .executor = executor,
          .budget = budget,
          .blocks = blocks,
          .into = into,
          .sizes = sizes,
          .learned = learned,
          .own_sinks = own_sinks,
          .sinks = sinks,
          .names_items = names_items,
          .item = item,
          .gives_before_failure = gives_before_failure,
          .chunk_memory = chunk_memory,
          .equal_chunks = equal_chunks,
          .printer = printer};
}

RunContext RunContext::for_nested(const plan::Plan& program, RunOptions& own) const {
  own = options;
  own.progress = {};
  own.scheduler = "adaptive";
  return {.plan = program,
          .options = own,
          .memory = memory,
          .executor = executor,
          .budget = budget,
          .blocks = blocks,
          .into = into,
          .learned = learned,
          .names_items = false,
          .gives_before_failure = gives_before_failure,
          .printer = printer};
}

}  // namespace anabranch::runtime
