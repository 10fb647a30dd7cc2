#pragma once

#include <memory>
#include <string>
#include <string_view>

/// The report of a run as one HTML page: data, script, style and the plotting library (dygraphs, embedded when the library
/// is built) in one file that loads nothing. What the page shows is what its data say; page.js draws it.
namespace anabranch::io::detail {
class AtomicFile;
class PathClaim;
}  // namespace anabranch::io::detail

namespace anabranch::page {

/// False: built without the plotting library.
bool available();

/// A page that is to be written. Like all output files it appears whole.
class Page {
 public:
  /// IoError where the file cannot be made, RunError where another writer of the process has it, ProgramError where pages
  /// are not available.
  explicit Page(const std::string& path);
  ~Page();
  /// `data`: one JSON object. The file is whole, and on the disk, but not yet in place. Throws IoError. What an earlier call
  /// wrote is dropped.
  void write(std::string_view data);
  /// Puts what has been written in place. Throws IoError.
  void commit();
  /// Takes back what `commit` did.
  void undo() noexcept;

 private:
  std::string path_;
  std::unique_ptr<io::detail::PathClaim> claim_;
  std::unique_ptr<io::detail::AtomicFile> file_;
  bool written_ = false;
};

/// The text of a page.
std::string page_of(std::string_view data);

}  // namespace anabranch::page
