#include "page/page.h"

#include <algorithm>

#include <anabranch/error.h>
#include <anabranch/run_report.h>

#include "io/base/file.h"
#include "io/base/path_claim.h"
#include "page/assets.h"

namespace anabranch {

bool html_reports_available() { return page::available(); }

namespace page {

bool available() { return has_assets; }

namespace {

/// In a script element no text may look like the element's end.
std::string json_in_html(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json)
    if (c == '<')  // only in strings
      out += "\\u003c";
    else
      out += c;
  return out;
}

std::string text_in_html(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  return out;
}

/// Where it is served as a file of its own, the library tells where its sources are; a page loads nothing.
std::string_view without_source_map(std::string_view text) {
  for (const std::string_view begin : {"\n//# sourceMappingURL=", "/*# sourceMappingURL="})
    text = text.substr(0, text.rfind(begin));
  return text;
}

std::string part(std::string_view name, std::string_view data) {
  if (name == "data") return json_in_html(data);
  if (name == "dygraph.licence") return text_in_html(asset(name));
  if (name == "dygraph.js" || name == "dygraph.css") return std::string(without_source_map(asset(name)));
  return std::string(asset(name));
}

}  // namespace

std::string page_of(std::string_view data) {
  std::string out;
  std::string_view rest = asset("page.html");
  for (std::size_t open = 0; (open = rest.find("{{")) != std::string_view::npos;) {
    const std::size_t close = rest.find("}}", open);
    out += rest.substr(0, open);
    out += part(rest.substr(open + 2, close - open - 2), data);
    rest.remove_prefix(close + 2);
  }
  return out += rest;
}

Page::Page(const std::string& path) : path_(path) {
  if (!available())
    throw ProgramError(
        "RunOptions: report: this build of the library has no HTML reports (it was configured with "
        "ANABRANCH_REPORTS=OFF)");
  claim_ = std::make_unique<io::detail::PathClaim>(path);
  file_ = std::make_unique<io::detail::AtomicFile>(path);
}
Page::~Page() = default;

void Page::write(std::string_view data) {
  const std::string text = page_of(data);
  if (written_) file_ = std::make_unique<io::detail::AtomicFile>(path_);
  written_ = true;
  io::detail::BufferedWriter out(file_->file());
  out.append(text.data(), static_cast<std::int64_t>(text.size()));
  out.flush();
  file_->complete();
}

void Page::commit() { file_->commit_for_now(); }
void Page::undo() noexcept { file_->undo(); }

}  // namespace page
}  // namespace anabranch
