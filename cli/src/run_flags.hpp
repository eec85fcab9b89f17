// What the commands that compute share: threads, progress on a terminal, an end on Ctrl-C, numbers in text.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dashlab/emulator/parallel.hpp"

namespace dashlab::cli {

/// --threads N, and the RunControl of a command.
class RunFlags {
 public:
  void add_to(CLI::App& command);
  /// Threads, a progress line on standard error if that is a terminal, and a stop flag that Ctrl-C sets.
  /// `what` names the work in the line, e.g. "backward".
  [[nodiscard]] RunControl control(const std::string& what);
  /// Ends the progress line.
  void done();

 private:
  int threads_ = 0;
  bool line_shown_ = false;
  std::chrono::steady_clock::time_point start_, shown_;
};

/// A finite number above 0, as f32. Throws BadInput naming `what`.
float parse_scale(std::string_view text, const std::string& what);

/// A whole number in [low, high]. Throws BadInput naming `what`.
std::int64_t parse_whole(std::string_view text, const std::string& what, std::int64_t low, std::int64_t high);

/// The seed in "random:SEED". Throws BadInput.
std::uint64_t parse_arrival(std::string_view text);

/// "2 s", "2 min 3 s".
std::string duration_text(double seconds);

}  // namespace dashlab::cli
