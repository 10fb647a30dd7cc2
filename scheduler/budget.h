// A hard limit on memory, shared by everything that a run holds:
// inputs kept whole, ring slots, results, indices.
//
// Memory is reserved by name *before* it is allocated, so that what cannot fit is an error that says what was
// too big and by how much, instead of a process that is killed later. Reservations are numbers only: nothing
// is allocated here.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anabranch::scheduler {

/// "3.5 MiB", "17 B": for messages.
std::string format_bytes(int64_t bytes);

/// A reservation did not fit. what() names it, its size, the limit and the largest other holders.
class BudgetExceeded : public std::runtime_error {
 public:
  BudgetExceeded(const std::string& message, std::string name, int64_t requested, int64_t used, int64_t limit)
      : std::runtime_error(message),
        name_(std::move(name)),
        requested_(requested),
        used_(used),
        limit_(limit) {}

  const std::string& name() const noexcept { return name_; }
  int64_t requested() const noexcept { return requested_; }
  int64_t used() const noexcept { return used_; }
  int64_t limit() const noexcept { return limit_; }

 private:
  std::string name_;
  int64_t requested_, used_, limit_;
};

/// A part of a budget, given back on destruction. Movable; keeps the account alive, so it may outlive the
/// Budget (a result that the user keeps).
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { release(); }

  /// Bytes held now; 0 when empty or moved from.
  int64_t bytes() const noexcept { return bytes_; }
  /// Grows or shrinks in place. Throws BudgetExceeded when growing does not fit, and holds what it held
  /// before. The new size counts instead of the old one, not on top of it: a buffer that is copied while it
  /// grows needs a second reservation for that time.
  void resize(int64_t bytes);
  void release() noexcept;
  /// So many of its bytes as a reservation of their own, of the same name.
  Reservation split(int64_t bytes);

 private:
  friend class Budget;
  struct Account;
  Reservation(std::shared_ptr<Account> account, std::size_t holder, int64_t bytes) noexcept;

  std::shared_ptr<Account> account_;
  std::size_t holder_ = 0;
  int64_t bytes_ = 0;
};

/// All members may be called from any thread.
class Budget {
 public:
  static constexpr int64_t no_limit = std::numeric_limits<int64_t>::max();

  /// An unlimited budget still counts, so peak() is true there too. Throws std::invalid_argument if limit < 0.
  explicit Budget(int64_t limit_bytes = no_limit);

  /// Throws BudgetExceeded when less than `bytes` is left, std::invalid_argument when bytes < 0. Reservations
  /// of the same name are added up in reports.
  Reservation reserve(std::string_view name, int64_t bytes);
  std::optional<Reservation> try_reserve(std::string_view name, int64_t bytes);

  int64_t limit() const noexcept;
  bool unlimited() const noexcept { return limit() == no_limit; }
  int64_t used() const noexcept;
  /// What is left; unlimited for an unlimited budget.
  int64_t available() const noexcept;
  /// The most that was ever held at one time.
  int64_t peak() const noexcept;
  /// Who holds how much now, largest first; names that hold nothing are left out.
  std::vector<std::pair<std::string, int64_t>> holders() const;

 private:
  std::shared_ptr<Reservation::Account> account_;
};

}  // namespace anabranch::scheduler
