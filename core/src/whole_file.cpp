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
  std::error_code error;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (std::filesystem::is_directory(path, error))
    throw BadInput(fmt::format("{}: is a folder; name a file", path.string()));
  if (!in || !(content << in.rdbuf() || in.peek() == EOF)) {
    throw BadInput(
        fmt::format("{}: cannot be read ({}); check the name", path.string(), std::strerror(errno)));
  }
  return std::move(content).str();
}

void fail_to_write(const std::filesystem::path& path, std::string_view what, int error_number) {
  const std::string reason = fmt::format("{}: {} ({})", path.string(), what, std::strerror(error_number));
  switch (error_number) {
    case EACCES:
    case EEXIST:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENOENT:
    case ENOTDIR:
    case EPERM:
    case EROFS:
      throw BadInput(reason + "; choose a folder that exists and can be written");
    default:
      throw EnvironmentError(reason + "; make room, or choose another disk");
  }
}

void require_replaceable(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    fail_to_write(path, "is no regular file", EEXIST);
  }
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  require_replaceable(path);
  std::error_code error;
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.tmp", getpid());
  const auto fail = [&](std::string_view what, int error_number) {
    std::filesystem::remove(temporary, error);
    fail_to_write(path, what, error_number);
  };
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  if (!out) fail("cannot be created", errno);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) fail("cannot be written", errno);
  std::filesystem::rename(temporary, path, error);
  if (error) fail("cannot be put in place", error.value());
}

}  // namespace dashlab
