// Names and errors that need no GPU.
#include <string>

#include "dashlab/core/error.hpp"
#include "dashlab/gpu/session.hpp"

namespace dashlab::gpu {

std::string_view to_string(Profile profile) noexcept {
  switch (profile) {
    case Profile::hopper_bf16:
      return "hopper-bf16";
    case Profile::hopper_fp16:
      return "hopper-fp16";
    case Profile::ieee_fp32:
      return "ieee-fp32";
  }
  return "";
}

Profile parse_profile(std::string_view name) {
  for (const Profile p : {Profile::hopper_bf16, Profile::hopper_fp16, Profile::ieee_fp32})
    if (to_string(p) == name) return p;
  throw BadInput("--profile '" + std::string(name.substr(0, 60)) +
                 "': unknown; use hopper-bf16, hopper-fp16 or ieee-fp32");
}

Profile profile_of(DType dtype) noexcept {
  if (dtype == DType::f32) return Profile::ieee_fp32;
  return dtype == DType::f16 ? Profile::hopper_fp16 : Profile::hopper_bf16;
}

Stuck::Stuck(const StuckTicket& t)
    : std::runtime_error("watchdog: CTA " + std::to_string(t.cta) + " waited for " +
                         (t.group ? "the dK/dV sum of" : "its turn at") + " head " + std::to_string(t.head) +
                         (t.group ? "" : ", q tile " + std::to_string(t.q_tile)) + " with kv tile " +
                         std::to_string(t.kv_tile) + ": expected ticket " + std::to_string(t.expected) +
                         ", saw " + std::to_string(t.seen)),
      ticket_(t) {}

}  // namespace dashlab::gpu
