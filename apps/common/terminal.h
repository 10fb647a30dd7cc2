#pragma once

#include <initializer_list>
#include <string_view>

/// What the command writes, and where: results to standard output, errors and progress to standard error.
namespace anabranch::apps {

/// Of the standard descriptors, those that are closed get something that nothing can be written to: else the
/// next file would be opened under their number, and get our messages. To be called before any file is
/// opened.
void open_standard_descriptors() noexcept;

/// Throws IoError if standard output does not take it.
void print(std::string_view text);

/// "anabranch: " and the parts of a message, a line on standard error; marked red on a terminal, unless
/// NO_COLOR is set. Standard error that does not take it is no error. Allocates nothing.
void print_error(std::initializer_list<std::string_view> message) noexcept;

/// On standard error, which need not take it.
void write_error(std::string_view text) noexcept;

/// Whether colours may be used there: it is a terminal that has some, and NO_COLOR is not set.
bool colours_on_standard_error() noexcept;

}  // namespace anabranch::apps
