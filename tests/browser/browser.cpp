#include "browser.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "io/matrix_files.h"

namespace browser_test {

namespace {

std::string read_all(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Its result goes into the document, from where --dump-dom brings it here. JSON text has no "</".
std::string with_probe(const std::string& page, const std::string& probe) {
  const std::size_t end = page.rfind("</body>");
  if (end == std::string::npos) throw std::runtime_error("a page without an end");
  const std::string script =
      "<script>(async () => { " + probe +
      " })().then(found => ({found}), error => ({error: String(error)})).then(result => {"
      "const out = document.createElement('script'); out.type = 'application/json'; out.id = 'found';"
      "out.textContent = JSON.stringify(result).replaceAll('<', '\\\\u003c'); document.body.append(out); "
      "});</script>";
  return page.substr(0, end) + script + page.substr(end);
}

/// Tests without one are none: CTest takes this line for a skip.
[[maybe_unused]] const int none = [] {
  if (browser().empty()) {
    std::puts(
        "skipped: no browser: neither chromium nor google-chrome is in the path, nor does ANABRANCH_BROWSER "
        "name one");
    std::exit(0);
  }
  return 0;
}();

}  // namespace

std::string browser() {
  std::vector<std::string> names{"chromium", "chromium-browser", "google-chrome"};
  if (const char* named = std::getenv("ANABRANCH_BROWSER")) names = {named};
  const char* path = std::getenv("PATH");
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos && ::access(name.c_str(), X_OK) == 0) return name;
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
      if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  }
  return {};
}

Visit visit(const std::string& page, const std::string& probe, const Look& look) {
  const io_test::TemporaryDirectory dir;
  std::ofstream(dir / "page.html", std::ios::binary) << with_probe(page, probe);
  // The root of a container has no other sandbox; the page is ours. Time that scripts wait for does not pass really.
  const std::string command =
      browser() +
      " --headless=new --no-sandbox --disable-gpu --no-first-run --disable-extensions --hide-scrollbars" +
      " --user-data-dir=" + dir / "profile" + " --enable-logging=stderr --virtual-time-budget=20000" +
      " --window-size=" + std::to_string(look.width) + ",2000" +
      " --blink-settings=preferredColorScheme=" + (look.dark ? "0" : "1") + " --dump-dom 'file://" +
      dir / "page.html" + "' >" + dir / "dom" + " 2>" + dir / "log";
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error("the browser failed:\n" + read_all(dir / "log"));
  Visit visit;
  visit.document = read_all(dir / "dom");
  std::ifstream log(dir / "log");
  for (std::string line; std::getline(log, line);)
    if (line.find("CONSOLE") != std::string::npos) visit.console.push_back(line);
  const std::string begin = "<script type=\"application/json\" id=\"found\">";
  const std::size_t from = visit.document.rfind(begin);
  if (from == std::string::npos)
    throw std::runtime_error("the probe has not run:\n" + visit.document.substr(0, 2000));
  const std::size_t to = visit.document.find("</script>", from);
  const auto result =
      nlohmann::json::parse(visit.document.substr(from + begin.size(), to - from - begin.size()));
  if (result.contains("error"))
    throw std::runtime_error("the probe failed: " + result["error"].get<std::string>());
  visit.found = result.value("found", nlohmann::json());
  return visit;
}

}  // namespace browser_test
