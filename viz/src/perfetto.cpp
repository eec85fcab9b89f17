// Chrome trace events, written by hand because big traces have millions of them; names go through a JSON
// encoder. Format: "Trace Event Format" (the Chromium project) as Perfetto reads it.
#include "dashlab/viz/perfetto.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "dashlab/core/error.hpp"
#include "dashlab/core/whole_file.hpp"
#include "dashlab/viz/bubbles.hpp"
#include "text.hpp"

namespace dashlab::viz {
namespace {

constexpr std::size_t largest_plain = 32U << 20;

std::string json_text(std::string_view text) {
  return nlohmann::json(clean_text(text)).dump();
}

class RunWriter {
 public:
  RunWriter(std::string& out, const TraceRun& run, std::size_t number)
      : out_(out), timeline_(*run.timeline), pid_(number + 1), begin_(rows_by_sm(timeline_)) {
    const double unit = run.us_per_unit > 0 ? run.us_per_unit : timeline_.unit == "us" ? 1 : 1000;
    ns_per_tick_ = unit * 1000 / static_cast<double>(timeline_.ticks_per_unit);
    name(run.name.empty() ? timeline_.title : run.name);
  }

  void write() {
    for (std::uint32_t sm = 0; sm < timeline_.sms; ++sm) {
      track_names(sm);
      chains(sm);
      tasks(sm);
    }
    flows();
    counters();
  }

 private:
  [[nodiscard]] std::int64_t ns(std::int64_t ticks) const {
    return std::llround(static_cast<double>(ticks) * ns_per_tick_);
  }
  static std::string us(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }
  static std::uint32_t compute_track(std::uint32_t sm) { return 2 * sm + 1; }
  static std::uint32_t reduce_track(std::uint32_t sm) { return 2 * sm + 2; }

  void name(const std::string& title) {
    fmt::format_to(
        std::back_inserter(out_),
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"args\":{{\"name\":{1}}}}},\n"
        "{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{0},\"args\":{{\"sort_index\":{0}}}}},\n",
        pid_, json_text(title));
  }

  void track_names(std::uint32_t sm) {
    for (const auto& [track, what] :
         {std::pair(compute_track(sm), "compute"), std::pair(reduce_track(sm), "reduce")})
      fmt::format_to(
          std::back_inserter(out_),
          "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{0},\"tid\":{1},\"args\":{{\"name\":\"SM {2} "
          "{3}\"}}}},\n{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{0},\"tid\":{1},"
          "\"args\":{{\"sort_index\":{1}}}}},\n",
          pid_, track, sm, what);
  }

  void slice(std::uint32_t track, std::int64_t from, std::int64_t to, std::string_view title,
             std::string_view args) {
    fmt::format_to(
        std::back_inserter(out_),
        "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"{}\",\"args\":{{{}}}}},\n",
        pid_, track, us(from), us(to - from), title, args);
  }

  static std::string task_args(const TaskSpan& task) {
    return fmt::format("\"head\":{},\"q\":{},\"kv\":{},\"rank\":{},\"chain\":{}", index(task.head),
                       index(task.q), index(task.kv), task.rank, task.chain);
  }

  // One slice around each chain, when chains of this SM follow each other (several resident CTAs may
  // interleave).
  void chains(std::uint32_t sm) {
    struct Span {
      std::size_t task;
      std::int64_t from, to;
    };
    std::vector<Span> spans;
    std::map<std::uint32_t, std::size_t> of_chain;
    for (std::size_t i = begin_[sm]; i < begin_[sm + 1]; ++i) {
      const TaskSpan& task = timeline_.tasks[i];
      const auto [known, fresh] = of_chain.try_emplace(task.chain, spans.size());
      if (fresh) spans.push_back({i, task.compute_start, task.compute_end});
      Span& span = spans[known->second];
      span.from = std::min(span.from, task.compute_start);
      span.to = std::max(span.to, task.compute_end);
    }
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.from < b.from; });
    for (std::size_t i = 1; i < spans.size(); ++i)
      if (spans[i].from < spans[i - 1].to) return;
    for (const Span& span : spans) {
      const TaskSpan& task = timeline_.tasks[span.task];
      slice(compute_track(sm), ns(span.from), ns(span.to),
            task.second_pass ? fmt::format("head {}, q {} (second pass)", index(task.head), index(task.q))
                             : fmt::format("head {}, kv {}", index(task.head), index(task.kv)),
            fmt::format("\"chain\":{}", task.chain));
    }
  }

