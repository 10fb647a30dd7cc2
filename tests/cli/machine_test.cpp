#include "support/catch.h"

#include "command.h"

using namespace cli_test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("explain: the forms, one kernel, bytes per item") {
  const Outcome o = command({"explain", "smvm"});
  REQUIRE(o.status == 0);
  CHECK(o.err.empty());
  for (const char* part :
       {"unzip", "gather", "zip_with", "fold", "segmented", "avoided", "does not depend on the item",
        "fused into kernel 1", "program.cpp:", "estimated bytes per item"})
    CHECK(has(o.out, part));
  CHECK(count(o.out, "\nkernel ") == 1);

  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "banded", "--size", "100", "--points", "3", "--value", "float", "--index",
                   "int64", "--out", dir / "m.npz"})
              .status == 0);
  const Outcome own = command({"explain", "smvm", dir / "m.npz"});
  REQUIRE(own.status == 0);
  CHECK(has(own.out, "m.npz, int64 columns and float values"));
  CHECK(has(own.out,
            "3.0 entries on average: 44 streamed (8 a column, 4 a value, 8 an offset), 12 gathered from x, 4 "
            "written"));
  CHECK(command({"explain", "smvm", dir / "none.npz"}).status == 4);
}

TEST_CASE("explain: as JSON and as a graph") {
  const Outcome o = command({"explain", "smvm", "--json"});
  REQUIRE(o.status == 0);
  CHECK(o.err.empty());
  const nlohmann::json report = o.json();
  REQUIRE(report.at("kernels").size() == 1);
  CHECK(report.at("kernels")[0].at("fused").size() == 4);
  CHECK(report.at("kernels")[0].at("reads")[1].at("access") == "gathered");
  CHECK(report.at("matrix").at("index") == "int32");
  CHECK(report.at("bytes_per_item").at("written") == 8);
  CHECK(report.at("bytes_per_item").at("streamed") == Approx(5.0 / 3 * 12 + 4));
  const Outcome graph = command({"explain", "smvm", "--dot"});
  REQUIRE(graph.status == 0);
  CHECK(graph.out.starts_with("digraph program {"));
  CHECK(has(graph.out, "gathered, checked"));
  CHECK(command({"explain", "smvm", "--dot", "--json"}).status == 2);
  // What the commands explain is a text.
  for (const char* which : {"smvm", "pagerank", "md5", "audio"}) {
    INFO(which);
    const Outcome refused = command({which, "a", "b", "--explain", "--json"});
    CHECK(refused.status == 2);
    CHECK(has(refused.err, "--explain"));
  }
}

TEST_CASE("doctor: the machine in a few lines") {
  const Outcome o = command({"doctor"});
  REQUIRE(o.status == 0);
  CHECK(o.err.empty());
  for (const char* part :
       {"processor", "SIMD", "-bit vectors", "threads", "CPU quota", "memory", "limit of the control group",
        "back end cpu    available", "libanabranch-llvm.so", "kernel cache", "GPU             "})
    CHECK(has(o.out, part));
  // With a GPU: what it is; without: what is missing.
  CHECK((has(o.out, "GPU             none: ") || has(o.out, "GPU software    driver for CUDA ")));
}

TEST_CASE(
    "without its code generator: exit code 6 and why, no silent fallback; the interpreter still works") {
  if (sanitized) return;  // their runtime insists on being loaded first
  const TemporaryDirectory dir;
  const std::filesystem::path library =
      std::filesystem::path(command_path()).parent_path() / "../lib/libanabranch.so.0.1";
  if (!std::filesystem::exists(library)) FAIL("no library beside the command");
  std::filesystem::copy_file(library, dir / "libanabranch.so.0.1");
  const Start alone{.environment = {"LD_PRELOAD=" + dir / "libanabranch.so.0.1"}};
  io_test::write_file(dir / "m.npz", io_test::npz(io_test::members(io_test::sample(100))));

  const Outcome doctor = command({"doctor"}, alone);
  CHECK(doctor.status == 6);
  CHECK(has(doctor.out, "back end cpu    not available: cpu: cannot open the code generator"));
  for (const char* backend : {"cpu", ""}) {
    std::vector<std::string> arguments{"smvm", dir / "m.npz", "--out", dir / "y.npy"};
    if (*backend) arguments.insert(arguments.end(), {"--backend", backend});
    const Outcome o = command(arguments, alone);
    CHECK(o.status == 6);
    CHECK(has(o.err, "libanabranch-llvm.so"));
    CHECK(dir.files() == 2);
  }
  CHECK(command({"smvm", dir / "m.npz", "--backend", "interpreter"}, alone).status == 0);
}
