#pragma once

#include <span>
#include <string>
#include <unordered_map>

#include "ir/node.h"

/// Programs as text a person can read: every shared or long term is bound to a name, arrays a0, a1, ...,
/// sequences s0, ..., scalars t0, ...; functions are \x0 -> ...; types and the user's lines stand on the
/// right.
namespace anabranch::ir {

/// Names already given to nodes (parameters, arrays).
class Printer {
 public:
  /// The name of a node that is not printed inline; invents one if it has none.
  std::string name(const Node& node);
  void set_name(const Node& node, std::string name) { names_[&node] = std::move(name); }
  bool named(const Node& node) const { return names_.contains(&node); }

  /// One scalar expression: "let" lines (each with `indent`) go to `lets`, the rest is returned.
  std::string scalar(const Ref& expression, std::string& lets, const std::string& indent);
  /// Several results that share their lets.
  std::vector<std::string> scalars(std::span<const Ref> expressions, std::string& lets,
                                   const std::string& indent);
  std::string lambda(const Node& function, const std::string& indent);
  /// A whole program: one line per array or sequence computation, in order of dependence.
  std::string program(std::span<const Ref> roots);

 private:
  std::string text(const Node& node, const std::unordered_map<const Node*, std::string>& done,
                   const std::string& indent);
  std::unordered_map<const Node*, std::string> names_;
  int arrays_ = 0, sequences_ = 0, scalars_ = 0, parameters_ = 0;
};

std::string to_string(std::span<const Ref> roots);
/// Each line of the text that is not empty begins with `indent`.
std::string indented(const std::string& text, const std::string& indent);
/// "fold@smvm.cpp:7": what a node is called where its kernel is.
std::string title(const Node& node);
/// "inclusive", "all from the right".
std::string to_string(const ScanKind& kind);
/// "3.5", "true", "-7".
std::string constant_text(const Node& constant);

}  // namespace anabranch::ir
