#include "dashlab/core/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "dashlab/core/error.hpp"

namespace dashlab {
namespace {

constexpr std::string_view own_descriptors = "/proc/self/fd";

}  // namespace

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

WholeFile::WholeFile(const std::filesystem::path& path) : path_(path), aim_(path) {
  constexpr int most_links = 40;  // as the kernel follows
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(aim_, error); ++links) {
    if (links == most_links) fail("cannot be followed", ELOOP);
    aim_ = aim_.parent_path() / std::filesystem::read_symlink(aim_, error);
  }
  if (std::filesystem::is_directory(aim_, error)) fail("is no regular file", EISDIR);
  if (std::filesystem::exists(aim_, error) && !std::filesystem::is_regular_file(aim_, error))
    fail("is no regular file", EEXIST);
  static std::atomic<unsigned> number{0};
  temporary_ = aim_.parent_path() / fmt::format(".dashlab-{}-{}.tmp", getpid(), number++);
#if defined(O_TMPFILE)
  const std::filesystem::path folder = aim_.has_parent_path() ? aim_.parent_path() : ".";
  if (std::filesystem::exists(own_descriptors, error))
    file_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#endif
  if (file_ >= 0) return;
  file_ = ::open(temporary_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  if (file_ < 0) fail("cannot be created", errno);
  named_ = true;
}

WholeFile::~WholeFile() {
  if (file_ >= 0) ::close(file_);
  if (named_) ::unlink(temporary_.c_str());
}

void WholeFile::write(std::string_view bytes) {
  constexpr std::size_t most_bytes = 1 << 30;  // some systems refuse 2 GiB at once
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), most_bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("cannot be written", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void WholeFile::commit() {
  if (!named_) {
    const std::string nameless = fmt::format("{}/{}", own_descriptors, file_);
    const auto link_to = [&](const std::filesystem::path& name) {
      return ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_to(aim_)) {  // no older file: no moment with another name
      if (::close(std::exchange(file_, -1)) != 0) fail("cannot be written", errno);
      return;
    }
    if (errno != EEXIST) fail("cannot be put in place", errno);
    ::unlink(temporary_.c_str());
    if (!link_to(temporary_)) fail("cannot be put in place", errno);
    named_ = true;
  }
  if (::close(std::exchange(file_, -1)) != 0) fail("cannot be written", errno);
  if (::rename(temporary_.c_str(), aim_.c_str()) != 0) fail("cannot be put in place", errno);
  named_ = false;
}

void WholeFile::fail(std::string_view what, int error_number) const {
  const std::string reason = fmt::format("{}: {} ({})", path_.string(), what, std::strerror(error_number));
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

void write_file(const std::filesystem::path& path, std::string_view content) {
  WholeFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace dashlab
