// Output files: a temporary file in the same folder, then a rename, so that no reader ever sees half a
// picture.
#include "dashlab/viz/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "dashlab/core/error.hpp"

namespace dashlab::viz {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error, const char* mend) {
  throw EnvironmentError("cannot write " + path.string() + ": " + std::strerror(error) + "; " + mend);
}

}  // namespace

void write_whole(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path target = path;
  if (std::filesystem::is_directory(target)) fail(target, EISDIR, "give a file name");
  // A device such as /dev/stdout cannot be renamed over; it is written in place.
  std::error_code ignored;
  const bool special =
      std::filesystem::exists(target, ignored) && !std::filesystem::is_regular_file(target, ignored);
  std::string name = target.string();
  if (!special) name += ".XXXXXX";
  const int file = special ? ::open(name.c_str(), O_WRONLY) : ::mkstemp(name.data());
  if (file < 0) fail(target, errno, "give -o a folder that exists and that you may write to");
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) error = errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (!special && error == 0) {
    const mode_t mask = ::umask(0);  // mkstemp makes private files; give the usual rights
    ::umask(mask);
    if (::fchmod(file, 0666 & ~mask) != 0) error = errno;
  }
  if (::close(file) != 0 && error == 0) error = errno;
  if (!special && error == 0 && ::rename(name.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    if (!special) ::unlink(name.c_str());
    fail(target, error, "free some space or choose another folder");
  }
}

}  // namespace dashlab::viz
