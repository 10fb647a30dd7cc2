#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

/// A report of a run as a page: its text, and the data in it.
namespace anabranch::testing {

struct PageFile {
  std::string text;
  nlohmann::json data;

  /// Throws where it is no such page.
  explicit PageFile(const std::string& path) {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    text = all.str();
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t from = text.find(begin);
    if (from == std::string::npos) throw std::runtime_error(path + ": no page with data");
    const std::size_t to = text.find("</script>", from);
    data = nlohmann::json::parse(text.substr(from + begin.size(), to - from - begin.size()));
  }
};

}  // namespace anabranch::testing
