// Groups of kv tiles that share rows: the documents of a packed mask, or the whole of any other.
#pragma once

#include <cstdint>
#include <vector>

#include "dashlab/core/tile_map.hpp"

namespace dashlab {

/// Kv tiles, ascending, that are linked by common q tiles. Tiles without any task belong to no component.
using Component = std::vector<std::uint32_t>;

/// The components in the order of their first kv tile.
std::vector<Component> components(const TileMap& tiles);

}  // namespace dashlab
