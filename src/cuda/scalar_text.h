#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/component_use.h"
#include "kernel/kernel.h"
#include "kernel/regions.h"

/// From scalar expressions to statements of CUDA C++: what cpu/llvm/emitter.h is for LLVM, for one thread.
namespace anabranch::cuda {

/// Text with indentation.
class Text {
 public:
  void line(std::string_view text);
  /// A line that opens a block; `close` ends it.
  void open(std::string_view text);
  void close(std::string_view text = "}");
  void reopen(std::string_view text);  ///< ends a block and begins another
  /// Ascribes the next line to the user's place (#line).
  void place(const Place& place);
  /// Line numbers are those of this text again, under this name.
  void own_lines(std::string_view name);
  const std::string& str() const { return text_; }

 private:
  std::string text_;
  int lines_ = 0;
  int depth_ = 0;
  bool foreign_ = false;
};

/// "double"; of bool in memory "u8".
const char* type_text(ScalarType type);
/// The header of kernels/math that a mathematical function is in; null: it is none.
const char* header_of(ir::Primitive primitive);
const char* memory_type_text(ScalarType type);
/// A literal of exactly that type.
std::string literal_text(ScalarType type, std::uint64_t bits);
std::string literal_text(std::int64_t value);
/// A text reduced to what an identifier may contain.
std::string identifier(std::string_view text);

/// One expression per component: names and literals, which can be repeated.
using ExprTexts = std::vector<std::string>;

/// An array as bodies read it.
struct ArrayText {
  std::string base;                  ///< position of the item's first element; empty: 0
  std::vector<std::string> extents;  ///< of the item
  std::vector<std::string> buffers;  ///< per component
  std::vector<std::string>
      fetched;  ///< per component, what holds the value at the current position; else empty
};

class ScalarText {
 public:
  ScalarText(Text& out, const kernel::Kernel& kernel) : out_(out), kernel_(kernel), use_(kernel) {
    for (std::size_t i = 0; i < kernel.checks.size(); ++i)
      if (kernel.checks[i].node) checks_[kernel.checks[i].node] = static_cast<int>(i);
  }

  void set_array(const ir::Node& parameter, ArrayText text) { arrays_[&parameter] = std::move(text); }
  ArrayText& array(const ir::Node& parameter) { return arrays_.at(&parameter); }
  /// Reads for which it holds are at `own_position`, whatever their index.
  std::function<bool(const ir::Node&)> is_pointwise;
  std::string own_position;
  /// The number of the row's element that a failure records.
  std::string element = "0";
  /// Checks only record in `good` whether all hold.
  bool brief = false;

  bool knows(const ir::Node& node) const { return environment_.contains(&node); }
  const ExprTexts& words(const ir::Node& node) const;
  void bind(const ir::Node& node, ExprTexts words);
  std::size_t mark() const { return log_.size(); }
  void undo(std::size_t mark);

  /// Statements for the nodes of a region that are not known and, in the outermost call, are `wanted`.
  void emit_region(const kernel::Regions& regions, int region,
                   const std::function<bool(const ir::Node&)>& wanted = {});
  /// The components of several roots, one after the other.
  ExprTexts results(const std::vector<ir::Ref>& roots) const;

 private:
  void emit(const kernel::Regions& regions, int region, const ir::Node& node);
  class PrimitiveBuilder;
  ExprTexts primitive(const ir::Node& node);
  ExprTexts read(const ir::Node& node);
  ExprTexts cond(const kernel::Regions& regions, int region, const ir::Node& node);
  ExprTexts loop(const kernel::Regions& regions, int region, const ir::Node& node);
  void side(const kernel::Regions& regions, int region, const ir::Node& result, const ExprTexts& into);
  int check_of(const ir::Node& node) const;
  void check(const ir::Node& node, const std::string& good, const std::string& value,
             const std::string& bound);

  Text& out_;
  const kernel::Kernel& kernel_;
  kernel::ComponentUse use_;
  std::unordered_map<const ir::Node*, ExprTexts> environment_;
  std::vector<std::pair<const ir::Node*, ExprTexts>> log_;
  std::unordered_map<const ir::Node*, ArrayText> arrays_;
  std::unordered_map<const ir::Node*, int> checks_;
  int names_ = 0;
  std::string name(const ir::Node& node);
};

}  // namespace anabranch::cuda
