// Output files that appear whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace dashlab::viz {

/// Writes `bytes` to a temporary file beside `path` and renames it. Throws EnvironmentError with one line
/// when the folder is missing or read-only or the disk is full; `path` is then as it was before.
void write_whole(const std::filesystem::path& path, std::string_view bytes);

}  // namespace dashlab::viz
