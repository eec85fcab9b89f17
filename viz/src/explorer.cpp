// Fills the explorer's template: numbers as base64 columns, because a hundred thousand tasks as JSON text are
// slow.
#include "dashlab/viz/explorer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "axis.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/whole_file.hpp"
#include "dashlab/viz/bubbles.hpp"
#include "explorer_assets.hpp"
#include "figures.hpp"
#include "palette.hpp"
#include "text.hpp"

namespace dashlab::viz {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "columns are written as the machine holds them");

std::string base64(const void* data, std::size_t size) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::string out;
  out.reserve((size + 2) / 3 * 4);
  for (std::size_t i = 0; i < size; i += 3) {
    const std::size_t left = std::min<std::size_t>(3, size - i);
    std::uint32_t word = std::uint32_t{bytes[i]} << 16;
    if (left > 1) word |= std::uint32_t{bytes[i + 1]} << 8;
    if (left > 2) word |= bytes[i + 2];
    out += letters[word >> 18];
    out += letters[word >> 12 & 63];
    out += left > 1 ? letters[word >> 6 & 63] : '=';
    out += left > 2 ? letters[word & 63] : '=';
  }
  return out;
}

template <typename Stored>
Json stored(const char* kind, const std::vector<std::int64_t>& values) {
  std::vector<Stored> narrow(values.begin(), values.end());
  return Json::array({kind, base64(narrow.data(), narrow.size() * sizeof(Stored))});
}

// The narrowest type of the page's typed arrays that holds all values.
Json column(const std::vector<std::int64_t>& values) {
  const std::int64_t most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  if (most < 1 << 8) return stored<std::uint8_t>("u8", values);
  if (most < 1 << 16) return stored<std::uint16_t>("u16", values);
  if (most < std::int64_t{1} << 32) return stored<std::uint32_t>("u32", values);
  return stored<double>("f64", values);
}

template <typename Value>
Json task_column(const Timeline& timeline, Value value) {
  std::vector<std::int64_t> values;
  values.reserve(timeline.tasks.size());
  for (const TaskSpan& task : timeline.tasks) values.push_back(static_cast<std::int64_t>(value(task)));
  return column(values);
}

Json run_json(const ExplorerRun& run, const ExplorerInput& input) {
  const Timeline& timeline = *run.timeline;
  for (const TaskSpan& task : timeline.tasks)
    if (index(task.q) >= input.q_tiles || index(task.kv) >= input.kv_tiles || index(task.head) >= input.heads)
      throw BadInput("a task (head " + std::to_string(index(task.head)) + ", q " +
                     std::to_string(index(task.q)) + ", kv " + std::to_string(index(task.kv)) +
                     ") is outside of the explorer's grid");
  const Bubbles bubbles = measure_bubbles(timeline);
  std::vector<std::int64_t> flags(timeline.tasks.size(), 0);
  for (const CriticalStep& step : timeline.critical_path)
    flags[step.task] |= step.phase == Phase::compute ? 1 : 2;
  for (std::size_t i = 0; i < flags.size(); ++i) flags[i] |= timeline.tasks[i].second_pass ? 4 : 0;
  const auto begin = rows_by_sm(timeline);
  Json json;
  json["name"] = clean_text(run.name.empty() ? timeline.title : run.name);
  json["figures"] = figures_text(timeline, bubbles);
  json["unit"] = unit_text(timeline);
  json["ticks"] = timeline.ticks_per_unit;
  json["sms"] = timeline.sms;
  json["makespan"] = timeline.makespan;
  json["bound"] = timeline.lower_bound;
  json["overlapped"] = bubbles.overlapped;
  json["bubbles"] = {{"busy", bubbles.busy},
                     {"wait", bubbles.reduce_wait},
                     {"startup", bubbles.startup},
                     {"tail", bubbles.tail},
                     {"between", bubbles.between}};
  Json& columns = json["columns"];
  columns["begin"] = column({begin.begin(), begin.end()});
  columns["head"] = task_column(timeline, [](const TaskSpan& t) { return index(t.head); });
  columns["q"] = task_column(timeline, [](const TaskSpan& t) { return index(t.q); });
  columns["kv"] = task_column(timeline, [](const TaskSpan& t) { return index(t.kv); });
  columns["rank"] = task_column(timeline, [](const TaskSpan& t) { return t.rank; });
  columns["chain"] = task_column(timeline, [](const TaskSpan& t) { return t.chain; });
  columns["flags"] = column(flags);
  columns["computeStart"] = task_column(timeline, [](const TaskSpan& t) { return t.compute_start; });
  columns["computeEnd"] = task_column(timeline, [](const TaskSpan& t) { return t.compute_end; });
  columns["reduceStart"] = task_column(timeline, [](const TaskSpan& t) { return t.reduce_start; });
  columns["reduceEnd"] = task_column(timeline, [](const TaskSpan& t) { return t.reduce_end; });
  return json;
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : clean_text(text)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

// JSON that cannot end the script element it stands in.
std::string script_json(const Json& json) {
  std::string out;
  for (const char c : json.dump()) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string explorer_html(const ExplorerInput& input) {
  Json data;
  data["qTiles"] = input.q_tiles;
  data["kvTiles"] = input.kv_tiles;
  data["heads"] = input.heads;
  for (std::uint32_t head = 0; head < head_colours; ++head)
    data["palette"].push_back({head_colour(head).compute, head_colour(head).reduce});
  data["runs"] = Json::array();
  for (const ExplorerRun& run : input.runs) {
    if (run.timeline->unit != input.runs.front().timeline->unit)
      throw BadInput("cannot show times in " + run.timeline->unit + " beside times in " +
                     input.runs.front().timeline->unit + ": scale one of them first");
    data["runs"].push_back(run_json(run, input));
  }
  std::string out;
  std::string_view rest = explorer_template;
  while (true) {
    const std::size_t begin = rest.find("{{");
    out += rest.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = rest.find("}}", begin);
    const std::string_view slot = rest.substr(begin + 2, end - begin - 2);
    if (slot == "title") out += html_text(input.title);
    if (slot == "css") out += explorer_css;
    if (slot == "js") out += explorer_js;
    if (slot == "data") out += script_json(data);
    rest.remove_prefix(end + 2);
  }
}

void write_explorer(const std::filesystem::path& path, const ExplorerInput& input) {
  write_file(path, explorer_html(input));
}

}  // namespace dashlab::viz
