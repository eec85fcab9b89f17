// Refusing what cannot fit before the kernel kills the process for it.
#pragma once

#include <cstdint>
#include <string_view>

namespace dashlab {

/// Throws EnvironmentError when `bytes` beside what the process holds exceed the machine's memory. `what`
/// says what needs them.
void require_memory(std::uint64_t bytes, std::string_view what);

}  // namespace dashlab
