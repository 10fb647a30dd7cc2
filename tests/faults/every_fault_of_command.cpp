#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "cli/command.h"
#include "every_fault.h"
#include "support/catch.h"

namespace fault_test {

namespace {

using cli_test::Outcome;
using Files = std::map<std::string, std::string>;

Files files_in(const std::string& folder) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::string& bytes = files[entry.path().lexically_relative(folder)] = io_test::read_file(entry.path());
    // A timeline is another one each time, and so is a page.
    if (entry.path().extension() == ".json" && nlohmann::json::accept(bytes)) bytes = "a timeline";
    if (entry.path().extension() == ".html" && bytes.ends_with("</html>\n")) bytes = "a page";
  }
  return files;
}

int status_of(Kind kind) {
  return kind == Kind::allocation || kind == Kind::thread || kind == Kind::map ? 5 : 4;
}

/// Where the library is that makes calls fail: this program is linked with it.
std::string library_path() {
  Dl_info info{};
  REQUIRE(::dladdr(reinterpret_cast<const void*>(&faults::anabranch_faults_disarm), &info) != 0);
  return info.dli_fname;
}

/// The file of known sites, open so that a process finds it under this descriptor.
class KnownSites {
 public:
  explicit KnownSites(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600)) {
    REQUIRE(descriptor_ >= 0);
  }
  ~KnownSites() { ::close(descriptor_); }
  KnownSites(const KnownSites&) = delete;
  KnownSites& operator=(const KnownSites&) = delete;

  int descriptor() const { return descriptor_; }
  int count() const {
    return static_cast<int>(::lseek(descriptor_, 0, SEEK_END) / static_cast<off_t>(sizeof(Site)));
  }

 private:
  int descriptor_;
};

}  // namespace

int check_every_fault(Kind kind, const std::vector<std::string>& arguments, const Scope& scope) {
  const cli_test::TemporaryDirectory place;
  KnownSites sites(place / "sites");
  const auto run = [&](const std::string& folder, const std::vector<std::string>& environment) {
    std::filesystem::create_directory(folder);
    std::vector<std::string> with_folder = arguments;
    for (std::string& argument : with_folder)
      if (const auto at = argument.find('@'); at != std::string::npos) argument.replace(at, 1, folder);
    cli_test::Start start{.environment = environment};
    start.environment.push_back("TMPDIR=" + folder);
    return cli_test::command(with_folder, start);
  };
  const Outcome good = run(place / "expected", {});
  REQUIRE(good.status == 0);
  const Files expected = files_in(place / "expected");

  for (long call = 0;; call += scope.step) {
    const int before = sites.count();
    const Outcome outcome =
        run(place / "out", {"LD_PRELOAD=" + library_path(),
                            fmt::format("{}={},{},{},{},{}", faults::variable, static_cast<int>(kind),
                                        scope.step > 0 ? call : -1, static_cast<int>(scope.lasting),
                                        scope.depth, sites.descriptor())});
    const Files left = files_in(place / "out");
    std::filesystem::remove_all(place / "out");
    INFO(name_of(kind) << " " << call << ": " << outcome.err);
    if (outcome.status == 0) {
      CHECK(left == expected);
    } else {
      CHECK(outcome.status == status_of(kind));
      if (kind != Kind::write || !scope.lasting) CHECK(outcome.err.find("anabranch: ") != std::string::npos);
      for (const auto& [name, bytes] : left) {
        INFO(name);
        CHECK((expected.contains(name) && expected.at(name) == bytes));
      }
    }
    if (sites.count() == before) {
      REQUIRE(outcome.status == 0);
      return before;
    }
  }
}

}  // namespace fault_test
