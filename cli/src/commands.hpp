// The commands of the program. Each add_* lives in a file of its own, hangs its subcommand into the app and,
// when the subcommand is chosen, runs it and stores the exit code.
#pragma once

#include <CLI/CLI.hpp>

namespace dashlab::cli {

/// Exit codes of the contract: 0 done, 1 checked and found different or invalid, 2 bad input, 3 machine lacks
/// something.
enum ExitCode : int { exit_done = 0, exit_different = 1, exit_bad_input = 2, exit_environment = 3 };

/// What a command leaves behind for main().
struct Context {
  int exit_code = exit_done;
};

void add_plan(CLI::App& app, Context& context);
void add_compare(CLI::App& app, Context& context);
void add_optimize(CLI::App& app, Context& context);
void add_verify(CLI::App& app, Context& context);
void add_emulate(CLI::App& app, Context& context);
void add_diff(CLI::App& app, Context& context);
void add_shuffle(CLI::App& app, Context& context);
void add_audit(CLI::App& app, Context& context);
void add_render(CLI::App& app, Context& context);
void add_selftest(CLI::App& app, Context& context);
void add_gpu(CLI::App& app, Context& context);
void add_crosscheck(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);

}  // namespace dashlab::cli
