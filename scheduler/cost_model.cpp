#include "scheduler/cost_model.h"

#include <algorithm>
#include <cmath>

namespace anabranch::scheduler {
namespace {

constexpr double known_from = 0.1;        // confidence below which a class counts as unknown
constexpr double established_from = 2.5;  // confidence from which on a class speaks about the level
constexpr double most_confidence = 10;    // so that a class never stops learning
constexpr double ageing = 0.999;          // per observation
constexpr double share_of_level = 0.3;    // the part of an error that is put down to the level
constexpr double least_noise = 0.01;
constexpr double worse_by = 0.08;  // differences below this are not worth a reaction

}  // namespace

int CostModel::class_of(double work) noexcept {
  return std::clamp(static_cast<int>(std::floor(2 * std::log2(std::max(work, 1.0)))), 0, classes - 1);
}

CostModel::Size CostModel::view(const Class& c) const noexcept {
  return {std::exp(c.log_work), std::exp(level_ + c.shape), c.confidence};
}

bool CostModel::add(double work, double ns, double importance) {
  const double log_work = std::log(std::max(work, 1.0));
  const double log_cost = std::log(std::max(ns, 1.0)) - log_work;
  const int index = class_of(work);
  Class& c = classes_[static_cast<std::size_t>(index)];
  for (Class& other : classes_) other.confidence *= ageing;
  if (empty()) level_ = log_cost;
  last_ = index;

  if (c.confidence < known_from) {
    c = {log_work, log_cost - level_, importance};
    streak_ = 0;
    return false;
  }
  const double error = log_cost - (level_ + c.shape);
  const double most = std::max(3 * noise_, 0.1);
  if (error < -most && c.confidence < established_from) {
    // Disturbances only make a chunk slower, so of two that disagree the quicker one counts.
    c.shape += error;
    streak_ = 0;
    return false;
  }
  // The noise learns from large errors too, but from one never so much that it would then hide the next.
  noise_ += 0.1 * (std::min(std::abs(error), 2 * most) - noise_);
  noise_ = std::max(noise_, least_noise);

  bool jumped = false;
  double used = std::clamp(error, -most, most);
  if (std::abs(error) <= most) {
    streak_ = 0;
  } else {
    const int sign = error > 0 ? 1 : -1;
    const bool again = streak_ * sign > 0;
    surprise_ = again ? sign * std::min(std::abs(surprise_), std::abs(error)) : error;
    streak_ = again ? streak_ + sign : sign;
    used = 0;
    if (std::abs(streak_) >= surprises_believed_) {
      streak_ = 0;
      if (c.confidence < established_from) {
        c.shape += surprise_;
      } else {
        level_ += surprise_;
        jumped = true;
        forget_others();
      }
    }
  }
  level_ += share_of_level * used;
  c.shape += (1 - share_of_level) * used / (1 + std::min(c.confidence, 4.0));
  c.log_work += (log_work - c.log_work) / (1 + std::min(c.confidence, 4.0));
  c.confidence = std::min(c.confidence + importance, most_confidence);
  return jumped;
}

void CostModel::forget_others() {
  for (int i = 0; i < classes; ++i) {
    if (i != last_) classes_[static_cast<std::size_t>(i)].confidence = 0;
  }
}

bool CostModel::determined() const noexcept { return !empty() && largest() >= 3 * smallest(); }

double CostModel::largest() const noexcept {
  double result = 0;
  for (const Class& c : classes_) {
    if (c.confidence >= known_from) result = std::max(result, std::exp(c.log_work));
  }
  return result;
}

double CostModel::smallest() const noexcept {
  for (const Class& c : classes_) {
    if (c.confidence >= known_from) return std::exp(c.log_work);
  }
  return 0;
}

CostModel::Line CostModel::fit(double largest) const {
  // cost = a / w + b, each class weighted by confidence / cost^2.
  double n = 0;
  double x = 0;
  double xx = 0;
  double y = 0;
  double xy = 0;
  for (const Class& c : classes_) {
    if (c.confidence < known_from) continue;
    const Size size = view(c);
    if (size.work > largest * 1.01) continue;
    const double weight = c.confidence / (size.cost * size.cost);
    const double inverse = 1 / size.work;
    n += weight;
    x += weight * inverse;
    xx += weight * inverse * inverse;
    y += weight * size.cost;
    xy += weight * inverse * size.cost;
  }
  if (n <= 0) return {};
  const double spread = n * xx - x * x;
  double fixed = spread > 1e-9 * n * xx ? (n * xy - x * y) / spread : 0;
  double slope = (y - fixed * x) / n;
  if (fixed < 0) {
    fixed = 0;
    slope = y / n;
  } else if (slope <= 0) {
    fixed = xy / xx;
    slope = 0;
  }
  return {fixed, slope};
}

std::optional<CostModel::Size> CostModel::at(double work) const {
  const Class& c = classes_[static_cast<std::size_t>(class_of(work))];
  if (c.confidence < known_from) return std::nullopt;
  return view(c);
}

double CostModel::cost_near(double work) const {
  const double log_work = std::log(std::max(work, 1.0));
  double nearest = -1;
  double cost = 0;
  for (const Class& c : classes_) {
    if (c.confidence < known_from) continue;
    const double distance = std::abs(c.log_work - log_work);
    if (nearest >= 0 && distance >= nearest) continue;
    nearest = distance;
    cost = view(c).cost;
  }
  return cost;
}

std::optional<CostModel::Size> CostModel::best() const {
  double lowest = 0;
  std::optional<Size> result;
  for (const Class& c : classes_) {
    if (c.confidence < known_from) continue;
    const Size size = view(c);
    // By the upper end of what it may be, so that one lucky chunk does not win.
    const double bound = size.cost * std::exp(2 * noise_ / std::sqrt(c.confidence));
    if (result && bound >= lowest) continue;
    result = size;
    lowest = bound;
  }
  return result;
}

std::optional<CostModel::Size> CostModel::below(const Size& size) const {
  std::optional<Size> result;
  for (const Class& c : classes_) {
    if (c.confidence < known_from) continue;
    const Size candidate = view(c);
    if (candidate.work >= size.work * 0.99) break;
    result = candidate;
  }
  return result;
}

bool CostModel::worse(const Size& than, const Size& size) const {
  const double chance = 2 * noise_ * std::sqrt(1 / than.confidence + 1 / size.confidence);
  return std::log(size.cost / than.cost) > std::max(worse_by, chance);
}

std::optional<CostModel::Size> CostModel::worse_above(const Size& than) const {
  for (const Class& c : classes_) {
    if (c.confidence < known_from) continue;
    const Size size = view(c);
    if (size.work > than.work * 1.01 && worse(than, size)) return size;
  }
  return std::nullopt;
}

}  // namespace anabranch::scheduler
