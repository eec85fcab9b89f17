// `dashlab doctor`: what this machine has, what is missing for which command, and how to get it.
#include <fmt/format.h>
#include <graphviz/graphviz_version.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.hpp"
#include "dashlab/emulator/parallel.hpp"
#include "dashlab/emulator/simd.hpp"
#include "dashlab/gpu/device.hpp"

namespace dashlab::cli {

namespace {

/// One line of the report. `missing` is empty when all is well.
struct Finding {
  std::string name, value, missing;
};

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<Finding> findings() {
  std::vector<Finding> out;
  out.push_back({"version", fmt::format("dashlab {}", DASHLAB_VERSION), ""});
  out.push_back(
      {"cpu vectors", simd_target(),
       simd_target() == "SCALAR" ? "emulation runs without vector instructions, correct but slow" : ""});
  out.push_back(
      {"threads",
       fmt::format("{} used, {} on this machine", worker_count({}), std::thread::hardware_concurrency()),
       ""});
  out.push_back({"graphviz", PACKAGE_VERSION, ""});
  out.push_back({"nvcc at build", gpu::built_with_cuda() ? gpu::cuda_compiler() : "none",
                 gpu::built_with_cuda()
                     ? ""
                     : "`gpu` and `crosscheck` need the CUDA toolkit 12.4 or newer: install it "
                       "(developer.nvidia.com/cuda-downloads) and build again"});
  std::string why;
  const auto device = gpu::device_info(&why);
  if (!device) {
    out.push_back({"gpu", "none",
                   gpu::built_with_cuda()
                       ? fmt::format("{}; `gpu` needs an NVIDIA GPU from sm_75 and its driver, the 16-bit "
                                     "profiles an H100 or H200; all else runs without",
                                     why)
                       : "not looked for: this build has no CUDA backend"});
    return out;
  }
  const bool hopper = device->major == 9 && device->minor == 0;
  out.push_back(
      {"gpu",
       fmt::format("{}, sm_{}{}, {} SMs, {:.1f} GiB, {} KiB shared memory a CTA", device->name, device->major,
                   device->minor, device->sms, static_cast<double>(device->memory_bytes) / (1U << 30),
                   device->shared_bytes / 1024),
       hopper
           ? ""
           : "profiles hopper-bf16 and hopper-fp16 need sm_90 (H100, H200); --profile ieee-fp32 runs here"});
  out.push_back({"driver",
                 fmt::format("CUDA {}, runtime {}", version_text(device->driver_version),
                             version_text(device->runtime_version)),
                 ""});
  return out;
}

void run(bool json_wanted, Context& context) {
  context.exit_code = exit_done;
  const auto found = findings();
  if (json_wanted) {
    nlohmann::ordered_json json{{"format", "dashlab.doctor/1"}};
    for (const Finding& f : found) {
      json[f.name] = {{"found", f.value}};
      if (!f.missing.empty()) json[f.name]["missing"] = f.missing;
    }
    fmt::print("{}\n", json.dump(2));
    return;
  }
  for (const Finding& f : found) {
    fmt::print("{:<14} {}\n", f.name, f.value);
    if (!f.missing.empty()) fmt::print("{:<14} -> {}\n", "", f.missing);
  }
}

}  // namespace

void add_doctor(CLI::App& app, Context& context) {
  auto json = std::make_shared<bool>(false);
  auto* command =
      app.add_subcommand("doctor", "Say what this machine has, what is missing and how to get it");
  command->add_flag("--json", *json, "print dashlab.doctor/1");
  command->footer("Example: dashlab doctor");
  command->callback([json, &context] { run(*json, context); });
}

}  // namespace dashlab::cli
