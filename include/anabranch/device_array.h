#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <anabranch/array.h>
#include <anabranch/export.h>
#include <anabranch/index.h>

/// Arrays that stay on the GPU between runs.
namespace anabranch {

namespace detail {
/// The same elements in the same memory, to be kept on the GPU by the first run there that asks for them.
ANABRANCH_API std::shared_ptr<ArrayData> with_residence(const std::shared_ptr<ArrayData>& array);
/// Copies what only the GPU has into the host's memory. Throws RunError where the GPU has failed.
ANABRANCH_API void bring_home(const ArrayData& array);
/// The elements in host memory, brought there, as an array of its own that is not written.
ANABRANCH_API std::shared_ptr<ArrayData> host_view(const ArrayData& array);
ANABRANCH_API bool is_on_device(const ArrayData& array);
}  // namespace detail

/// An argument or a result of programs, an Array, which stays on the GPU between runs: a run with Backend::cuda copies it there when
/// it first asks for it, later ones find it there, whole or, where a sequence goes over it, in parts. What `Program::run_on_device`
/// computes there is copied to the host when `host` is called, or when another back end needs it.
///
///     DeviceArray<Vector<float>> x(start);
///     for (int i = 0; i < 100; ++i) x = step.run_on_device({.backend = Backend::cuda}, links, x);
///     const Vector<float> result = x.host();
///
/// With other back ends it is the Array that it is made of: a program that uses it runs everywhere. A handle, as an Array is:
/// copies are the same elements. Its elements do not change: do not write to an Array that one has been made of. Thread-safe.
///
/// Memory: on the host as much as an Array, on the GPU as long as a handle lives; there it counts in the bound of each run that uses
/// it (RunOptions::gpu_memory). Where it does not fit into that when a run begins, or is to be copied there for a sequence and would
/// take more than half of what is left, the run uses it from the host's memory, as an Array.
template <class A>
class DeviceArray {
 public:
  using Host = A;

  /// Throws ProgramError of an empty handle (an Array that has been moved from).
  explicit DeviceArray(const A& host) : DeviceArray(host.erased()) {}
  /// What a run gives.
  explicit DeviceArray(const std::shared_ptr<detail::ArrayData>& data)
      : data_(data && data->residence ? data : detail::with_residence(data)) {}

  auto shape() const { return A(data_).shape(); }
  /// Elements.
  std::int64_t size() const { return data_->size(); }
  /// With its elements in host memory: copied there where only the GPU has them. It shares the memory of this one, and is
  /// for reading: writing to it is a ProgramError. Throws RunError where the GPU has failed.
  A host() const { return A(detail::host_view(*data_)); }
  /// Whether a copy of it is on the GPU.
  bool on_device() const { return detail::is_on_device(*data_); }

  const std::shared_ptr<detail::ArrayData>& erased() const { return data_; }

 private:
  std::shared_ptr<detail::ArrayData> data_;
};

namespace detail {
template <class X>
inline constexpr bool is_device_array = false;
template <class A>
inline constexpr bool is_device_array<DeviceArray<A>> = true;
/// Whether a program takes an X in the place of an A.
template <class X, class A>
concept Passable = std::is_same_v<X, A> || std::is_same_v<X, DeviceArray<A>>;
}  // namespace detail

}  // namespace anabranch
