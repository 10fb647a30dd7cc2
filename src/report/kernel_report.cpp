#include "report/kernel_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/kernel_reads.h"

namespace anabranch::report {

using namespace ir;
using kernel::AccessPattern;
using kernel::Motion;

namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// The array that a kernel reads, and the one in which it lies: another one where it is a view.
struct Bound {
  const plan::Group& group;
  int number;
  const plan::Group& elements_of;
  int elements;
};
Bound bound(const plan::Group& group, const plan::Group& global, const plan::KernelStep& step,
            const kernel::KernelArray& array) {
  const plan::BufferRef& buffer = step.buffers[at(array.first_buffer)];
  const plan::Group& from = buffer.global ? global : group;
  if (buffer.global && array.form == Form::segmented) {
    const int begin = step.buffers[at(array.offsets)].index;
    for (std::size_t i = 0; i < group.arrays.size(); ++i) {
      const plan::PlanArray& view = group.arrays[i];
      if (view.origin == plan::PlanArray::Origin::view && view.index == buffer.index && view.part == begin)
        return {group, static_cast<int>(i), from, buffer.index};
    }
  }
  return {from, buffer.index, from, buffer.index};
}

/// Neighbours that are read in their order come from memory once, however many places read them: all that there
/// are, or as many as are computed.
Traffic read_in_order(const std::vector<Traffic>& places, const Counts::Factors& elements,
                      const Counts::Factors& all) {
  const bool certain =
      std::any_of(places.begin(), places.end(), [](const Traffic& place) { return !place.at_most; });
  if (Counts::is_lesser(all, elements)) return {places[0].each, Counts::text(all), !certain};
  const bool known = places[0].times.find(Counts::unknown) == std::string::npos;
  if (places.size() > 1 || !known || (!certain && !Counts::is_lesser(elements, all)))
    return {places[0].each, Counts::text(all), true};
  return places[0];
}

/// Are these offsets 32 bits wide?
bool narrow_offsets(const kernel::Kernel& k, const plan::KernelStep& step, const plan::BufferRef& buffer) {
  const int slot =
      static_cast<int>(std::find(step.buffers.begin(), step.buffers.end(), buffer) - step.buffers.begin());
  const auto in_layout = [&](const kernel::Layout& layout) {
    if (layout.offsets == slot && layout.offset_type == OffsetType::int32) return true;
    return std::any_of(layout.extents.begin(), layout.extents.end(), [&](const kernel::KernelExtent& e) {
      return e.kind == kernel::KernelExtent::Kind::ragged && e.slot == slot && e.offsets == OffsetType::int32;
    });
  };
  return in_layout(k.domain) || std::any_of(k.arrays.begin(), k.arrays.end(), in_layout) ||
         (kernel::row_of(k) && kernel::row_of(k)->work_offsets == slot &&
          kernel::row_of(k)->work_offset_type == OffsetType::int32);
}

}  // namespace

Kernel KernelReporter::report(const plan::Group& group, const plan::Group& global,
                              const plan::KernelStep& step, int number) {
  Kernel out;
  const kernel::Kernel& k = step.kernel;
  out.number = number;
  out.name = k.name;
  out.form = std::string(kernel::name_of_form(k));
  out.place = k.place;
  out.lanes = lanes_text(k);
  out.operations = k.operations;
  out.equal_items = step.equal_items != nullptr;
  out.listing = kernel::to_string(k);
  for (const int output : step.outputs) out.computes.push_back(name_(group, output));
  read_arrays(group, global, step, out);
  read_layouts(group, global, step, out);
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    const plan::PlanArray& array = group.arrays[at(step.outputs[i])];
    Traffic traffic{Counts::width_of(array.type.scalars), Counts::text(counts_.of(group, array))};
    if (k.outputs[0].of > 1) traffic.times += fmt::format(" x {}/{}", k.outputs.size(), k.outputs[0].of);
    out.written_bytes.emplace_back(out.computes[i], std::move(traffic));
  }
  for (const kernel::Check& check : k.checks) {
    if (check.kind == kernel::Check::Kind::index) continue;
    const bool division = check.kind == kernel::Check::Kind::division;
    out.checks.push_back(
        {division ? "a quotient that does not exist" : "a row without elements", check.what, check.place});
  }
  return out;
}

