#include "dashlab/core/whole_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "dashlab/core/error.hpp"

namespace dashlab {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (std::filesystem::is_directory(path))
    throw BadInput(fmt::format("{}: is a folder; name a file", path.string()));
  if (!in || !(content << in.rdbuf() || in.peek() == EOF)) {
    throw BadInput(
        fmt::format("{}: cannot be read ({}); check the name", path.string(), std::strerror(errno)));
  }
  return std::move(content).str();
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.tmp", getpid());
  const auto fail = [&](std::string_view what) {
    const int reason = errno;
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw EnvironmentError(fmt::format("{}: {} ({}); choose a folder that can be written", path.string(),
                                       what, std::strerror(reason)));
  };
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  if (!out) fail("cannot be created");
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) fail("cannot be written");
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) {
    errno = error.value();
    fail("cannot be put in place");
  }
}

}  // namespace dashlab
