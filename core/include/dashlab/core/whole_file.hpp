// Files that appear whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace dashlab {

/// The whole content. Throws BadInput when the file cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Writes to a temporary file beside `path`, then renames it. Throws EnvironmentError when the folder cannot
/// be written or the disk is full; nothing is left behind then.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace dashlab
