#include "timeline/writer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "io/file.h"

namespace anabranch::timeline {

namespace {

constexpr std::int64_t buffer_bytes = 256 << 10;

/// Length of the UTF-8 sequence at the start of `text`; 0: there is none. Neither overlong forms, nor
/// surrogates, nor what is beyond U+10FFFF.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
  const auto follows = [&](std::size_t i, unsigned least = 0x80, unsigned most = 0xbf) {
    return byte(i) >= least && byte(i) <= most;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef)
    return follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && follows(2) ? 3 : 0;
  if (first >= 0xf0 && first <= 0xf4)
    return follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && follows(2) && follows(3)
               ? 4
               : 0;
  return 0;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0)
      out += "\\ufffd";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + '"';
}

// ---- Arguments

Arguments& Arguments::add_json(std::string_view name, const std::string& value) {
  text_ += fmt::format("{}{}:{}", text_.empty() ? "" : ",", json_string(name), value);
  return *this;
}
Arguments& Arguments::add(std::string_view name, std::int64_t value) {
  return add_json(name, std::to_string(value));
}
Arguments& Arguments::add(std::string_view name, double value) {
  return add_json(name, std::isfinite(value) ? fmt::format("{}", value) : "null");
}
Arguments& Arguments::add(std::string_view name, std::string_view value) {
  return add_json(name, json_string(value));
}

// ---- Writer

Writer::Writer(const std::string& path, std::int64_t origin_ns)
    : origin_ns_(origin_ns),
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
  if (!file_) return;
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

void Writer::finish() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (!file_) return;
  const std::string end =
      std::string(first_ ? "{\"traceEvents\":[" : "") + "\n],\"displayTimeUnit\":\"ms\"}\n";
  // Finished, even if what follows throws.
  const auto file = std::move(file_);
  const auto out = std::move(out_);
  out->append(end.data(), static_cast<std::int64_t>(end.size()));
  out->flush();
  file->commit();
}

}  // namespace anabranch::timeline
