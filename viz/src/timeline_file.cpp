// Timeline files: written line by line, read with every number checked.
#include "dashlab/viz/timeline_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "dashlab/core/error.hpp"
#include "dashlab/core/strict_json.hpp"
#include "dashlab/core/whole_file.hpp"
#include "text.hpp"

namespace dashlab::viz {
namespace {

using nlohmann::json;

constexpr std::string_view format_name = "dashlab.timeline/1";
constexpr int deepest = 4;
constexpr std::size_t task_numbers = 11;
constexpr std::uint32_t most_sms = 100'000;

class Reader {
 public:
  Reader(const json& root, std::string_view source) : root_(root), source_(source) {}

  Timeline read() const {
    if (!root_.is_object() || root_.value("format", json()) != json(format_name))
      fail(fmt::format("is no timeline; its \"format\" must be \"{}\"", format_name));
    for (const auto& [key, value] : root_.items())
      if (std::ranges::find(keys, key) == std::end(keys))
        fail(fmt::format("has the unknown key \"{}\"; remove it", clean_text(key)));
    Timeline timeline;
    timeline.title = text("title");
    timeline.unit = text("unit");
    if (timeline.unit != "c" && timeline.unit != "us") fail("needs \"unit\": \"c\" or \"us\"");
    timeline.ticks_per_unit = number("ticks_per_unit", 1);
    timeline.sms = static_cast<std::uint32_t>(number("sms", 1));
    if (timeline.sms > most_sms) fail(fmt::format("names more than {} SMs", most_sms));
    timeline.makespan = number("makespan", 0);
    timeline.lower_bound = root_.contains("lower_bound") ? number("lower_bound", 0) : 0;
    const json tasks = root_.value("tasks", json());
    if (!tasks.is_array()) fail("needs \"tasks\", a list");
    for (std::size_t i = 0; i < tasks.size(); ++i) timeline.tasks.push_back(task(tasks[i], i, timeline));
    std::ranges::stable_sort(timeline.tasks, {},
                             [](const TaskSpan& t) { return std::tuple(index(t.sm), t.compute_start); });
    return timeline;
  }

 private:
  static constexpr std::string_view keys[] = {"format", "title",    "unit",        "ticks_per_unit",
                                              "sms",    "makespan", "lower_bound", "tasks"};

  [[noreturn]] void fail(const std::string& what) const {
    throw BadInput(fmt::format("{} {}", source_, what));
  }

  [[nodiscard]] std::string text(const char* key) const {
    const json value = root_.value(key, json());
    if (!value.is_string()) fail(fmt::format("needs \"{}\", a text", key));
    return value.get<std::string>();
  }

  [[nodiscard]] std::int64_t whole(const json& value, std::int64_t least, std::int64_t most,
                                   const std::string& name) const {
    if (!value.is_number_integer() || value.get<double>() < static_cast<double>(least) ||
        value.get<double>() > static_cast<double>(most))
      fail(fmt::format("needs {}, a whole number from {} to {}", name, least, most));
    return value.get<std::int64_t>();
  }
  [[nodiscard]] std::int64_t number(const char* key, std::int64_t least) const {
    return whole(root_.value(key, json()), least, std::int64_t{1} << 53, fmt::format("\"{}\"", key));
  }

  [[nodiscard]] TaskSpan task(const json& list, std::size_t number, const Timeline& timeline) const {
    const std::string name = fmt::format("task {}", number);
    if (!list.is_array() || list.size() != task_numbers)
      fail(fmt::format("has {} that is no list of {} numbers", name, task_numbers));
    const auto id = [&](std::size_t k, std::int64_t most = std::numeric_limits<std::uint32_t>::max()) {
      return static_cast<std::uint32_t>(whole(list[k], 0, most, fmt::format("number {} of {}", k, name)));
    };
    const auto time = [&](std::size_t k) {
      return whole(list[k], 0, timeline.makespan, fmt::format("number {} of {}", k, name));
    };
    TaskSpan task;
    task.head = HeadId{id(0)}, task.q = QTile{id(1)}, task.kv = KvTile{id(2)},
    task.sm = SmId{id(3, timeline.sms - 1)};
    task.rank = id(4), task.chain = id(5), task.second_pass = id(6, 1) == 1;
    task.compute_start = time(7), task.compute_end = time(8), task.reduce_start = time(9),
    task.reduce_end = time(10);
    if (task.compute_end < task.compute_start || task.reduce_start < task.compute_end ||
        task.reduce_end < task.reduce_start)
      fail(fmt::format("has {} whose times run backwards", name));
    return task;
  }

  const json& root_;
  std::string_view source_;
};

}  // namespace

std::string format_timeline(const Timeline& timeline) {
  std::string out = fmt::format(
      "{{\n  \"format\": \"{}\",\n  \"title\": {},\n  \"unit\": {},\n  \"ticks_per_unit\": {},\n  \"sms\": "
      "{},\n  \"makespan\": {},\n"
      "  \"lower_bound\": {},\n  \"tasks\": [",
      format_name, json(clean_text(timeline.title)).dump(), json(timeline.unit).dump(),
      timeline.ticks_per_unit, timeline.sms, timeline.makespan, timeline.lower_bound);
  bool first = true;
  for (const TaskSpan& t : timeline.tasks) {
    fmt::format_to(std::back_inserter(out), "{}\n    [{},{},{},{},{},{},{},{},{},{},{}]", first ? "" : ",",
                   index(t.head), index(t.q), index(t.kv), index(t.sm), t.rank, t.chain,
                   t.second_pass ? 1 : 0, t.compute_start, t.compute_end, t.reduce_start, t.reduce_end);
    first = false;
  }
  return out + "\n  ]\n}\n";
}

Timeline parse_timeline(std::string_view text, std::string_view source) {
  const json root = parse_strict_json(text, source, deepest);
  return Reader(root, source).read();
}

Timeline read_timeline(const std::filesystem::path& path) {
  return parse_timeline(read_file(path), path.string());
}

}  // namespace dashlab::viz
