#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include <anabranch/error.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/commands.h"
#include "apps/common/exit_status.h"
#include "apps/common/input_files.h"
#include "apps/common/output_files.h"
#include "apps/common/proposals.h"
#include "apps/common/quantities.h"
#include "apps/common/stopwatch.h"
#include "apps/common/terminal.h"
#include "apps/common/usage_error.h"
#include "apps/md5/digests.h"
#include "apps/md5/found_words.h"
#include "apps/md5/program.h"
#include "apps/md5/report.h"
#include "apps/md5/word_lists.h"

namespace anabranch::apps {

namespace {

/// The progress line, from whichever thread, and words that are found, which are no part of it.
class Output {
 public:
  Output(const Md5Options& options, std::int64_t bytes)
      : json_(options.run.json), bytes_(bytes), line_(options.run.progress) {}

  void show(Progress progress) {
    // Of lists the bytes are known, those of words and those that end lines: in the rest there will be as many of each.
    if (bytes_ > 0 && progress.work > 0) {
      const double share = static_cast<double>(progress.work) /
                           (static_cast<double>(progress.work) + static_cast<double>(progress.items));
      progress.total_work =
          std::max(progress.work, static_cast<std::int64_t>(static_cast<double>(bytes_) * share));
    }
    const std::lock_guard lock(mutex_);
    last_ = progress;
    line_.show(progress);
  }
  /// The lists have come to their ends. Where CRs are in those of lines, more words were awaited.
  void complete() {
    const std::lock_guard lock(mutex_);
    if (!last_.total_work || *last_.total_work == last_.work) return;
    last_.total_work = last_.work;
    line_.show(last_);
  }
  void found(const std::vector<FoundWord>& words) {
    if (repeats_) return;
    if (json_) return static_cast<void>(found_.insert(found_.end(), words.begin(), words.end()));
    std::string text;
    for (const FoundWord& word : words) text += word.digest + "  " + word.word + "\n";
    const std::lock_guard lock(mutex_);
    line_.wipe();
    print(text);
  }
  /// A run as the one before: what it finds is known.
  void repeat(int run, int of) {
    repeats_ = run > 1;
    if (of > 1) line_.label(fmt::format("run {} of {}: ", run, of));
  }
  void end() { line_.end(); }
  const std::vector<FoundWord>& all_found() const { return found_; }