  void tasks(std::uint32_t sm) {
    std::int64_t compute_free = 0, reduce_free = 0;
    for (std::size_t i = begin_[sm]; i < begin_[sm + 1]; ++i) {
      const TaskSpan& task = timeline_.tasks[i];
      const TaskSpan* previous = i > begin_[sm] ? &timeline_.tasks[i - 1] : nullptr;
      const std::string args = task_args(task);
      // Measured times may overlap by a clock's grain; a track must not.
      const std::int64_t from = std::max(compute_free, ns(task.compute_start));
      compute_free = std::max(from, ns(task.compute_end));
      slice(compute_track(sm), from, compute_free,
            task.second_pass ? fmt::format("kv {}", index(task.kv)) : fmt::format("q {}", index(task.q)),
            args);
      if (task.reduce_end == task.reduce_start) continue;
      const std::int64_t wait = std::max(reduce_free, ns(wait_begin(task, previous)));
      const std::int64_t start = std::max(wait, ns(task.reduce_start));
      const std::int64_t end = std::max(start, ns(task.reduce_end));
      if (start > wait)
        slice(reduce_track(sm), wait, start, fmt::format("wait for rank {}", task.rank), args);
      slice(reduce_track(sm), start, end, fmt::format("reduce q {}", index(task.q)), args);
      reduce_free = end;
    }
  }

  // Arrows from each add to the next one of its row: one flow per row.
  void flows() {
    std::vector<std::size_t> adds;
    for (std::size_t i = 0; i < timeline_.tasks.size(); ++i)
      if (timeline_.tasks[i].reduce_end > timeline_.tasks[i].reduce_start) adds.push_back(i);
    const auto row = [&](std::size_t i) {
      return std::pair(index(timeline_.tasks[i].head), index(timeline_.tasks[i].q));
    };
    std::sort(adds.begin(), adds.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(row(a), timeline_.tasks[a].rank) < std::pair(row(b), timeline_.tasks[b].rank);
    });
    for (std::size_t k = 0; k < adds.size(); ++k) {
      const bool first = k == 0 || row(adds[k - 1]) != row(adds[k]);
      const bool last = k + 1 == adds.size() || row(adds[k + 1]) != row(adds[k]);
      if (first && last) continue;
      const TaskSpan& task = timeline_.tasks[adds[k]];
      fmt::format_to(
          std::back_inserter(out_),
          "{{\"ph\":\"{}\",{}\"cat\":\"reduce order\",\"name\":\"row q {}\",\"id\":\"{}.{}.{}\",\"pid\":{},"
          "\"tid\":{},\"ts\":{}}},\n",
          first  ? "s"
          : last ? "f"
                 : "t",
          first ? "" : "\"bp\":\"e\",", index(task.q), pid_, index(task.head), index(task.q), pid_,
          reduce_track(index(task.sm)), us(ns(task.reduce_start)));
    }
  }

  // How many SMs work and how many stand waiting for a rank, whenever it changes.
  void counters() {
    std::map<std::int64_t, std::pair<int, int>> changes;  // time -> (busy, waiting)
    changes[0];
    for (std::uint32_t sm = 0; sm < timeline_.sms; ++sm) {
      std::vector<std::tuple<std::int64_t, int, int>> edges;  // time, working, waiting
      for (std::size_t i = begin_[sm]; i < begin_[sm + 1]; ++i) {
        const TaskSpan& task = timeline_.tasks[i];
        const std::int64_t wait = wait_begin(task, i > begin_[sm] ? &timeline_.tasks[i - 1] : nullptr);
        for (const auto& [from, to] : {std::pair(task.compute_start, task.compute_end),
                                       std::pair(task.reduce_start, task.reduce_end)}) {
          edges.emplace_back(from, 1, 0);
          edges.emplace_back(to, -1, 0);
        }
        edges.emplace_back(wait, 0, 1);
        edges.emplace_back(task.reduce_start, 0, -1);
      }
      std::sort(edges.begin(), edges.end());
      int working = 0, waiting = 0, was_busy = 0, was_waiting = 0;
      for (std::size_t k = 0; k < edges.size();) {
        const std::int64_t now = std::get<0>(edges[k]);
        for (; k < edges.size() && std::get<0>(edges[k]) == now; ++k) {
          working += std::get<1>(edges[k]);
          waiting += std::get<2>(edges[k]);
        }
        const int busy = working > 0 ? 1 : 0, waits = busy == 0 && waiting > 0 ? 1 : 0;
        if (busy == was_busy && waits == was_waiting) continue;
        auto& change = changes[now];
        change.first += busy - was_busy;
        change.second += waits - was_waiting;
        was_busy = busy, was_waiting = waits;
      }
    }
    int busy = 0, waiting = 0;
    for (const auto& [time, change] : changes) {
      busy += change.first;
      waiting += change.second;
      for (const auto& [title, value] : {std::pair("busy SMs", busy), std::pair("waiting SMs", waiting)})
        fmt::format_to(std::back_inserter(out_),
                       "{{\"ph\":\"C\",\"pid\":{},\"ts\":{},\"name\":\"{}\",\"args\":{{\"value\":{}}}}},\n",
                       pid_, us(ns(time)), title, value);
    }
  }

  std::string& out_;
  const Timeline& timeline_;
  std::size_t pid_;
  std::vector<std::size_t> begin_;
  double ns_per_tick_ = 1;
};

