// Schedules whose chains wait in one queue: ascending, descending, spt, two-pass and atomic.
#include "schedulers.hpp"

namespace dashlab {
Schedule ascending(const SchedulerInput& in) {
  ScheduleBuilder builder = in.builder("ascending");
  for (std::uint32_t owner = 0; owner < builder.owners(); ++owner) {
    for (std::uint32_t kv = 0; kv < in.tiles.kv_tiles(); ++kv)
      builder.add_chain(owner, kv, in.tiles.column(KvTile{kv}));
  }
  builder.reduce_ascending();
  return builder.finish();
}

Schedule descending(const SchedulerInput& in) {
  ScheduleBuilder builder = in.builder("descending");
  std::vector<std::uint32_t> order;
  for (std::uint32_t owner = 0; owner < builder.owners(); ++owner) {
    for (std::uint32_t kv = 0; kv < in.tiles.kv_tiles(); ++kv) {
      const auto column = in.tiles.column(KvTile{kv});
      order.assign(column.rbegin(), column.rend());
      builder.add_chain(owner, kv, order);
    }
  }
  builder.reduce_ascending();
  return builder.finish();
}

// Descending kv is shortest first for causal masks, and launch order equals reduce order for every mask:
// whichever chain stands first in the queue never waits for one behind it.
Schedule spt(const SchedulerInput& in) {
  ScheduleBuilder builder = in.builder("spt");
  for (std::uint32_t owner = 0; owner < builder.owners(); ++owner) {
    for (std::uint32_t kv = in.tiles.kv_tiles(); kv-- > 0;)
      builder.add_chain(owner, kv, in.tiles.column(KvTile{kv}));
  }
  builder.reduce_descending();
  return builder.finish();
}

Schedule two_pass(const SchedulerInput& in) {
  ScheduleBuilder builder = in.builder("two-pass");
  for (std::uint32_t owner = 0; owner < builder.owners(); ++owner) {
    for (std::uint32_t kv = 0; kv < in.tiles.kv_tiles(); ++kv)
      builder.add_chain(owner, kv, in.tiles.column(KvTile{kv}));
  }
  for (std::int64_t head = 0; head < in.problem.total_heads(); ++head) {
    for (std::uint32_t q = 0; q < in.tiles.q_tiles(); ++q) {
      builder.add_second_pass_chain(static_cast<std::uint32_t>(head), q);
    }
  }
  return builder.finish(DqMode::second_pass);
}

Schedule atomic(const SchedulerInput& in) {
  ScheduleBuilder builder = in.builder("atomic");
  for (std::uint32_t owner = 0; owner < builder.owners(); ++owner) {
    for (std::uint32_t kv = 0; kv < in.tiles.kv_tiles(); ++kv)
      builder.add_chain(owner, kv, in.tiles.column(KvTile{kv}));
  }
  return builder.finish(DqMode::arrival);
}

}  // namespace dashlab
