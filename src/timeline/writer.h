#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "timeline/json.h"

/// Writes what happened when as Chrome trace events: a JSON file that Perfetto (ui.perfetto.dev) and
/// chrome://tracing show. It knows rows, spans and numbers over time, and nothing of what they mean.
namespace anabranch::io::detail {
class AtomicFile;
class BufferedWriter;
class PathClaim;
}  // namespace anabranch::io::detail

namespace anabranch::timeline {

/// Values that an event carries, by name.
using Arguments = Members;

/// Where spans are drawn: one below the other in the order of their numbers, in groups (which the viewers
/// call processes) in the order of theirs.
struct Row {
  int group = 0, number = 0;
};

/// Events go to the file as they come, through a buffer of fixed size. The file appears under its name when
/// it is finished, whole, as all output files do.
///
/// Thread-safe. Where the file cannot be written, `check`, `complete` and `finish` say so with an IoError that
/// names it; events after that, or after `complete`, go nowhere.
class Writer {
 public:
  /// Times are in ns of one clock, of which the file shows the distance from `origin_ns`. Throws IoError
  /// where the file cannot be created, RunError where another writer of the process has it.
  Writer(const std::string& path, std::int64_t origin_ns);
  ~Writer();

  void name_group(int group, std::string_view name);
  /// Does nothing if the row has a name already.
  void name_row(Row row, std::string_view name);
  /// Spans of one row are disjoint or nested.
  void span(Row row, std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
            const Arguments& arguments = {});
  /// A number over time, with a row of its own.
  void counter(int group, std::string_view name, std::int64_t at_ns, std::int64_t value);
  void check();
  /// The file is whole, and on the disk, but not yet in place: what may fail has been done then.
  void complete();
  /// A complete file that is not in place takes events again.
  void reopen();
  /// Puts it in place, or throws and has not; completes it before unless that has been done.
  void finish();

 private:
  void event(const std::string& text);
  void metadata(Row row, const char* what, const Arguments& arguments);
  std::string since_origin(std::int64_t ns) const;

  const std::int64_t origin_ns_;
  std::mutex mutex_;
  std::set<std::pair<int, int>> named_;
  std::unique_ptr<io::detail::PathClaim> claim_;
  std::unique_ptr<io::detail::AtomicFile> file_;  ///< null: in place, or failed
  std::unique_ptr<io::detail::BufferedWriter> out_;
  std::int64_t end_ = -1;  ///< of the events, where the file is complete
  bool first_ = true;
  std::exception_ptr failure_;
};

}  // namespace anabranch::timeline
