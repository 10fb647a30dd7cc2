#include "apps/md5/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/common/byte_size.h"

namespace anabranch::apps {

namespace {

double per_second(std::int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

const char* plural(std::int64_t count) { return count == 1 ? "" : "s"; }

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

}  // namespace

double Md5Report::stream_seconds() const {
  if (!run.stages.empty()) return run.stages[0].seconds;
  return run.seconds - run.compile_seconds - run.front_seconds;
}

std::string to_json(const Md5Report& r) {
  const RunChoice& choice = r.options.run;
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
  out["backend"] = r.run.backend;
  if (!r.run.backend_reason.empty()) out["backend_reason"] = r.run.backend_reason;
  out["threads"] = r.run.threads;
  out["scheduler"] = nullptr;
  out["memory"] = nullptr;
  out["peak_bytes"] = nullptr;
  out["peak_resident_bytes"] = r.run.peak_resident_bytes;
  out["chunks"] = nullptr;
  out["utilisation"] = nullptr;
  out["seconds"] = {{"total", r.total_seconds},     {"open", r.open_seconds},    {"front", r.front_seconds},
                    {"compile", r.compile_seconds}, {"run", r.stream_seconds()}, {"read", nullptr},
                    {"compute", nullptr},           {"write", nullptr}};
  if (choice.chunks()) {
    out["scheduler"] = choice.scheduler;
    out["memory"] = r.memory;
    out["peak_bytes"] = r.peak_bytes;
    out["chunks"] = r.run.chunks;
    out["utilisation"] = r.run.utilisation;
    out["seconds"]["read"] = r.run.read_seconds;
    out["seconds"]["compute"] = r.run.compute_seconds;
    out["seconds"]["write"] = r.run.write_seconds;
  }
  out["kernels"] = {{"compiled", r.kernels_compiled}, {"from_disk", r.kernels_from_disk}};
  out["words_per_second"] = per_second(r.words, r.stream_seconds());
  out["candidates_per_second"] = per_second(r.candidates, r.stream_seconds());
  out["repeats"] = r.repeats;
  if (!choice.trace.empty()) out["trace"] = choice.trace;
  if (!choice.report.empty()) out["report"] = choice.report;
  out["stages"] = nlohmann::ordered_json::parse(to_json(r.run, choice.stats))["stages"];
  // File names and words are bytes; JSON is UTF-8.
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string to_text(const Md5Report& r) {
  const RunChoice& choice = r.options.run;
  std::string out;
  const auto line = [&](const char* label, const std::string& text) {
    out += fmt::format("{:<9} {}\n", label, text);
  };
  line("Digests",
       fmt::format("{} of {} found{}", r.digests_found, r.digests_distinct,
                   r.digests_given > r.digests_distinct ? fmt::format(" ({} given)", r.digests_given) : ""));
  line("Words", fmt::format("{}{}{}", r.words, r.stopped_early ? ", then all digests were found" : "",
                            r.too_long > 0 ? fmt::format("; {} longer than {} bytes: not tried", r.too_long,
                                                         longest_word)
                                           : ""));
  line("Rules", fmt::format("{} candidate{} a word, {} hashed", r.candidates_per_word(),
                            plural(r.candidates_per_word()), r.candidates));
  line("Run", fmt::format("back end {}, {} thread{}{}", r.run.backend, r.run.threads, plural(r.run.threads),
                          choice.chunks() ? ", scheduler " + choice.scheduler : ""));
  if (!r.run.backend_reason.empty()) line("", "chosen because " + r.run.backend_reason);
  line("Time", fmt::format("{:.3f} s in all: opening {:.3f} s, compiling {:.3f} s{}, words {:.3f} s",
                           r.total_seconds, r.open_seconds, r.front_seconds + r.compile_seconds,
                           r.kernels_from_disk > 0 ? " (kernels from the cache)" : "", r.stream_seconds()));
  line("Speed", fmt::format("{:.1f} million words/s, {:.1f} million candidates/s",
                            per_second(r.words, r.stream_seconds()) * 1e-6,
                            per_second(r.candidates, r.stream_seconds()) * 1e-6));
  line("Memory", fmt::format("{}process at its peak {}",
                             choice.chunks() ? fmt::format("bound {}, held at most {}, ",
                                                           binary_bytes(r.memory), binary_bytes(r.peak_bytes))
                                             : "no bound, ",
                             binary_bytes(r.run.peak_resident_bytes)));
  if (!choice.trace.empty()) line("Trace", choice.trace + " (for ui.perfetto.dev)");
  if (!choice.report.empty()) line("Report", choice.report + " (for a browser)");
  if (choice.stats) out += "\nThe last run\n" + to_text(r.run);
  return out;
}

}  // namespace anabranch::apps
