#include "run_flags.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>

#include "dashlab/core/error.hpp"

namespace dashlab::cli {

namespace {

std::atomic<bool> interrupted{false};

/// The first Ctrl-C asks the workers to leave; the handler removes itself, so that a second one ends the
/// program.
void on_interrupt(int) {
  interrupted.store(true);
}

}  // namespace

void RunFlags::add_to(CLI::App& command) {
  command.add_option("--threads", threads_, "worker threads [all cores]; no bit depends on them")
      ->check(CLI::Range(1, 4096));
}

RunControl RunFlags::control(const std::string& what) {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  RunControl control;
  control.threads = threads_;
  control.stop = &interrupted;
  start_ = shown_ = std::chrono::steady_clock::now();
  if (isatty(STDERR_FILENO) == 1) {
    control.progress = [this, what](std::uint64_t done, std::uint64_t total) {
      using namespace std::chrono;
      const auto now = steady_clock::now();
      if (now - start_ < 1s || now - shown_ < 200ms || done == 0) return;
      shown_ = now;
      line_shown_ = true;
      const double share = static_cast<double>(done) / static_cast<double>(total);
      const double left = duration<double>(now - start_).count() * (1 - share) / share;
      constexpr int width = 30;
      const int filled = static_cast<int>(share * width);
      fmt::print(stderr, "\r{} [{:#<{}}{: <{}}] {:3.0f}%, {} left \x1b[K", what, "", filled, "",
                 width - filled, share * 100, duration_text(left));
      std::fflush(stderr);
    };
  }
  return control;
}

void RunFlags::done() {
  if (line_shown_) fmt::print(stderr, "\r\x1b[K");
  line_shown_ = false;
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", std::ceil(seconds));
  const auto whole = static_cast<long>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

float parse_scale(std::string_view text, const std::string& what) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value <= 0)
    throw BadInput(
        fmt::format("{} '{}': must be a finite number above 0, e.g. 0.125", what, text.substr(0, 40)));
  return value;
}

std::int64_t parse_whole(std::string_view text, const std::string& what, std::int64_t low,
                         std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    throw BadInput(
        fmt::format("{} '{}': must be a whole number in {}..{}", what, text.substr(0, 40), low, high));
  return value;
}

std::uint64_t parse_arrival(std::string_view text) {
  constexpr std::string_view prefix = "random:";
  if (!text.starts_with(prefix))
    throw BadInput(fmt::format("--arrival '{}': write random:SEED, e.g. random:7", text.substr(0, 40)));
  return static_cast<std::uint64_t>(
      parse_whole(text.substr(prefix.size()), "--arrival random:", 0, INT64_MAX));
}

}  // namespace dashlab::cli
