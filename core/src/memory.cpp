#include "memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "dashlab/core/error.hpp"

namespace dashlab {
namespace {

/// What the process holds already; 0 on systems other than Linux.
std::uint64_t resident_bytes([[maybe_unused]] std::uint64_t page) {
  std::uint64_t resident = 0;
#ifdef __linux__
  std::uint64_t size = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
#endif
  return resident * page;
}

}  // namespace

void require_memory(std::uint64_t bytes, std::string_view what) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t installed = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page;
  const std::uint64_t held = resident_bytes(page);
  const std::uint64_t usable = installed / 16 * 15;  // the rest is the system's
  if (bytes <= usable && held <= usable - bytes) return;
  constexpr double gib = 1 << 30;
  throw EnvironmentError(fmt::format(
      "{} needs at least {:.1f} GiB of memory{}, and this machine has {:.1f}; use larger tiles, shorter "
      "sequences or fewer heads",
      what, static_cast<double>(bytes) / gib,
      held > installed / 10 ? fmt::format(" beside the {:.1f} in use", static_cast<double>(held) / gib) : "",
      static_cast<double>(installed) / gib));
}

}  // namespace dashlab
