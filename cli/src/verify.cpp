// `dashlab verify FILE`: is this schedule complete and free of deadlock?
#include "dashlab/core/verify.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "dashlab/core/schedule_file.hpp"
#include "verify_report.hpp"

namespace dashlab::cli {

nlohmann::ordered_json to_json(const Verification& verification) {
  nlohmann::ordered_json json;
  json["format"] = "dashlab.verify/1";
  json["valid"] = verification.valid;
  json["deadlock_free"] = verification.deadlock_free;
  json["errors"] = nlohmann::ordered_json::array();
  for (const VerifyError& error : verification.errors) {
    nlohmann::ordered_json entry{{"kind", to_string(error.kind)}, {"message", error.message}};
    for (const CycleStep& step : error.cycle) {
      entry["cycle"].push_back({{"head", index(step.head)},
                                {"q", index(step.q)},
                                {"kv", index(step.kv)},
                                {"sm", index(step.sm)},
                                {"by", step.by_program ? "program" : "reduce"}});
    }
    json["errors"].push_back(std::move(entry));
  }
  return json;
}

void print_errors(const Verification& verification) {
  for (const VerifyError& error : verification.errors)
    fmt::print("{}: {}\n", to_string(error.kind), error.message);
}

void add_verify(CLI::App& app, Context& context) {
  struct Options {
    std::string file;
    std::uint64_t resident = 0;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("verify", "Check a schedule file: complete, orders whole, free of deadlock");
  command->add_option("FILE", o->file, "schedule file (dashlab.schedule/1)")->required();
  command->add_option("--resident", o->resident, "CTAs that fit on the GPU at once [the schedule's SMs]")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  command->add_flag("--json", o->json, "print dashlab.verify/1");
  command->footer("Example: dashlab verify my-schedule.json");
  command->callback([o, &context] {
    const ScheduleFile file = read_schedule(o->file);
    const TileMap tiles(file.problem);
    const Verification verification = verify(file.problem, tiles, file.schedule, o->resident);
    if (o->json) {
      fmt::print("{}\n", to_json(verification).dump(2));
    } else if (verification.valid) {
      fmt::print("valid: {} tasks in {} chains, free of deadlock\n", file.schedule.steps.size(),
                 file.schedule.chains.size());
    } else {
      print_errors(verification);
    }
    context.exit_code = verification.valid ? exit_done : exit_different;
  });
}

}  // namespace dashlab::cli
