#include "timeline/writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/base/file.h"
#include "io/base/path_claim.h"

namespace anabranch::timeline {

namespace {

constexpr std::int64_t buffer_bytes = 256 << 10;

}  // namespace

Writer::Writer(const std::string& path, std::int64_t origin_ns)
    : origin_ns_(origin_ns),
      claim_(std::make_unique<io::detail::PathClaim>(path)),
      file_(std::make_unique<io::detail::AtomicFile>(path)),
      out_(std::make_unique<io::detail::BufferedWriter>(file_->file(), 0, buffer_bytes)) {}
Writer::~Writer() = default;

/// Microseconds, as the format wants them, with all digits.
std::string Writer::since_origin(std::int64_t ns) const {
  const std::int64_t since = std::max<std::int64_t>(ns - origin_ns_, 0);
  return fmt::format("{}.{:03}", since / 1000, since % 1000);
}

void Writer::event(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!file_ || end_ >= 0) return;
  const std::string line = (first_ ? "{\"traceEvents\":[\n" : ",\n") + text;
  first_ = false;
  try {
    out_->append(line.data(), static_cast<std::int64_t>(line.size()));
  } catch (...) {
    failure_ = std::current_exception();
    out_.reset();
    file_.reset();
  }
}

void Writer::check() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void Writer::metadata(Row row, const char* what, const Arguments& arguments) {
  event(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{{}}}}})", row.group, row.number,
                    what, arguments.text()));
}

void Writer::name_group(int group, std::string_view name) {
  metadata({group, 0}, "process_name", Arguments().add("name", name));
  metadata({group, 0}, "process_sort_index", Arguments().add("sort_index", std::int64_t{group}));
}

void Writer::name_row(Row row, std::string_view name) {
  {
    const std::lock_guard lock(mutex_);
    if (!named_.emplace(row.group, row.number).second) return;
  }
  metadata(row, "thread_name", Arguments().add("name", name));
  metadata(row, "thread_sort_index", Arguments().add("sort_index", std::int64_t{row.number}));
}

void Writer::span(Row row, std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
                  const Arguments& arguments) {
  event(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"args":{{{}}}}})", row.group,
                    row.number, since_origin(begin_ns),
                    since_origin(origin_ns_ + std::max<std::int64_t>(end_ns - begin_ns, 0)),
                    json_string(name), arguments.text()));
}

void Writer::counter(int group, std::string_view name, std::int64_t at_ns, std::int64_t value) {
  event(fmt::format(R"({{"ph":"C","pid":{},"tid":0,"ts":{},"name":{},"args":{{"value":{}}}}})", group,
                    since_origin(at_ns), json_string(name), value));
}

void Writer::complete() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (!file_ || end_ >= 0) return;
  const std::string end =
      std::string(first_ ? "{\"traceEvents\":[" : "") + "\n],\"displayTimeUnit\":\"ms\"}\n";
  const std::int64_t events = out_->position();
  try {
    out_->append(end.data(), static_cast<std::int64_t>(end.size()));
    out_->flush();
    file_->file()->sync();
  } catch (...) {  // told once
    out_.reset();
    file_.reset();
    throw;
  }
  end_ = events;
}

void Writer::reopen() {
  const std::lock_guard lock(mutex_);
  if (!file_ || end_ < 0) return;
  out_ = std::make_unique<io::detail::BufferedWriter>(file_->file(), end_, buffer_bytes);
  end_ = -1;
}

void Writer::finish() {
  complete();
  const std::lock_guard lock(mutex_);
  const auto file = std::move(file_);
  const auto claim = std::move(claim_);
  out_.reset();
  if (!file) return;
  try {
    file->commit_for_now();
  } catch (...) {
    file->undo();
    throw;
  }
}

}  // namespace anabranch::timeline
