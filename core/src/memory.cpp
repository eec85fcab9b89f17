#include "memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "dashlab/core/error.hpp"

namespace dashlab {

void require_memory(std::uint64_t bytes, std::string_view what) {
  const auto installed =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes <= installed) return;
  constexpr double gib = 1 << 30;
  throw EnvironmentError(
      fmt::format("{} needs at least {:.0f} GiB of memory and this machine has {:.0f}; use larger tiles, "
                  "shorter sequences or fewer heads",
                  what, static_cast<double>(bytes) / gib, static_cast<double>(installed) / gib));
}

}  // namespace dashlab
