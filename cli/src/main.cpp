// The program `dashlab`: dispatches to the commands and turns failures into one line and an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/emulator/parallel.hpp"
#include "flag_checks.hpp"

namespace {

using dashlab::cli::Context;

void add_commands(CLI::App& app, Context& context) {
  dashlab::cli::add_plan(app, context);
  dashlab::cli::add_compare(app, context);
  dashlab::cli::add_optimize(app, context);
  dashlab::cli::add_verify(app, context);
  dashlab::cli::add_emulate(app, context);
  dashlab::cli::add_gpu(app, context);
  dashlab::cli::add_audit(app, context);
  dashlab::cli::add_diff(app, context);
  dashlab::cli::add_crosscheck(app, context);
  dashlab::cli::add_shuffle(app, context);
  dashlab::cli::add_render(app, context);
  dashlab::cli::add_selftest(app, context);
  dashlab::cli::add_doctor(app, context);
#ifdef DASHLAB_BENCH
  dashlab::cli::add_bench(app, context);
#endif
}

// One line, whatever names and texts of the user the message quotes; lost when standard error is closed.
int fail(int code, std::string_view message) {
  std::string line = "dashlab: ";
  for (const char c : message) line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  line += '\n';
  std::fputs(line.c_str(), stderr);
  return code;
}

// What was printed may still be lost: a full disk, a closed descriptor.
int finish(int code) {
  std::cout.flush();
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout;
  return lost ? fail(dashlab::cli::exit_environment,
                     "standard output cannot be written; give it a place with room")
              : code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace dashlab::cli;
  CLI::App app("Schedules, bits and pictures of the deterministic attention backward pass.", "dashlab");
  app.set_version_flag("--version", std::string("dashlab ") + DASHLAB_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& error) { return std::string(error.what()); });
  Context context;
  try {
    add_commands(app, context);
    check_values(app);
    app.parse(argc, argv);
    return finish(context.exit_code);
  } catch (const CLI::Success& help) {
    return finish(app.exit(help));
  } catch (const CLI::ParseError& error) {
    const auto is_first = [&](const CLI::App* command) { return command->check_name(argv[1]); };
    if (argc > 1 && argv[1][0] != '-' && std::ranges::none_of(app.get_subcommands({}), is_first)) {
      return fail(exit_bad_input, fmt::format("'{}' is no command; see dashlab --help", argv[1]));
    }
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "dashlab" : "dashlab " + chosen.front()->get_name();
    return fail(exit_bad_input, fmt::format("{}; see {} --help", error.what(), command));
  } catch (const dashlab::BadInput& error) {
    return fail(exit_bad_input, error.what());
  } catch (const dashlab::EnvironmentError& error) {
    return fail(exit_environment, error.what());
  } catch (const dashlab::Interrupted&) {
    return fail(130, "interrupted; nothing was written");  // what shells expect after SIGINT
  } catch (const std::bad_alloc&) {
    return fail(exit_environment, "out of memory; use a smaller problem or larger tiles");
  } catch (const std::length_error&) {
    return fail(exit_environment,
                "the problem is larger than memory can hold; use a smaller one or larger tiles");
  } catch (const nlohmann::json::exception&) {
    return fail(exit_bad_input, "a name or text is no UTF-8; rename the file or change the text");
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(exit_bad_input, error.what());
  } catch (const std::exception& error) {  // a write that failed, a thread that could not start
    return fail(exit_environment, error.what());
  }
}
