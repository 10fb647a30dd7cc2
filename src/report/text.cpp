#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/print.h"
#include "report/report.h"

/// The report as a person reads it.
namespace anabranch::report {

namespace {

std::string at(const Place& place) { return place.known() ? "  -- " + to_string(place) : std::string(); }

std::string storage(const Operation& operation) {
  if (!operation.stored.empty()) return "stored: " + operation.stored;
  if (operation.kernels.empty()) return "not computed: nobody takes an element";
  return "fused into " + names_of(operation.kernels);
}

std::string operations_text(const Part& part) {
  std::string out;
  for (const Operation& o : part.operations)
    out += fmt::format("  {:<4} {:<12} {:<24} {:<10} {:<44} {}{}\n", o.name, o.label, o.type, name_of(o.form),
                       o.reason, storage(o), at(o.place));
  for (const std::string& remark : part.remarks) out += fmt::format("  {}\n", remark);
  return out;
}

std::string title(const Part& part) {
  const std::string what = part.title + (part.stream ? ": for every chunk of items" : "");
  return part.inside.empty() ? what : fmt::format("{}: {}", part.inside, what);
}

std::string bytes_text(const Traffic& traffic) {
  const char* most = traffic.at_most ? "at most " : "";
  return traffic.times == "once" ? fmt::format("{}{} B", most, traffic.each)
                                 : fmt::format("{}{} B x {}", most, traffic.each, traffic.times);
}

std::string bytes_text(const std::vector<std::pair<std::string, Traffic>>& arrays) {
  std::vector<std::string> parts;
  for (const auto& [array, traffic] : arrays)
    parts.push_back(fmt::format("{}: {}", array, bytes_text(traffic)));
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string read_text(const Read& read) {
  std::string by = read.label.empty() ? "" : " by " + read.label;
  if (!read.label.empty() && read.place.known()) by += fmt::format(" ({})", to_string(read.place));
  std::string how = name_of(read.pattern);
  if (!read.stride.empty()) how += fmt::format(" by {}", read.stride);
  if (read.inside_borders) how += " but near the borders of a row";
  if (read.where_needed) how += ", where needed";
  return fmt::format("  reads {} (in{}){}: {}; {}: {}\n", read.array, read.number, by, how,
                     name_of(read.check), read.why);
}

std::string kernel_text(const Kernel& kernel) {
  // The listing has the kernel's name in its first line, and is indented below.
  std::string out =
      fmt::format("kernel {}, {}", kernel.number, kernel.listing.substr(std::string("kernel ").size()));
  if (!kernel.computes.empty())
    out += fmt::format(
        "  makes {}{}\n", fmt::join(kernel.computes, ", "),
        kernel.fused.empty() ? "" : fmt::format("; fused into it: {}", fmt::join(kernel.fused, ", ")));
  out += fmt::format("  side by side in a vector: {}\n", kernel.lanes);
  for (const Read& read : kernel.reads) out += read_text(read);
  for (const OtherCheck& check : kernel.checks)
    out += fmt::format("  checks {} for {}{}\n", check.label, check.what,
                       check.place.known() ? fmt::format(" ({})", to_string(check.place)) : "");
  out += fmt::format("  bytes: reads {}; writes {}; {} operations an element\n",
                     bytes_text(kernel.read_bytes), bytes_text(kernel.written_bytes), kernel.operations);
  if (kernel.equal_items)
    out += "  where all items of a chunk turn out to be of one shape: a kernel for regular arrays\n";
  return out;
}

std::string steps_text(const Report& report, const Part& part) {
  std::string out;
  for (const Step& step : part.steps)
    out += step.kind == Step::Kind::kernel
               ? kernel_text(report.kernels[static_cast<std::size_t>(step.kernel)])
               : step.text + "\n";
  return out;
}

std::string stored_text(const StoredArray& array) {
  std::vector<std::string> readers;
  for (const Reader& reader : array.read_by)
    readers.push_back(reader.what + (reader.each_round ? ", in every round" : ""));
  std::string use = readers.empty() ? "" : fmt::format("read by {}", fmt::join(readers, "; "));
  if (array.is_result) use = use.empty() ? "a result" : "a result, " + use;
  if (use.empty() && array.of_extents) use = "for the sizes of items";
  const auto on_host = [&](const char* what) {
    use += fmt::format("{}{}, on the host", use.empty() ? "" : "; ", what);
  };
  if (array.decides_shapes) on_host("for extents");
  if (array.decides_branches) on_host("for a branch");
  if (use.empty()) use = "no kernel reads it";
  const bool is_given = array.maker == StoredArray::Maker::host ||
                        array.maker == StoredArray::Maker::source || array.maker == StoredArray::Maker::view;
  const std::string in_place =
      array.in_place_of.empty() ? "" : fmt::format(", in place of {}", fmt::join(array.in_place_of, ", "));
  return fmt::format("  {:<4} {:<12} {:<24} {}{}; {}{}; {}{}\n", array.name, array.label, array.type,
                     array.why, is_given ? "" : "; by " + array.made_by, bytes_text(array.bytes), in_place,
                     use, at(array.place));
}

}  // namespace

std::string to_text(const Report& report) {
  std::string out = "program, after sharing\n";
  for (const std::string& line : report.program) out += fmt::format("  {}\n", line);
  out += "\n";
  bool first = true;
  for (const Part& part : report.parts) {
    if (part.operations.empty() && part.remarks.empty()) continue;
    if (!std::exchange(first, false)) out += "\n";
    const std::string indent(static_cast<std::size_t>(4 * part.depth), ' ');
    out += indent + title(part) + "\n" + ir::indented(operations_text(part), indent);
  }
  out += "\nkernels\n";
  for (const Part& part : report.parts) out += steps_text(report, part);
  out += "\narrays in memory, and why\n";
  for (const StoredArray& array : report.stored) out += stored_text(array);
  out += "\npasses\n";
  for (const Pass& pass : report.passes)
    out += fmt::format("  {:<10} {:8.3f} ms\n", pass.name, pass.seconds * 1e3);
  return out;
}

}  // namespace anabranch::report
