#pragma once

#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>

#include <anabranch/export.h>
#include <anabranch/symbol.h>

/// Everything Anabranch throws. Each type answers one question: whose turn is it to act?
/// The command maps them to exit codes (docs/command.md, "Exit codes").
namespace anabranch {

/// A place in the user's program, or nowhere (`line == 0`).
struct Place {
  Symbol file;
  Symbol function;
  std::uint32_t line = 0;

  constexpr Place() = default;
  constexpr Place(const std::source_location& at)  // NOLINT: implicit, so that a defaulted location converts
      : file(Symbol::of_static(at.file_name())),
        function(Symbol::of_static(at.function_name())),
        line(at.line()) {}
  /// For a program that another language than C++ writes down: Place(Symbol(file), Symbol(function), 12).
  constexpr Place(Symbol file_name, Symbol function_name, std::uint32_t line_number)
      : file(file_name), function(function_name), line(line_number) {}
  constexpr bool known() const { return line != 0; }
};

/// "smvm.cpp:12" (the file's base name), or "unknown place".
ANABRANCH_API std::string to_string(const Place& place);

/// Base of all of them. The message says everything; what programs ask for is there apart from it, too.
class ANABRANCH_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, const Place& at = {})
      : std::runtime_error(message), place_(at) {}
  ~Error() override;

  /// The line of the program whose operation it is of: `place().known()` where it is of one.
  const Place& place() const noexcept { return place_; }

 private:
  Place place_;
};

/// The program is not well formed: found while it is being built or compiled.
class ANABRANCH_API ProgramError : public Error {
 public:
  using Error::Error;
  ~ProgramError() override;
};

/// The program met values it has no meaning for: extents that disagree, an index out of range, an integer
/// division by zero, an empty minimum. The message names the operation, the numbers and the user's line.
class ANABRANCH_API RunError : public Error {
 public:
  using Error::Error;
  RunError(const std::string& message, const Place& at, std::int64_t item)
      : Error(message, at), item_(item) {}
  ~RunError() override;

  /// The item of the stream in which it happened, from 0; below 0 where it is of none.
  std::int64_t item() const noexcept { return item_; }

 private:
  std::int64_t item_ = -1;
};

/// An input file is malformed. The message names file, position and reason.
class ANABRANCH_API DataError : public Error {
 public:
  using Error::Error;
  ~DataError() override;
};

/// The operating system refused: open, read, write, no space.
class ANABRANCH_API IoError : public Error {
 public:
  using Error::Error;
  ~IoError() override;
};

/// The memory bound, or the system's memory or threads, do not suffice. Names for what, and how much it
/// needs.
class ANABRANCH_API ResourceError : public Error {
 public:
  using Error::Error;
  ~ResourceError() override;
};

/// The requested back end cannot run here.
class ANABRANCH_API BackendUnavailable : public Error {
 public:
  using Error::Error;
  ~BackendUnavailable() override;
};

/// The run was stopped through its std::stop_token.
class ANABRANCH_API Cancelled : public Error {
 public:
  using Error::Error;
  ~Cancelled() override;
};

/// A broken invariant of Anabranch itself. Please report it.
class ANABRANCH_API InternalError : public Error {
 public:
  using Error::Error;
  ~InternalError() override;
};

}  // namespace anabranch
