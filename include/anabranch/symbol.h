#pragma once

#include <cstddef>
#include <string_view>

#include <anabranch/export.h>

/// Names that outlive every program: of files, functions and operations, as nodes and errors carry them.
namespace anabranch {

/// A text that lives as long as the process, so that it is copied as a pointer. In C++ it is a literal or
/// comes from std::source_location, and costs nothing; a front end of another language, which makes its names
/// while it runs, has them interned.
class Symbol {
 public:
  constexpr Symbol() = default;
  /// A literal.
  consteval Symbol(const char* literal) : text_(literal) {}  // NOLINT: implicit, as literals are names
  Symbol(std::nullptr_t) = delete;
  /// Any text up to its first NUL. Equal texts are kept once, for ever. May be called by several threads.
  ANABRANCH_API explicit Symbol(std::string_view text);
  /// A text that the caller knows to live as long as the process.
  static constexpr Symbol of_static(const char* text) {
    Symbol symbol;
    symbol.text_ = text;
    return symbol;
  }

  constexpr const char* c_str() const { return text_; }
  constexpr std::string_view view() const { return text_; }
  /// Not empty.
  constexpr explicit operator bool() const { return *text_ != '\0'; }
  friend constexpr bool operator==(Symbol a, Symbol b) { return a.view() == b.view(); }

 private:
  const char* text_ = "";
};

}  // namespace anabranch
