#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

/// Chromium without a window, for looking at pages.
namespace browser_test {

/// The program; empty: there is none. $ANABRANCH_BROWSER names another one.
std::string browser();

/// What became of a page.
struct Visit {
  std::string document;              ///< as it stands when scripts have run
  std::vector<std::string> console;  ///< what the browser complained of
  nlohmann::json found;              ///< what the probe gave
};

struct Look {
  bool dark = false;
  int width = 1280;
};

/// Opens the page of this text. `probe`: a JavaScript function body, run when the page is loaded; what it returns, perhaps
/// as a promise, is `found`.
Visit visit(const std::string& page, const std::string& probe, const Look& look = {});

}  // namespace browser_test
