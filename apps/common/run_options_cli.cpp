#include "apps/common/run_options_cli.h"

#include <charconv>
#include <map>

#include <anabranch/doctor.h>

#include <CLI/CLI.hpp>

#include "apps/common/byte_size.h"
#include "apps/common/idle_options.h"
#include "apps/common/numbers.h"
#include "apps/common/output_files.h"
#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

/// "adaptive", "paper", "fixed:N" with N from 1 on.
std::string check_scheduler(const std::string& text) {
  if (text == "adaptive" || text == "paper") return {};
  const std::string prefix = "fixed:";
  if (text.starts_with(prefix)) {
    std::int64_t items = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data() + prefix.size(), end, items);
    if (error == std::errc{} && at == end && items >= 1) return {};
  }
  return "'" + text + "' is not adaptive, paper or fixed:N (N items per chunk, from 1 on)";
}

/// Empty, or what is wrong with a size in bytes.
std::string check_byte_size(const std::string& text) {
  try {
    parse_byte_size(text);
    return {};
  } catch (const UsageError& e) {
    return e.what();
  }
}

const std::map<std::string, Backend>& backends() {
  static const std::map<std::string, Backend> all{{"cpu", Backend::cpu},
                                                  {"cuda", Backend::cuda},
                                                  {"cpu+cuda", Backend::cpu_and_cuda},
                                                  {"auto", Backend::automatic},
                                                  {"interpreter", Backend::interpreter}};
  return all;
}

}  // namespace

struct RunChoiceOptions::Given : RunChoice {
  std::string backend_name = "cpu", memory_size, gpu_memory_size, items;
  bool show_progress = false, hide_progress = false;
  const CLI::App* sub = nullptr;
  const bool* explain = nullptr;
};

RunChoiceOptions::RunChoiceOptions(CLI::App& sub, const std::string& memory, const std::string& items,
                                   bool& explain)
    : given_(std::make_shared<Given>()) {
  Given& given = *given_;
  given.items = items;
  given.sub = &sub;
  given.explain = &explain;
  sub.option_defaults()->group("Run options");
  sub.add_option("--backend", given.backend_name,
                 "cpu, cuda, cpu+cuda, interpreter or auto; default: cpu\n"
                 "With auto it is cuda where that is expected to be quicker")
      ->check(CLI::IsMember({"cpu", "cuda", "cpu+cuda", "auto", "interpreter"}))
      ->option_text("NAME");
  sub.add_option("--threads", given.threads, "Threads, 1 to 4096; default: all this process may use")
      ->transform(whole_number(1, 4096))
      ->option_text("N");
  sub.add_option("--memory", given.memory_size,
                 "Bound, like 256M, 1.5G, 64KiB; default: half the memory\nIt bounds " + memory)
      ->check(CLI::Validator(check_byte_size, ""))
      ->option_text("SIZE");
  sub.add_option("--gpu-memory", given.gpu_memory_size,
                 "Bound on GPU memory; default: nine tenths of what is free\n"
                 "It bounds what lies on the GPU, and is written like 2G")
      ->check(CLI::Validator(check_byte_size, ""))
      ->option_text("SIZE");
  sub.add_option("--scheduler", given.scheduler,
                 "adaptive, paper or fixed:N (N items); default: adaptive\n"
                 "With fixed:N chunks have N items")
      ->check(CLI::Validator(check_scheduler, "{adaptive,paper,fixed:}"))
      ->option_text("POLICY");
  sub.add_option("--repeat", given.repeat, "Run so often, for timing; default: once")
      ->transform(whole_number(1, 1'000'000))
      ->option_text("N");
  CLI::Option* show = sub.add_flag("--progress", given.show_progress,
                                   "Show progress even where standard error is no terminal\n"
                                   "There it is a line each second");
  show->disable_flag_override();
  sub.add_flag("--no-progress", given.hide_progress, "Show no progress on a terminal either")
      ->disable_flag_override()
      ->excludes(show);
  sub.add_flag("--stats", given.stats,
               "Say what each stream of the last run did, and how fast\n"
               "Times, sizes of chunks, utilisation, decisions; with --json also each chunk")
      ->disable_flag_override();
  CLI::Option* const json = sub.add_flag("--json", given.json, "Report as one JSON object");
  json->disable_flag_override();
  sub.add_flag("--explain", explain, "Say what is made of the program and why, and run nothing")
      ->disable_flag_override()
      ->excludes(json);
  sub.add_option("--trace", given.trace, "Write the last run's timeline, for ui.perfetto.dev")
      ->option_text("FILE");
  sub.add_option("--report", given.report, "Write a page about the last run: .html with plots in it")
      ->option_text("FILE");
}

RunChoice RunChoiceOptions::chosen(std::initializer_list<const char*> results) const {
  RunChoice choice = *given_;
  if (*given_->explain) {
    const char* const why = "nothing is run with --explain";
    refuse_idle(*given_->sub, results, why);
    refuse_idle(*given_->sub,
                {"--backend", "--threads", "--gpu-memory", "--scheduler", "--repeat", "--progress",
                 "--no-progress", "--stats", "--trace", "--report"},
                why);
  }
  choice.backend = backends().at(given_->backend_name);
  if (!given_->memory_size.empty()) choice.memory = parse_byte_size(given_->memory_size);
  if (!given_->gpu_memory_size.empty()) choice.gpu_memory = parse_byte_size(given_->gpu_memory_size);
  if (choice.gpu_memory > 0 && (choice.backend == Backend::cpu || choice.backend == Backend::interpreter))
    throw UsageError(
        "--gpu-memory bounds what lies on a GPU, and this back end uses none; there are --backend "
        "cuda, cpu+cuda and auto");
  if (choice.backend == Backend::interpreter) {
    if (choice.threads > 1) throw UsageError("--threads: the interpreter runs on one thread");
    if (choice.memory > 0) throw UsageError("--memory: the interpreter keeps no memory bound");
    if (!choice.scheduler.empty())
      throw UsageError("--scheduler: the interpreter takes " + given_->items + " one by one, not in chunks");
  }
  check_extension("--report", choice.report, {".html"}, "a report is written");
  if (!choice.report.empty() && !html_reports_available())
    throw UsageError(
        "--report: this build has no reports as pages (it was configured with ANABRANCH_REPORTS=OFF)");
  if (choice.scheduler.empty()) choice.scheduler = RunOptions{}.scheduler;
  if (given_->show_progress) choice.progress = ShowProgress::always;
  if (given_->hide_progress) choice.progress = ShowProgress::never;
  return choice;
}

std::int64_t RunChoice::memory_bound() const {
  return memory > 0 ? memory : machine_facts().usable_memory() / 2;
}

RunOptions RunChoice::options(const Interrupt& interrupt) const {
  RunOptions run;
  run.backend = backend;
  run.threads = threads;
  run.gpu_memory = gpu_memory;
  if (chunks()) {
    run.memory = memory_bound();
    run.scheduler = scheduler;
  }
  run.stop = interrupt.token();
  return run;
}

}  // namespace anabranch::apps
