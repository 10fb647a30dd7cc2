#include <execinfo.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>

#include <anabranch/error.h>
#include <anabranch/version.h>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "exit_status.h"
#include "interrupt.h"
#include "terminal.h"
#include "usage_error.h"

// The command: what may be asked for, and what the exit status says. One file per subcommand does the work.
namespace anabranch::apps {
namespace {

using Action = std::function<void(Interrupt&)>;

std::string check_not_negative(const std::string& text) {
  return text.starts_with("-") ? "'" + text + "' is less than 0" : std::string();
}

/// An option that is given has a value: "" is a slip,
/// not the default. What is missing is called as in the help.
void require_values(CLI::App& app) {
  const CLI::Validator filled(
      [](const std::string& text) { return std::string(text.empty() ? "it is empty" : ""); }, "", "");
  for (CLI::App* sub : app.get_subcommands({}))
    for (CLI::Option* option : sub->get_options())
      if (option->get_items_expected_max() > 0) option->check(filled)->type_name(option->get_option_text());
}

/// Files are written in one format, whatever they are called: a name that promises another is a slip.
void check_extension(const char* option, const std::string& file, const char* wanted, const char* why) {
  const std::string extension = std::filesystem::path(file).extension().string();
  if (!extension.empty() && extension != wanted)
    throw UsageError(std::string(option) + " " + file + ": " + why + ", not as " + extension);
}

void add_smvm(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("smvm", "Multiply a sparse matrix file by a vector, row by row as it streams by");
  auto given = std::make_shared<SmvmOptions>();
  sub->add_option("MATRIX", given->matrix,
                  ".npz (scipy.sparse.save_npz of a CSR matrix) or .mtx (Matrix Market)")
      ->required()
      ->option_text("FILE");
  sub->add_option("--vector", given->vector,
                  "x, an .npy vector with one element per column; default: all ones")
      ->option_text("FILE");
  sub->add_option("--out", given->out, "Where to write y, as .npy; default: nowhere")->option_text("FILE");
  const RunChoiceOptions run(*sub, "x, y, indices and chunks", "rows");
  sub->callback([given, run, &chosen] {
    given->run = run.chosen();
    check_extension("--out", given->out, ".npy", "y is written as .npy");
    check_extension("--report", given->run.report, ".html", "a report is written as .html");
    chosen = [given](Interrupt& interrupt) { smvm_command(*given, interrupt); };
  });
}

void add_generate(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("generate", "Write a test matrix of any size");
  struct Given : GenerateCommandOptions {
    std::string kind_name, index_name, value_name;
  };
  auto given = std::make_shared<Given>();
  sub->add_option("KIND", given->kind_name, "laplacian2d, laplacian3d, banded, powerlaw or rmat")
      ->required()
      ->option_text("NAME");
  sub->add_option("--size", given->matrix.size,
                  "Edge of the grid (laplacian2d: N^2 rows, laplacian3d: N^3), or rows")
      ->required()
      ->option_text("N");
  sub->add_option("--points", given->matrix.points,
                  "Of the stencil: 5 or 9 in 2-D, 7 or 27 in 3-D; banded: entries around the diagonal; "
                  "default: 5, 7, 9")
      ->check(CLI::Range(1, 4096))
      ->option_text("N");
  CLI::Option* seed =
      sub->add_option("--seed", given->matrix.seed, "Of banded, powerlaw and rmat, from 0 on; default: 1")
          ->check(CLI::Validator(check_not_negative, ""))
          ->option_text("N");
  sub->add_option("--index", given->index_name, "int32 or int64; default: int32 where it suffices")
      ->check(CLI::IsMember({"int32", "int64"}))
      ->option_text("TYPE");
  sub->add_option("--value", given->value_name, "float or double; default: double")
      ->check(CLI::IsMember({"float", "double"}))
      ->option_text("TYPE");
  sub->add_option("--out", given->out, "File to write: .npz or .mtx")->required()->option_text("FILE");
  sub->callback([given, seed, &chosen] {
    const auto kind = matrix_kind(given->kind_name);
    if (!kind)
      throw UsageError("'" + given->kind_name +
                       "' is no kind of matrix; there are laplacian2d, laplacian3d, banded, "
                       "powerlaw and rmat");
    given->kind = *kind;
    if (!is_random(*kind) && seed->count() > 0)
      throw UsageError(given->kind_name + " has nothing random in it and takes no --seed");
    if (!given->out.ends_with(".npz") && !given->out.ends_with(".mtx"))
      throw UsageError("--out " + given->out + ": a matrix is written as .npz or .mtx");
    if (given->index_name == "int32") given->matrix.index = ScalarType::int32;
    if (given->index_name == "int64") given->matrix.index = ScalarType::int64;
    if (given->value_name == "float") given->matrix.value = ScalarType::float32;
    chosen = [given](Interrupt& interrupt) {
      given->matrix.stop = interrupt.token();
      generate_command(*given);
    };
  });
}

void add_explain(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("explain", "Show what is made of a program and why: forms, kernels, bytes");
  auto program = std::make_shared<std::string>();
  auto matrix = std::make_shared<std::string>();
  sub->add_option("PROGRAM", *program, "smvm")
      ->required()
      ->check(CLI::IsMember({"smvm"}))
      ->option_text("NAME");
  sub->add_option("MATRIX", *matrix, "The matrix file it would run over; default: a small one in memory")
      ->option_text("FILE");
  auto form = std::make_shared<Explain>(Explain::text);
  CLI::Option* json =
      sub->add_flag_callback("--json", [form] { *form = Explain::json; }, "Print one JSON object");
  sub->add_flag_callback(
         "--dot", [form] { *form = Explain::dot; }, "Print a graph, for Graphviz")
      ->excludes(json);
  sub->callback([program, matrix, form, &chosen] {
    chosen = [matrix, form](Interrupt&) { explain_smvm_command(*matrix, *form); };
  });
}

void add_doctor(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("doctor", "Show what this machine offers: processor, limits, code generator, GPU");
  sub->callback([&chosen] { chosen = [](Interrupt&) { doctor_command(); }; });
}

constexpr const char* footer =
    "Exit status: 0 done; 2 usage; 3 bad input data; 4 input or output failed; 5 a resource limit;\n"
    "6 back end not available; 7 internal error; 130 and 143 stopped by SIGINT and SIGTERM\n"
    "(a second one ends the process at once).";

/// `interrupt` is made when there is work to be stopped. `help`: what to ask for more about what was tried.
int run(int argc, char** argv, std::optional<Interrupt>& interrupt, std::string& help) {
  CLI::App app("Streams of irregular arrays, compiled for this machine.", "anabranch");
  app.set_version_flag("--version", std::string("anabranch ") + version_string);
  app.require_subcommand(1);
  app.footer(footer);
  Action chosen;
  add_smvm(app, chosen);
  add_generate(app, chosen);
  add_explain(app, chosen);
  add_doctor(app, chosen);
  require_values(app);
  if (const std::string first = argc > 1 ? argv[1] : ""; argc > 1 && !first.starts_with("-")) {
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
    if (std::find(names.begin(), names.end(), first) == names.end())
      throw UsageError("'" + first + "' is no subcommand; there are " + CLI::detail::join(names, ", "));
    help = "anabranch " + first + " --help";
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app.exit(asked, text, text);
    print(text.str());
    return done;
  } catch (const CLI::ParseError& e) {
    throw UsageError(e.what());
  }
  chosen(interrupt.emplace());
  return done;
}

}  // namespace
}  // namespace anabranch::apps

int main(int argc, char** argv) {
  // The C library loads its unwinder when a thread first ends by it, and ends the process where memory is short then.
  void* frame = nullptr;
  static_cast<void>(::backtrace(&frame, 1));
  anabranch::apps::open_standard_descriptors();
  // A reader of ours that goes away is a failed write, not a death; so is a file that may not grow.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::optional<anabranch::apps::Interrupt> interrupt;
  std::string help = "anabranch --help";
  try {
    return anabranch::apps::run(argc, argv, interrupt, help);
  } catch (...) {
    return anabranch::apps::explain_failure(interrupt ? interrupt->signal() : 0, help);
  }
}
