#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/report.h"

/// The report as a graph in the language of Graphviz: operations, those of one kernel in a box, and arrows from what is
/// read to what reads it, with how it is read.
namespace anabranch::report {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// Lines of a label, one below the other.
std::string label(const std::vector<std::string>& lines) {
  std::vector<std::string> escaped;
  for (const std::string& line : lines) {
    const std::string text = quoted(line);
    escaped.push_back(text.substr(1, text.size() - 2));
  }
  return fmt::format("\"{}\"", fmt::join(escaped, "\\n"));
}

class Graph {
 public:
  explicit Graph(const Report& report) : report_(report) {}

  std::string text() {
    for (const Part& part : report_.parts)
      for (const Operation& o : part.operations) {
        declare(o);
        all_.push_back(&o);
      }
    out_ +=
        "digraph program {\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", "
        "fontsize=10];\n";
    for (const Kernel& kernel : report_.kernels) {
      const auto is_in = [&](const auto& boxed) { return boxed.second == kernel.number; };
      if (std::none_of(box_.begin(), box_.end(), is_in)) continue;
      out_ += fmt::format("  subgraph cluster_{} {{\n    label={};\n", kernel.number,
                          label({fmt::format("kernel {}: {}", kernel.number, kernel.form)}));
      for (const auto& [name, number] : box_)
        if (number == kernel.number) out_ += "    " + nodes_.at(name);
      out_ += "  }\n";
    }
    for (const std::string& name : order_)
      if (!box_.contains(name)) out_ += "  " + nodes_.at(name);
    for (const Part& part : report_.parts)
      for (const Operation& o : part.operations)
        for (const std::string& read : o.reads) edge(o, read);
    return out_ + "}\n";
  }

 private:
  void declare(const Operation& o) {
    std::vector<std::string> lines{
        fmt::format("{} {}", o.name, o.label), o.type,
        o.stored.empty() ? name_of(o.form) : fmt::format("{}; {}", name_of(o.form), o.stored)};
    if (o.place.known()) lines.push_back(to_string(o.place));
    const char* shape = o.kernels.empty() ? "cylinder" : o.stored.empty() ? "ellipse, style=dashed" : "box";
    const bool is_new =
        nodes_.emplace(o.name, fmt::format("{} [shape={}, label={}];\n", quoted(o.name), shape, label(lines)))
            .second;
    if (is_new) order_.push_back(o.name);
    // What several kernels compute is in none of their boxes.
    if (o.kernels.size() == 1) box_.emplace(o.name, o.kernels[0]);
  }

  /// How the kernels that compute the operation read that array: where they do so in several ways, those of the places
  /// that are the operation's.
  void edge(const Operation& o, const std::string& read) {
    if (!nodes_.contains(read) || !edges_.emplace(o.name, read).second) return;
    std::vector<std::string> how, own;
    const auto add = [](std::vector<std::string>& texts, const std::string& text) {
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
    };
    for (const Kernel& kernel : report_.kernels) {
      if (std::find(o.kernels.begin(), o.kernels.end(), kernel.number) == o.kernels.end()) continue;
      for (const Read& r : kernel.reads) {
        if (r.array != read) continue;
        std::string text = name_of(r.pattern);
        if (r.check == CheckKind::checked || r.check == CheckKind::at_borders) text += ", checked";
        add(how, text);
        if (is_of(r, o)) add(own, text);
      }
    }
    const auto twin = [&](const Operation* other) {
      return other != &o && other->label == o.label && to_string(other->place) == to_string(o.place);
    };
    if (how.size() > 1) how = std::any_of(all_.begin(), all_.end(), twin) ? std::vector<std::string>() : own;
    out_ += fmt::format("  {} -> {}{};\n", quoted(read), quoted(o.name),
                        how.empty() ? "" : fmt::format(" [label={}]", label(how)));
  }

  static bool is_of(const Read& read, const Operation& o) {
    return read.label == o.label && to_string(read.place) == to_string(o.place);
  }

  const Report& report_;
  std::string out_;
  std::vector<const Operation*> all_;
  std::map<std::string, std::string> nodes_;
  std::map<std::string, int> box_;
  std::vector<std::string> order_;
  std::set<std::pair<std::string, std::string>> edges_;
};

}  // namespace

std::string to_dot(const Report& report) { return Graph(report).text(); }

}  // namespace anabranch::report
