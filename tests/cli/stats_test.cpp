#include "support/catch.h"

#include <set>

#include "command.h"

using namespace cli_test;
using Json = nlohmann::json;

// The schema of stages, as docs/command.md has it: which members there are, and of what kind.
namespace {

struct Matrix {
  TemporaryDirectory dir;
  std::string path = dir / "m.npz";
  Matrix() { io_test::write_file(path, io_test::npz(io_test::members(io_test::sample(1000)))); }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

enum class Kind { number, flag, text, list, object, any };
using Members = std::vector<std::pair<const char*, Kind>>;

void check_members(const Json& object, const Members& members, const char* what) {
  INFO(what << ": " << object.dump().substr(0, 300));
  REQUIRE(object.is_object());
  std::set<std::string> expected, found;
  for (const auto& [name, kind] : members) {
    expected.insert(name);
    if (!object.contains(name)) continue;
    const Json& value = object[name];
    INFO(name);
    switch (kind) {
      case Kind::number:
        CHECK(value.is_number());
        break;
      case Kind::flag:
        CHECK(value.is_boolean());
        break;
      case Kind::text:
        CHECK(value.is_string());
        break;
      case Kind::list:
        CHECK(value.is_array());
        break;
      case Kind::object:
        CHECK(value.is_object());
        break;
      case Kind::any:
        break;
    }
  }
  for (const auto& [name, value] : object.items()) found.insert(name);
  CHECK(found == expected);
}

const Members of_stage{
    {"name", Kind::text},          {"place", Kind::text},         {"source", Kind::text},
    {"scheduler", Kind::text},     {"in_pieces", Kind::flag},     {"runs", Kind::number},
    {"total_items", Kind::number}, {"total_work", Kind::number},  {"items", Kind::number},
    {"work", Kind::number},        {"bytes", Kind::number},       {"chunks", Kind::number},
    {"chunk_items", Kind::object}, {"chunk_work", Kind::object},  {"chunk_bytes", Kind::object},
    {"seconds", Kind::object},     {"utilisation", Kind::number}, {"ring", Kind::object},
    {"cut", Kind::number},         {"gpu_chunks", Kind::number},  {"peak_bytes", Kind::number},
    {"reasons", Kind::list},       {"decisions", Kind::list}};

const std::vector<const char*> of_records{
    "number",        "items",       "work",      "bytes",        "items_so_far",     "work_so_far",
    "bytes_so_far",  "begin",       "end",       "read_seconds", "wait_seconds",     "compute_seconds",
    "write_seconds", "utilisation", "in_flight", "memory_bytes", "gpu_memory_bytes", "resident_bytes",
    "decision"};

void check_stage(const Json& stage, bool with_records) {
  Members members = of_stage;
  if (with_records) members.emplace_back("records", Kind::object);
  check_members(stage, members, "a stage");
  for (const char* spread : {"chunk_items", "chunk_work", "chunk_bytes"})
    check_members(stage[spread], {{"min", Kind::number}, {"median", Kind::number}, {"max", Kind::number}},
                  spread);
  check_members(stage["seconds"],
                {{"wall", Kind::number},
                 {"read", Kind::number},
                 {"wait", Kind::number},
                 {"compute", Kind::number},
                 {"write", Kind::number}},
                "seconds");
  check_members(stage["ring"], {{"slots", Kind::number}, {"mean", Kind::number}, {"max", Kind::number}},
                "ring");
  REQUIRE(!stage["decisions"].empty());
  for (const Json& d : stage["decisions"])
    check_members(d,
                  {{"first", Kind::number},
                   {"last", Kind::number},
                   {"items", Kind::any},
                   {"work", Kind::any},
                   {"bytes", Kind::any},
                   {"ring", Kind::number},
                   {"reason", Kind::text},
                   {"fixed_seconds", Kind::number},
                   {"seconds_per_work", Kind::number},
                   {"text", Kind::text}},
                  "a decision");
  for (const Json& r : stage["reasons"])
    check_members(r, {{"reason", Kind::text}, {"meaning", Kind::text}, {"chunks", Kind::number}}, "a reason");
  if (!with_records) return;
  Members columns;
  for (const char* name : of_records) columns.emplace_back(name, Kind::list);
  check_members(stage["records"], columns, "records");
  for (const auto& [name, column] : stage["records"].items()) CHECK(column.size() == stage["chunks"]);
}

}  // namespace

TEST_CASE("stats: the stages in --json") {
  const Matrix m;
  for (const char* scheduler : {"adaptive", "paper", "fixed:100"}) {
    const Outcome o = command({"smvm", m.path, "--memory", "8M", "--scheduler", scheduler, "--json"});
    REQUIRE(o.status == 0);
    const Json report = o.json();
    REQUIRE(report["stages"].size() == 1);
    check_stage(report["stages"][0], false);
    CHECK(report["stages"][0]["items"] == 1000);
    CHECK(report["stages"][0]["chunks"] == report["chunks"]);
    CHECK(report["stages"][0]["chunk_items"] == report["chunk_items"]);
    CHECK(report["stages"][0]["source"] == m.path);
    CHECK(report["stages"][0]["scheduler"] == scheduler);
  }
  const Json with_chunks = command({"smvm", m.path, "--scheduler", "fixed:10", "--json", "--stats"}).json();
  check_stage(with_chunks["stages"][0], true);
  const auto& items = with_chunks["stages"][0]["records"]["items"];
  CHECK(items == Json(std::vector<int>(100, 10)));
}

TEST_CASE("stats: names of files that are no UTF-8 stay readable JSON") {
  const Matrix m;
  const std::string odd = m.dir /
                          "gr\xf6\xdf"
                          "e.npz";
  std::filesystem::copy(m.path, odd);
  const Outcome o = command({"smvm", odd, "--json", "--stats"});
  REQUIRE(o.status == 0);
  CHECK(has(o.json()["stages"][0]["source"].get<std::string>(),
            "gr\xef\xbf\xbd\xef\xbf\xbd"
            "e.npz"));
}

TEST_CASE("stats: as text, for a person") {
  const Matrix m;
  const Outcome o = command({"smvm", m.path, "--threads", "2", "--scheduler", "fixed:300", "--stats"});
  REQUIRE(o.status == 0);
  for (const char* part :
       {"\nThe last run\n", "Run       cpu, 2 threads: ", "Stream 0  stream_in (command.cpp:",
        "passed  1000 items, ", " in 4 chunks", "reading ", "computing waited",
        "100 to 300 items (median 300)", "of their time computing", "read or computed at once on average",
        "4 chunks: fixed", "0-3         at most 300 items"})
    CHECK(has(o.out, part));
  CHECK(!has(command({"smvm", m.path}).out, "The last run"));
}

TEST_CASE("stats: the interpreter has no stages") {
  const Matrix m;
  const Outcome o = command({"smvm", m.path, "--backend", "interpreter", "--json", "--stats"});
  REQUIRE(o.status == 0);
  CHECK(o.json()["stages"] == Json::array());
}
