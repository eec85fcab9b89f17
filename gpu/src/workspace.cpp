#include "workspace.hpp"

namespace dashlab::gpu {

WorkspaceLayout lay_out(const LoweredSchedule& lowered, const WorkspaceSizes& sizes) {
  WorkspaceLayout at;
  std::size_t next = 0;
  const auto place = [&next](std::size_t bytes) {
    const std::size_t offset = next;
    next = (next + bytes + 255) / 256 * 256;
    return offset;
  };
  const auto place_all = [&place](const auto& vector) { return place(vector.size() * sizeof(vector[0])); };
  at.chains = place_all(lowered.chains);
  at.steps = place_all(lowered.steps);
  at.cta_begin = place_all(lowered.cta_begin);
  at.second_chains = place_all(lowered.second_chains);
  at.second_steps = place_all(lowered.second_steps);
  at.row_addends = place_all(lowered.row_addends);
  at.key_ranges = place_all(lowered.key_ranges);
  at.cleared_begin = next;
  at.tickets = place(sizes.rows * 4);
  at.group_tickets = place(sizes.group_slots * 4);
  at.queues = place(2 * 4);
  at.report = place(sizeof(StuckReport));
  at.cleared_end = next;
  at.lse2 = place(sizes.row_floats * 4);
  at.dpsum = place(sizes.row_floats * 4);
  at.dq_accumulator = place(sizes.dq_floats * 4);
  at.group_accumulator = place(sizes.group_slots * sizes.group_floats * 4);
  at.scratch = place(sizes.scratch_floats * 4);
  if (sizes.trace) {
    at.trace = place(lowered.steps.size() * sizeof(TaskTrace));
    at.clocks = place(sizes.ctas * sizeof(CtaClock));
  }
  at.end = next;
  return at;
}

}  // namespace dashlab::gpu
