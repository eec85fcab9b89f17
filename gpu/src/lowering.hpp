// From a schedule to what a kernel reads: chains and steps with their ranks, key ranges, CTA lists. Host
// only.
#pragma once

#include <cstdint>
#include <vector>

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"
#include "device_types.hpp"

namespace dashlab::gpu {

struct LoweredSchedule {
  std::vector<DeviceChain> chains;
  std::vector<DeviceStep> steps;
  std::vector<std::uint32_t> cta_begin;    ///< empty: dynamic
  std::vector<DeviceChain> second_chains;  ///< dQ pass of two-pass: kv_tile holds the q tile, q_head the head
  std::vector<DeviceStep> second_steps;    ///< q_tile holds the kv tile
  std::vector<std::uint32_t> row_addends;  ///< per row: how many tiles add to it
  std::vector<DeviceKeyRange> key_ranges;  ///< see padded_key_ranges
  std::vector<std::uint64_t> step_of_device;  ///< index into Schedule::steps of each device step
  std::vector<std::uint32_t>
      chain_of_device;   ///< index into Schedule::chains; ~0: added here for an unseen kv tile
  bool grouped = false;  ///< q heads add into shared dK and dV
};

/// The keys of every query row, padded to whole q tiles with empty ranges. A block mask hides no part of a
/// tile.
std::vector<DeviceKeyRange> padded_key_ranges(const Problem& problem);

/// Lowers a complete schedule. kv tiles that no query sees get chains without steps, which write zeros.
LoweredSchedule lower(const Problem& problem, const TileMap& tiles, const Schedule& schedule);

}  // namespace dashlab::gpu