// The median, not the mean: a kernel that stalls inside a compute phase makes that phase long.
double usual_compute(const Timeline& timeline) {
  if (timeline.tasks.empty()) return 0;
  std::vector<std::int64_t> lengths;
  lengths.reserve(timeline.tasks.size());
  for (const TaskSpan& task : timeline.tasks) lengths.push_back(task.compute_end - task.compute_start);
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return static_cast<double>(*middle) / static_cast<double>(timeline.ticks_per_unit);
}

}  // namespace

double matching_us_per_unit(const Timeline& predicted, const Timeline& measured) {
  const double ours = usual_compute(predicted), theirs = usual_compute(measured);
  return ours > 0 && theirs > 0 ? theirs / ours : 1000;
}

std::string perfetto_json(std::span<const TraceRun> runs) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (std::size_t i = 0; i < runs.size(); ++i) RunWriter(out, runs[i], i).write();
  if (out.ends_with(",\n")) out.resize(out.size() - 2);
  return out + "\n]}\n";
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  if (deflateInit2(&stream, 6, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw EnvironmentError("cannot compress: out of memory; write to a name without .gz");
  std::string out;
  std::string block(1U << 18, '\0');
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    // zlib counts in 32 bits: feed long texts in pieces.
    const std::size_t piece = std::min<std::size_t>(bytes.size(), 1U << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(piece);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block.data());
      stream.avail_out = static_cast<uInt>(block.size());
      status = deflate(&stream, piece == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
      out.append(block, 0, block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
    bytes.remove_prefix(piece);
  }
  deflateEnd(&stream);
  return out;
}

std::filesystem::path write_perfetto(const std::filesystem::path& path, std::span<const TraceRun> runs) {
  const std::string text = perfetto_json(runs);
  std::filesystem::path target = path;
  if (path.extension() != ".gz" && text.size() > largest_plain) target += ".gz";
  write_file(target, target.extension() == ".gz" ? gzip(text) : text);
  return target;
}

}  // namespace dashlab::viz
