// Files that appear whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace dashlab {

/// The whole content. Throws BadInput when the file cannot be read.
std::string read_file(const std::filesystem::path& path);

/// A file that appears under its name when it is complete. Until then it has no name at all, so that not even
/// a killed program leaves anything behind; where the file system has no nameless files, a temporary name
/// beside the final one. A symbolic link is followed: the file it leads to is replaced.
class WholeFile {
 public:
  /// Throws BadInput where another path would do: no such folder, not allowed, an existing thing that is no
  /// regular file. Throws EnvironmentError where the machine is at fault, as the other functions do: disk
  /// full, I/O error.
  explicit WholeFile(const std::filesystem::path& path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  /// Without commit(), nothing is left and an older file of that name stays as it was.
  ~WholeFile();

  /// Appends. Throws as the constructor does.
  void write(std::string_view bytes);
  /// Gives the file its name, in place of an older one.
  void commit();

 private:
  [[noreturn]] void fail(std::string_view what, int error_number) const;

  std::filesystem::path path_, aim_, temporary_;
  int file_ = -1;
  bool named_ = false;  ///< whether temporary_ is there
};

/// Writes the whole of a WholeFile.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace dashlab
