// Schedules whose chains wait in one queue: ascending, descending, spt, two-pass and atomic.
#include <algorithm>
#include <numeric>

#include "schedulers.hpp"

namespace dashlab {
namespace {

// The queue of spt: the shortest chain first, but never before a chain of a larger kv tile with which it
// shares a row, because rows are reduced in descending kv order and a GPU may hold only the head of the
// queue.
std::vector<std::uint32_t> shortest_first(const TileMap& tiles) {
  std::vector<std::uint64_t> key(tiles.kv_tiles());
  std::vector<std::uint64_t> row_key(tiles.q_tiles(), 0);
  for (std::uint32_t kv = tiles.kv_tiles(); kv-- > 0;) {
    const auto column = tiles.column(KvTile{kv});
    key[kv] = column.size();
    for (std::uint32_t q : column) key[kv] = std::max(key[kv], row_key[q]);
    for (std::uint32_t q : column) row_key[q] = key[kv];
  }
  std::vector<std::uint32_t> queue(tiles.kv_tiles());
  std::iota(queue.rbegin(), queue.rend(), 0U);
  std::ranges::stable_sort(queue, {}, [&](std::uint32_t kv) { return key[kv]; });
  return queue;
}

}  // namespace

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

Schedule spt(const SchedulerInput& in) {
  ScheduleBuilder builder = in.builder("spt");
  const auto queue = shortest_first(in.tiles);
  for (std::uint32_t owner = 0; owner < builder.owners(); ++owner) {
    for (std::uint32_t kv : queue) builder.add_chain(owner, kv, in.tiles.column(KvTile{kv}));
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
