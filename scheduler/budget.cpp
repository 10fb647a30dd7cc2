#include "scheduler/budget.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>

namespace anabranch::scheduler {

struct Reservation::Account {
  struct Holder {
    std::string name;
    int64_t bytes = 0;
    int64_t reservations = 0;  // an entry without any is free for another name
  };

  explicit Account(int64_t limit_bytes) : limit(limit_bytes) {}

  const int64_t limit;
  mutable std::mutex mutex;
  int64_t used = 0;
  int64_t peak = 0;
  std::vector<Holder> holders;

  // All below: with the mutex held.

  bool fits(int64_t more) const noexcept { return more <= limit - used; }

  void take(std::size_t holder, int64_t more) noexcept {
    used += more;
    holders[holder].bytes += more;
    peak = std::max(peak, used);
  }

  std::size_t find(std::string_view name) {
    std::size_t free = holders.size();
    for (std::size_t i = 0; i < holders.size(); ++i) {
      if (holders[i].reservations == 0) {
        free = i;
      } else if (holders[i].name == name) {
        return i;
      }
    }
    if (free == holders.size()) holders.emplace_back();
    holders[free].name = name;
    return free;
  }

  std::vector<std::pair<std::string, int64_t>> list() const {
    std::vector<std::pair<std::string, int64_t>> result;
    for (const Holder& holder : holders) {
      if (holder.bytes > 0) result.emplace_back(holder.name, holder.bytes);
    }
    std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    return result;
  }

  // `held`: what of the bytes it has already.
  [[noreturn]] void refuse(std::string_view name, int64_t bytes, int64_t held = 0) const {
    const std::string more = held > 0 ? " (" + format_bytes(bytes - held) + " more than it has)" : "";
    std::string message = "memory limit exceeded: '" + std::string(name) + "' needs " + format_bytes(bytes) +
                          more + ", but of the limit of " + format_bytes(limit) + " only " +
                          format_bytes(limit - used) + " is left";
    const auto others = list();
    for (std::size_t i = 0; i < std::min<std::size_t>(others.size(), 3); ++i) {
      message += (i == 0 ? " (held: '" : ", '") + others[i].first + "' " + format_bytes(others[i].second);
    }
    if (!others.empty()) message += ")";
    throw BudgetExceeded(message, std::string(name), bytes, used, limit);
  }
};

std::string format_bytes(int64_t bytes) {
  if (bytes > -1024 && bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would print as 1024.0.
  for (; (value >= 1023.95 || value <= -1023.95) && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f %s", value, units[unit]);
  return text.data();
}

Reservation::Reservation(std::shared_ptr<Account> account, std::size_t holder, int64_t bytes) noexcept
    : account_(std::move(account)), holder_(holder), bytes_(bytes) {}

Reservation::Reservation(Reservation&& other) noexcept
    : account_(std::move(other.account_)), holder_(other.holder_), bytes_(std::exchange(other.bytes_, 0)) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this != &other) {
    release();
    account_ = std::move(other.account_);
    holder_ = other.holder_;
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void Reservation::resize(int64_t bytes) {
  if (bytes < 0) throw std::invalid_argument("a reservation of " + std::to_string(bytes) + " bytes");
  if (!account_) throw std::logic_error("resize of an empty reservation");
  const std::lock_guard lock(account_->mutex);
  if (!account_->fits(bytes - bytes_)) account_->refuse(account_->holders[holder_].name, bytes, bytes_);
  account_->take(holder_, bytes - bytes_);
  bytes_ = bytes;
}

Reservation Reservation::split(int64_t bytes) {
  if (bytes < 0 || bytes > bytes_)
    throw std::invalid_argument(std::to_string(bytes) + " of " + std::to_string(bytes_) + " reserved bytes");
  if (!account_) return {};
  {
    const std::lock_guard lock(account_->mutex);
    ++account_->holders[holder_].reservations;
  }
  bytes_ -= bytes;
  return {account_, holder_, bytes};
}

void Reservation::release() noexcept {
  if (!account_) return;
  {
    const std::lock_guard lock(account_->mutex);
    account_->take(holder_, -bytes_);
    --account_->holders[holder_].reservations;
  }
  account_.reset();
  bytes_ = 0;
}

Budget::Budget(int64_t limit_bytes) : account_(std::make_shared<Reservation::Account>(limit_bytes)) {
  if (limit_bytes < 0)
    throw std::invalid_argument("a memory limit of " + std::to_string(limit_bytes) + " bytes");
}

std::optional<Reservation> Budget::try_reserve(std::string_view name, int64_t bytes) {
  if (bytes < 0) throw std::invalid_argument("a reservation of " + std::to_string(bytes) + " bytes");
  const std::lock_guard lock(account_->mutex);
  if (!account_->fits(bytes)) return std::nullopt;
  const std::size_t holder = account_->find(name);
  account_->take(holder, bytes);
  ++account_->holders[holder].reservations;
  return Reservation(account_, holder, bytes);
}

Reservation Budget::reserve(std::string_view name, int64_t bytes) {
  if (auto reservation = try_reserve(name, bytes)) return *std::move(reservation);
  const std::lock_guard lock(account_->mutex);
  account_->refuse(name, bytes);
}

int64_t Budget::limit() const noexcept { return account_->limit; }

int64_t Budget::used() const noexcept {
  const std::lock_guard lock(account_->mutex);
  return account_->used;
}

int64_t Budget::available() const noexcept {
  const std::lock_guard lock(account_->mutex);
  return account_->limit == no_limit ? no_limit : account_->limit - account_->used;
}

int64_t Budget::peak() const noexcept {
  const std::lock_guard lock(account_->mutex);
  return account_->peak;
}

std::vector<std::pair<std::string, int64_t>> Budget::holders() const {
  const std::lock_guard lock(account_->mutex);
  return account_->list();
}

}  // namespace anabranch::scheduler