 private:
  bool json_, repeats_ = false;
  std::int64_t bytes_;
  std::mutex mutex_;
  ProgressLine line_;
  Progress last_;
  std::vector<FoundWord> found_;
};

/// What the digests leave of the bound. Beside them the tables that they are looked up in have to have room, whole.
RunOptions options_of_run(const Md5Options& options, const DigestTable& digests, std::int64_t bound,
                          Interrupt& interrupt) {
  RunOptions run = options.run.options(interrupt);
  if (!options.run.chunks()) return run;
  if (digests.bytes() >= bound)
    throw ResourceError(fmt::format(
        "{} and the tables to look {} up in take {}, which leaves nothing of a memory bound of {}",
        counted(digests.distinct(), "digest"), digests.distinct() == 1 ? "it" : "them",
        counted(digests.bytes(), "byte"), counted(bound, "byte")));
  run.memory = bound - digests.own_bytes();
  return run;
}

/// Stops a run by a signal; and one that waits for words, who knows how long, when all digests have been found.
class Stop {
 public:
  explicit Stop(const Interrupt& interrupt)
      : interrupted_(interrupt.token(), [this] { source_.request_stop(); }) {}
  std::stop_token token() const { return source_.get_token(); }
  void now() { source_.request_stop(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> interrupted_;
};

int run_md5(const Md5Options& options, Interrupt& interrupt) {
  const Stopwatch watch;
  std::vector<NamedFile> inputs{{"the file of digests", options.digests}};
  for (const std::string& list : options.lists) inputs.push_back({"a word list", list});
  check_outputs(inputs, {{"--trace", options.run.trace}, {"--report", options.run.report}});

  Md5Report report;
  report.options = options;
  report.memory = options.run.memory_bound();
  std::optional<Interrupt::AtOnce> opening_may_wait(interrupt);  // for who is to write to a pipe
  if (options.digests == "-" && std::count(options.lists.begin(), options.lists.end(), "-") > 0)
    throw UsageError("DIGESTS and WORDLIST: standard input, -, is there twice: it passes once");
  refuse_compressed(options.digests);
  for (const std::string& list : options.lists) refuse_compressed(list);
  const DigestTable digests(options.digests, report.memory / 2);
  report.digests_given = digests.given();
  report.digests_distinct = digests.distinct();
  std::atomic<bool> all_found = false;
  const auto lists = open_word_lists(options.lists, [&] { return all_found.load(); });
  opening_may_wait.reset();
  if (options.run.repeat > 1 && !lists.info().rewindable)
    throw UsageError("--repeat: what comes from a pipe passes once");
  const std::vector<Rule> rules = rules_of(options.rules);
  RunOptions run = options_of_run(options, digests, report.memory, interrupt);
  report.open_seconds = watch.seconds();

  Output output(options, bytes_of_word_lists(options.lists));
  std::optional<Stop> stop;
  const RunOptions of_suspects{.backend = options.run.chunks() ? Backend::cpu : Backend::interpreter,
                               .threads = 1};
  FoundWords found(
      digests, rules, of_suspects, [&](const std::vector<FoundWord>& words) { output.found(words); },
      [&] {
        all_found = true;
        if (lists.info().live) stop->now();
      });
  const Targets targets{use(digests.firsts()), use(digests.begins()), use(digests.bits())};
  const auto program = compile(consume(write(suspects(stream_in(lists), rules, targets), found.sink())));
  if (options.explain) {
    print(program.explain());
    return done;
  }
  {
    const Interrupt::AtOnce compiling_cannot_be_stopped(interrupt);
    report.runs.add_preparation(found.prepare());
  }
  for (int i = 1; i <= options.run.repeat; ++i) {
    stop.emplace(interrupt);
    all_found = false;
    output.repeat(i, options.run.repeat);
    run.stop = stop->token();
    run.progress = [&](const Progress& p) { output.show(p); };
    if (i == options.run.repeat) {
      run.trace = options.run.trace;
      run.report = options.run.report;
    }
    try {
      program.run(run, &report.runs.last);
      if (!all_found) output.complete();
    } catch (const Cancelled&) {
      if (interrupt.signal() != 0 || !all_found) throw;
    }
    report.runs.add_last(digests.own_bytes());
    report.stopped_early = all_found;
    report.digests_found = found.found();
    report.words = found.words();
    report.too_long = found.too_long();
    report.candidates = found.candidates();
  }
  output.end();
  report.found = output.all_found();
  report.total_seconds = watch.seconds();
  // Standard output has the words, for whoever reads them.
  if (options.run.json)
    print(to_json(report));
  else
    write_error(to_text(report));
  return report.digests_found > 0 ? done : answer_is_no;
}

}  // namespace

void add_md5(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("md5", "Find words of lists, changed by rules, that have given MD5 digests");
  auto given = std::make_shared<Md5Options>();
  auto rules = std::make_shared<std::string>();
  sub->add_option("DIGESTS", given->digests,
                  "A file of MD5 digests in hexadecimal, one a line, - is standard input; or one such digest")
      ->required()
      ->option_text("FILE|DIGEST");
  sub->add_option("WORDLIST", given->lists, "Texts with a word on each line; - is standard input")
      ->required()
      ->option_text("FILE...");
  sub->add_option("--rules", *rules,
                  "What else is tried of each word, divided by commas: lower, upper, capitalize, toggle, "
                  "leet, append-digit, append-2-digits, append-3-digits, append-4-digits, append-year, or "
                  "several of them joined by +, like capitalize+append-year; default: the word alone")
      ->check(some_of(names_of_steps()))
      ->option_text("LIST");
  const RunChoiceOptions run(*sub, "digests and chunks of words", "words", given->explain);
  sub->footer(exit_statuses({{done, "a digest was found"},
                             {answer_is_no, "none was"},
                             {bad_data, "bad digests, or a word list's line of more than 16 MiB"},
                             {no_backend}}));
  sub->callback([given, rules, run, &chosen] {
    given->run = run.chosen();
    given->rules = parse_rules(*rules);
    chosen = [given](Interrupt& interrupt) { return run_md5(*given, interrupt); };
  });
}

}  // namespace anabranch::apps
