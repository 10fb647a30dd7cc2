#include "ir/array_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <anabranch/half.h>

#include "ir/run_error.h"

namespace anabranch::ir {

namespace {

constexpr std::int64_t all_up_to = 1000, at_each_end = 3;

std::string scalar_text(ScalarType type, const void* data, std::int64_t at) {
  return anabranch::detail::with_scalar(type, [&]<class T>(std::type_identity<T>) {
    const T value = static_cast<const T*>(data)[at];
    if constexpr (std::is_same_v<T, half>)
      return fmt::format("{}", static_cast<float>(value));
    else if constexpr (sizeof(T) == 1 && std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return fmt::format("{}", static_cast<int>(value));
    else
      return fmt::format("{}", value);
  });
}

class Writer {
 public:
  Writer(const ElementsAt& elements, std::span<const std::int64_t> extents)
      : elements_(elements), extents_(extents) {
    std::int64_t size = 1;
    for (const std::int64_t extent : extents) size *= extent;
    shortened_ = size > all_up_to;
  }

  /// What lies at `index` in the dimensions before `d`; `place` counts such parts.
  void write(std::size_t d, std::int64_t place) {
    if (d == extents_.size()) return element(place);
    const std::int64_t n = extents_[d];
    const bool leaves_out = shortened_ && n > 2 * at_each_end;
    text += '{';
    for (std::int64_t i = 0; i < n; ++i) {
      if (i > 0) text += ", ";
      if (leaves_out && i == at_each_end) {
        text += "..., ";
        i = n - at_each_end;
      }
      write(d + 1, place * n + i);
    }
    text += '}';
  }

  std::string text;

 private:
  void element(std::int64_t place) {
    const bool several = elements_.scalars.size() != 1;
    if (several) text += '(';
    for (std::size_t c = 0; c < elements_.scalars.size(); ++c) {
      if (c > 0) text += ", ";
      text += scalar_text(elements_.scalars[c], elements_.components[c], elements_.first + place);
    }
    if (several) text += ')';
  }

  const ElementsAt& elements_;
  std::span<const std::int64_t> extents_;
  bool shortened_ = false;
};

}  // namespace

std::string array_text(const ElementsAt& elements, std::span<const std::int64_t> extents) {
  Writer writer(elements, extents);
  writer.write(0, 0);
  return std::move(writer.text);
}

std::string traced_line(const Node& trace, std::int64_t item, const ElementsAt& elements,
                        std::span<const std::int64_t> extents) {
  return fmt::format("{}{}{}: {}", trace.payload().text.view(),
                     item == no_item ? std::string() : fmt::format(", item {}", item),
                     extents.empty() ? std::string() : fmt::format(" [{}]", fmt::join(extents, " x ")),
                     array_text(elements, extents));
}

}  // namespace anabranch::ir
