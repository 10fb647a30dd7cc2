#pragma once

#include <functional>

#include "apps/common/interrupt.h"

/// The subcommands: one folder each, `command.cpp` with what may be asked for and the work, `program.cpp` with the
/// program in the language, where it runs one.
namespace CLI {
class App;
}

namespace anabranch::apps {

/// What has been asked for. Returns the exit status, done or answer_is_no; throws where something went wrong: main.cpp
/// makes exit statuses of that.
using Action = std::function<int(Interrupt&)>;

/// Each adds its subcommand, whose callback sets `chosen`. The description of an option is for --help; behind an end of line
/// stands what manual pages and completions say besides. A page of help has 50 lines at most.
void add_smvm(CLI::App& app, Action& chosen);
void add_pagerank(CLI::App& app, Action& chosen);
void add_md5(CLI::App& app, Action& chosen);
void add_audio(CLI::App& app, Action& chosen);
void add_generate(CLI::App& app, Action& chosen);
void add_explain(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_completion(CLI::App& app, Action& chosen);
void add_man(CLI::App& app, Action& chosen);

}  // namespace anabranch::apps
