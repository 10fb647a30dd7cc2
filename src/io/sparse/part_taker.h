#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

/// Where the parts of a file go that several threads parse.
namespace anabranch::io::detail {

/// Of each of these threads one.
template <class E>
class PartTaker {
 public:
  PartTaker() = default;
  PartTaker(const PartTaker&) = delete;
  PartTaker& operator=(const PartTaker&) = delete;
  virtual ~PartTaker() = default;

  /// What can be done with a part before its turn, on the thread that has parsed it and beside others.
  virtual void prepare(std::span<const E> part) = 0;
  /// The same part, one thread at a time, in the order of the file.
  virtual void take(std::span<const E> part) = 0;
};

/// Several threads may call it at once.
template <class E>
using MakeTaker = std::function<std::unique_ptr<PartTaker<E>>()>;

/// Of parts with which nothing can be done before their turn.
template <class E>
MakeTaker<E> in_turn(std::function<void(std::span<const E>)> take) {
  class InTurn final : public PartTaker<E> {
   public:
    explicit InTurn(const std::function<void(std::span<const E>)>& take) : take_(take) {}
    void prepare(std::span<const E>) override {}
    void take(std::span<const E> part) override { take_(part); }

   private:
    std::function<void(std::span<const E>)> take_;
  };
  return [take = std::move(take)] { return std::make_unique<InTurn>(take); };
}

}  // namespace anabranch::io::detail
