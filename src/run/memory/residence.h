#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <anabranch/array.h>

namespace anabranch::detail {

/// Of one array: the copies of its components that a back end keeps between runs. Thread-safe.
class Residence {
 public:
  /// One component in a back end's memory.
  class Copy {
   public:
    Copy() = default;
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    virtual ~Copy() = default;
    /// Into host memory, of so many bytes.
    virtual void download(void* to, std::int64_t bytes) = 0;
  };

  explicit Residence(const ArrayData& host);

  /// Null: there is none.
  std::shared_ptr<Copy> copy(std::size_t component) const;
  /// Of what the host has.
  void keep(std::size_t component, std::shared_ptr<Copy> copy);
  /// Of what the host has not: its memory holds no elements yet. One for each component.
  void keep_only(std::vector<std::shared_ptr<Copy>> copies);
  bool is_only_there() const;
  bool is_there() const;
  /// Copies to the host what that has not.
  void bring_home();

 private:
  mutable std::mutex mutex_;
  const ArrayData host_;
  std::vector<std::shared_ptr<Copy>> copies_;
  bool only_there_ = false;
};

}  // namespace anabranch::detail
