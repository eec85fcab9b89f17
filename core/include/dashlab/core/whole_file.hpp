// Files that appear whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace dashlab {

/// The whole content. Throws BadInput when the file cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Writes to a temporary file beside `path`, then renames it. Throws as fail_to_write() does; nothing is left
/// behind then, and an older file of that name stays as it was.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Throws BadInput when `path` exists and is no regular file: renaming would replace a device or fail on a
/// folder.
void require_replaceable(const std::filesystem::path& path);

/// What to throw when writing `path` failed with this errno: BadInput where another path would do (no such
/// folder, not allowed, no regular file), EnvironmentError where the machine is at fault (disk full, I/O
/// error).
[[noreturn]] void fail_to_write(const std::filesystem::path& path, std::string_view what, int error_number);

}  // namespace dashlab
