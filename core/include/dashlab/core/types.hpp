// The words of the schedule model as types: head, q tile, kv tile and SM numbers that cannot be mixed up.
#pragma once

#include <compare>
#include <cstdint>
#include <type_traits>

namespace dashlab {

/// A q head over the whole batch: batch index * heads + head. Counted from 0.
enum class HeadId : std::uint32_t {};
/// A block of `tile_q` consecutive query rows of one head, counted from 0.
enum class QTile : std::uint32_t {};
/// A block of `tile_kv` consecutive key/value rows of one head, counted from 0.
enum class KvTile : std::uint32_t {};
/// A streaming multiprocessor, counted from 0.
enum class SmId : std::uint32_t {};

template <typename Id>
concept TileOrUnitId = std::is_enum_v<Id>;

/// The plain number behind an id, for indexing and arithmetic.
template <TileOrUnitId Id>
constexpr std::uint32_t index(Id id) noexcept {
  return static_cast<std::uint32_t>(id);
}

/// What a mask leaves of a tile: nothing, a part of its elements, or all of them.
/// A tile that the end of the sequence cuts counts as partial.
enum class TileClass : std::uint8_t { empty, partial, full };

}  // namespace dashlab
