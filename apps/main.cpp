#include <charconv>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <new>

#include <anabranch/error.h>
#include <anabranch/version.h>

#include <CLI/CLI.hpp>

#include "byte_size.h"
#include "commands.h"
#include "interrupt.h"
#include "terminal.h"
#include "usage_error.h"

// The command: what may be asked for, and what the exit status says. One file per subcommand does the work.
namespace anabranch::apps {
namespace {

enum ExitCode : int {
  done = 0,
  usage = 2,
  bad_data = 3,
  io_failed = 4,
  no_resources = 5,
  no_backend = 6,
  internal_error = 7,
  by_signal = 128,  // + the signal's number
};

using Action = std::function<void(Interrupt&)>;

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

void add_smvm(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("smvm", "Multiply a sparse matrix file by a vector, row by row as it streams by");
  auto options = std::make_shared<SmvmOptions>();
  sub->add_option("MATRIX", options->matrix,
                  ".npz (scipy.sparse.save_npz of a CSR matrix) or .mtx (Matrix Market)")
      ->required()
      ->option_text("FILE");
  sub->add_option("--vector", options->vector,
                  "x, an .npy vector with one element per column; default: all ones")
      ->option_text("FILE");
  sub->add_option("--out", options->out, "Where to write y, as .npy; default: nowhere")->option_text("FILE");
  sub->add_option_function<std::string>(
         "--backend",
         [options](const std::string& text) {
           options->backend = text == "interpreter" ? Backend::interpreter : Backend::cpu;
         },
         "cpu or interpreter; default: cpu")
      ->check(CLI::IsMember({"cpu", "interpreter"}))
      ->option_text("NAME");
  sub->add_option("--threads", options->threads, "Number of threads; default: all this process may use")
      ->check(CLI::Range(1, 4096))
      ->option_text("N");
  sub->add_option_function<std::string>(
         "--memory", [options](const std::string& text) { options->memory = parse_byte_size(text); },
         "Bound for x, y, indices and chunks, like 256M, 1.5G, 64KiB; default: half the memory")
      ->option_text("SIZE");
  sub->add_option("--scheduler", options->scheduler,
                  "adaptive, paper or fixed:N (N items per chunk); default: adaptive")
      ->check(CLI::Validator(check_scheduler, ""))
      ->option_text("POLICY");
  sub->add_option("--repeat", options->repeat, "Run so often, for timing; default: once")
      ->check(CLI::Range(1, 1'000'000))
      ->option_text("N");
  sub->add_flag("--json", options->json, "Report as one JSON object");
  sub->callback([options, &chosen] {
    chosen = [options](Interrupt& interrupt) { smvm_command(*options, interrupt); };
  });
}

void add_generate(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("generate", "Write a test matrix of any size");
  auto options = std::make_shared<GenerateCommandOptions>();
  sub->add_option_function<std::string>(
         "KIND", [options](const std::string& text) { options->kind = matrix_kind(text).value(); },
         "laplacian2d, laplacian3d, banded, powerlaw or rmat")
      ->required()
      ->check(CLI::Validator(
          [](const std::string& text) {
            return matrix_kind(text) ? std::string() : "'" + text + "' is no kind of matrix";
          },
          ""))
      ->option_text("NAME");
  sub->add_option("--size", options->matrix.size,
                  "Edge of the grid (laplacian2d: N^2 rows, laplacian3d: N^3), or rows")
      ->required()
      ->option_text("N");
  sub->add_option("--points", options->matrix.points,
                  "Of the stencil: 5 or 9 in 2-D, 7 or 27 in 3-D; banded: entries around the diagonal")
      ->option_text("N");
  sub->add_option("--seed", options->matrix.seed, "Of the random matrices; default: 1")->option_text("N");
  sub->add_option_function<std::string>(
         "--index",
         [options](const std::string& text) {
           options->matrix.index = text == "int64" ? ScalarType::int64 : ScalarType::int32;
         },
         "int32 or int64; default: int32 where it suffices")
      ->check(CLI::IsMember({"int32", "int64"}))
      ->option_text("TYPE");
  sub->add_option_function<std::string>(
         "--value",
         [options](const std::string& text) {
           options->matrix.value = text == "float" ? ScalarType::float32 : ScalarType::float64;
         },
         "float or double; default: double")
      ->check(CLI::IsMember({"float", "double"}))
      ->option_text("TYPE");
  sub->add_option("--out", options->out, "File to write: .npz or .mtx")->required();
  sub->callback([options, &chosen] {
    chosen = [options](Interrupt& interrupt) {
      options->matrix.stop = interrupt.token();
      generate_command(*options);
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
  sub->callback(
      [program, matrix, &chosen] { chosen = [matrix](Interrupt&) { explain_smvm_command(*matrix); }; });
}

void add_doctor(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("doctor", "Show what this machine offers: processor, limits, code generator, GPU");
  sub->callback([&chosen] { chosen = [](Interrupt&) { doctor_command(); }; });
}

constexpr const char* footer =
    "Exit status: 0 done; 2 usage; 3 bad input data; 4 input or output failed; 5 a resource limit; 6 back "
    "end not\n"
    "available; 7 internal error; 130 and 143 stopped by SIGINT and SIGTERM.";

int run(int argc, char** argv, Interrupt& interrupt) {
  CLI::App app("Streams of irregular arrays, compiled for this machine.", "anabranch");
  app.set_version_flag("--version", std::string("anabranch ") + version_string);
  app.require_subcommand(1);
  app.footer(footer);
  Action chosen;
  add_smvm(app, chosen);
  add_generate(app, chosen);
  add_explain(app, chosen);
  add_doctor(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    app.exit(help);
    return done;
  } catch (const CLI::ParseError& e) {
    throw UsageError(e.what());
  }
  chosen(interrupt);
  return done;
}

/// The exit code for what was thrown, after saying what it was.
int explain_failure(const Interrupt& interrupt) {
  const auto fail = [](ExitCode code, const char* what) {
    print_error(what);
    return static_cast<int>(code);
  };
  try {
    throw;
  } catch (const UsageError& e) {
    return fail(usage, (std::string(e.what()) + " (anabranch --help)").c_str());
  } catch (const Cancelled& e) {
    return interrupt.signal() ? by_signal + interrupt.signal() : fail(internal_error, e.what());
  } catch (const DataError& e) {
    return fail(bad_data, e.what());
  } catch (const RunError& e) {
    return fail(bad_data, e.what());  // the programs are ours: what has no meaning stands in the data
  } catch (const IoError& e) {
    return fail(io_failed, e.what());
  } catch (const ResourceError& e) {
    return fail(no_resources, e.what());
  } catch (const std::bad_alloc&) {
    return fail(no_resources, "out of memory");
  } catch (const BackendUnavailable& e) {
    return fail(no_backend, e.what());
  } catch (const std::exception& e) {
    return fail(internal_error, (std::string("internal error: ") + e.what()).c_str());
  }
}

}  // namespace
}  // namespace anabranch::apps

int main(int argc, char** argv) {
  // A reader of ours that goes away is a failed write, not a death.
  std::signal(SIGPIPE, SIG_IGN);
  anabranch::apps::Interrupt interrupt;
  try {
    return anabranch::apps::run(argc, argv, interrupt);
  } catch (...) {
    return anabranch::apps::explain_failure(interrupt);
  }
}
