#include "apps/md5/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/common/json_output.h"
#include "apps/common/quantities.h"
#include "apps/common/run_summary.h"
#include "apps/md5/digests.h"

namespace anabranch::apps {

namespace {

std::string hex_of_bytes(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

nlohmann::ordered_json found_as_json(const std::vector<FoundWord>& found) {
  auto out = nlohmann::ordered_json::array();
  // What is no UTF-8 is told exactly by its bytes.
  for (const FoundWord& f : found)
    out.push_back({{"digest", f.digest}, {"word", f.word}, {"bytes", hex_of_bytes(f.word)}});
  return out;
}

RunSummary summary_of(const Md5Report& r) {
  return {r.options.run, r.runs, r.memory, "word", r.open_seconds, r.total_seconds};
}

/// What carries no checksum: all files.
std::vector<std::string> unchecked(const Md5Report& r) {
  std::vector<std::string> files = r.options.lists;
  if (!is_digest(r.options.digests)) files.insert(files.begin(), r.options.digests);
  return files;
}

}  // namespace

double Md5Report::stream_seconds() const {
  const RunReport& run = runs.last;
  if (!run.stages.empty()) return run.stages[0].seconds;
  return run.seconds - run.compile_seconds;
}

std::string to_json(const Md5Report& r) {
  const RunSummary run = summary_of(r);
  nlohmann::ordered_json out;
  out["digests"] = {{"given", r.digests_given}, {"distinct", r.digests_distinct}, {"found", r.digests_found}};
  out["found"] = found_as_json(r.found);
  out["lists"] = r.options.lists;
  out["rules"] = nlohmann::ordered_json::array();
  for (const NamedRule& rule : r.options.rules)
    out["rules"].push_back({{"name", rule.name}, {"candidates", rule.rule.count}});
  out["words"] = r.words;
  out["too_long"] = r.too_long;
  out["candidates"] = r.candidates;
  out["candidates_per_word"] = r.candidates_per_word();
  out["stopped_early"] = r.stopped_early;
  add_run(out, run);
  out["seconds"]["run"] = r.stream_seconds();
  out["words_per_second"] = per_second(r.words, r.stream_seconds());
  out["candidates_per_second"] = per_second(r.candidates, r.stream_seconds());
  add_files_and_stages(out, run, unchecked(r), "");
  return dump(out);
}

std::string to_text(const Md5Report& r) {
  const RunSummary run = summary_of(r);
  std::string out =
      report_line("Digests", fmt::format("{} of {} found{}", r.digests_found, r.digests_distinct,
                                         r.digests_given > r.digests_distinct
                                             ? fmt::format(" ({} given)", r.digests_given)
                                             : "")) +
      report_line("Words",
                  fmt::format("{}{}{}", r.words, r.stopped_early ? ", then all digests were found" : "",
                              r.too_long > 0 ? fmt::format("; {} longer than {} bytes: not tried", r.too_long,
                                                           longest_word)
                                             : "")) +
      report_line("Rules", fmt::format("{} a word, {} hashed", counted(r.candidates_per_word(), "candidate"),
                                       r.candidates)) +
      run_lines(run);
  out += report_line("Speed", rate_text(per_second(r.words, r.stream_seconds()), "word") + ", " +
                                  rate_text(per_second(r.candidates, r.stream_seconds()), "candidate"));
  return out + memory_and_file_lines(run, unchecked(r), "", nullptr);
}

}  // namespace anabranch::apps