void KernelReporter::read_arrays(const plan::Group& group, const plan::Group& global,
                                 const plan::KernelStep& step, Kernel& out) {
  const kernel::Kernel& k = step.kernel;
  const Counts::Factors elements = counts_.elements_of(group, step);
  const std::vector<KernelRead> reads = reads_of(k);
  for (std::size_t a = 0; a < k.arrays.size(); ++a) {
    const Bound from = bound(group, global, step, k.arrays[a]);
    const plan::PlanArray& plan = from.group.arrays[at(from.number)];
    const std::string name = name_(from.group, from.number);
    std::vector<Traffic> in_order, others;
    for (const KernelRead& found : reads) {
      if (found.array != a) continue;
      Read read;
      read.array = name;
      read.number = static_cast<int>(a);
      read.label = found.node->payload().label ? found.node->label() : "";
      read.place = found.node->place();
      read.pattern = kernel::pattern_of(found.position);
      read.inside_borders = found.inside_borders;
      read.where_needed = found.where_needed;
      read.stride = stride_text(from.group, plan, found);
      read.check = found.check;
      read.why = found.why;
      const bool together =
          read.pattern != AccessPattern::broadcast && read.pattern != AccessPattern::gathered;
      const bool broadcast = read.pattern == AccessPattern::broadcast;
      read.bytes = {found.bytes, broadcast ? found.shared : Counts::text(elements), found.where_needed};
      // Nobody knows how many rounds there are.
      if (found.in_loop) read.bytes = {found.bytes, Counts::unknown, true};
      (together ? in_order : others).push_back(read.bytes);
      out.reads.push_back(std::move(read));
    }
    if (in_order.empty() && others.empty()) continue;
    const std::string reader = fmt::format("kernel {}, {}", out.number, k.name);
    read_by_(from.group, from.number, {reader, k.place, false});
    if (&from.group != &from.elements_of)
      read_by_(from.elements_of, from.elements, {fmt::format("{} through {}", reader, name), k.place, false});
    if (!in_order.empty()) {
      const Counts::Factors all = counts_.of(from.group, plan);
      const Traffic once = read_in_order(in_order, elements, all);
      out.read_bytes.emplace_back(name, once);
      if (once.times == Counts::text(all)) continue;  // the others find it there
    }
    for (Traffic& one : others) out.read_bytes.emplace_back(name, std::move(one));
  }
}

void KernelReporter::read_layouts(const plan::Group& group, const plan::Group& global,
                                  const plan::KernelStep& step, Kernel& out) {
  const kernel::Kernel& k = step.kernel;
  const auto is_bound = [&](std::size_t slot, const kernel::KernelArray& array) {
    const auto first = at(array.first_buffer);
    return slot >= first && slot < first + array.type.scalars.size();
  };
  for (std::size_t slot = 0; slot < step.buffers.size(); ++slot) {
    const plan::BufferRef& buffer = step.buffers[slot];
    const auto holds_slot = [&](const auto& array) { return is_bound(slot, array); };
    const auto output = [&](const kernel::KernelOutput& o) { return is_bound(slot, o.array); };
    if (buffer.kind == plan::BufferRef::Kind::array &&
        std::none_of(k.arrays.begin(), k.arrays.end(), holds_slot) &&
        std::none_of(k.outputs.begin(), k.outputs.end(), output))
      out.read_bytes.emplace_back(name_(buffer.global ? global : group, buffer.index), Traffic{8, "items"});
    if (buffer.kind == plan::BufferRef::Kind::offsets) {
      const bool narrow = narrow_offsets(k, step, buffer);
      out.read_bytes.emplace_back("offsets", Traffic{narrow ? 4 : 8, "(items + 1)"});
    }
    if (buffer.kind == plan::BufferRef::Kind::item_extents)
      out.read_bytes.emplace_back("extents", Traffic{8, "items"});
  }
}

std::string KernelReporter::stride_text(const plan::Group& group, const plan::PlanArray& array,
                                        const KernelRead& read) {
  if (kernel::pattern_of(read.position) != AccessPattern::strided) return "";
  if (read.position.kind == Motion::Kind::steady) return fmt::format("{}", read.position.step);
  std::vector<std::size_t> moving;
  for (std::size_t d = 0; d < read.index.size(); ++d)
    if (!read.index[d].is_same()) moving.push_back(d);
  // From item to item, or along one dimension.
  std::vector<std::string> factors;
  std::size_t after = 0;
  if (moving.size() == 1 && read.node->op() == Op::index &&
      read.index[moving[0]].kind == Motion::Kind::steady) {
    after = moving[0] + 1;
    if (read.index[moving[0]].step != 1) factors.push_back(fmt::format("{}", read.index[moving[0]].step));
  } else if (!moving.empty() || array.form != Form::regular) {
    return "a number known at run time";
  }
  for (std::size_t d = after; d < array.extents.size(); ++d)
    factors.push_back(counts_.extent_text(group, array.extents[d]));
  return fmt::format("{}", fmt::join(factors, " x "));
}

}  // namespace anabranch::report
