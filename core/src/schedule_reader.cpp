// The strict reader of schedule files: every key known, once, and in range; the place of an error is a JSON
// path.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "dashlab/core/error.hpp"
#include "dashlab/core/problem_fields.hpp"
#include "dashlab/core/schedule_file.hpp"
#include "dashlab/core/strict_json.hpp"
#include "dashlab/core/tile_map.hpp"
#include "memory.hpp"

namespace dashlab {
namespace {

using nlohmann::json;

constexpr std::string_view format_name = "dashlab.schedule/1";
constexpr int deepest = 7;  // {chains: [[ {steps: [ {q: [ number ]} ]} ]]}

// A value with the path that leads to it.
class Node {
 public:
  Node(const json& value, std::string_view source, std::string path)
      : value_(value), source_(source), path_(std::move(path)) {}

  [[noreturn]] void fail(std::string_view what) const {
    throw BadInput(fmt::format("{}: {}: {}", source_, path_.empty() ? "top level" : path_, what));
  }
  void only_keys(std::initializer_list<std::string_view> known) const {
    if (!value_.is_object()) fail("must be an object");
    for (const auto& item : value_.items()) {
      if (std::ranges::find(known, item.key()) == known.end()) {
        fail(fmt::format("unknown key \"{}\"; known are {}", item.key(), fmt::join(known, ", ")));
      }
    }
  }
  [[nodiscard]] bool has(std::string_view key) const { return value_.is_object() && value_.contains(key); }
  [[nodiscard]] Node at(std::string_view key) const {
    if (!has(key)) fail(fmt::format("the key \"{}\" is missing", key));
    return {value_.at(std::string(key)), source_,
            fmt::format("{}{}{}", path_, path_.empty() ? "" : ".", key)};
  }
  [[nodiscard]] std::size_t size() const {
    if (!value_.is_array()) fail("must be a list");
    return value_.size();
  }
  [[nodiscard]] Node operator[](std::size_t i) const {
    return {value_[i], source_, fmt::format("{}[{}]", path_, i)};
  }
  [[nodiscard]] bool is_list() const { return value_.is_array(); }
  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) fail("must be a text");
    return value_.get<std::string>();
  }
  [[nodiscard]] std::string one_of(std::initializer_list<std::string_view> choices) const {
    auto choice = text();
    if (std::ranges::find(choices, choice) == choices.end()) {
      fail(fmt::format("\"{}\" is unknown; use {}", choice, fmt::join(choices, ", ")));
    }
    return choice;
  }
  [[nodiscard]] std::int64_t number() const {
    if (!value_.is_number_integer()) fail("must be a whole number");
    if (value_.is_number_unsigned() && value_.get<std::uint64_t>() > INT64_MAX) fail("is out of range");
    return value_.get<std::int64_t>();
  }
  [[nodiscard]] std::uint32_t below(std::uint64_t limit) const {
    const std::int64_t value = number();
    if (value < 0 || static_cast<std::uint64_t>(value) >= limit) {
      fail(fmt::format("{} is out of range (0..{})", value, static_cast<std::int64_t>(limit) - 1));
    }
    return static_cast<std::uint32_t>(value);
  }
  // Appends a list of numbers below `limit`. Builds no path per number: lists are long.
  void append_numbers(std::vector<std::uint32_t>& out, std::uint64_t limit) const {
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) {
      const json& item = value_[i];
      const bool fits = item.is_number_unsigned() && item.get<std::uint64_t>() < limit;
      out.push_back(fits ? item.get<std::uint32_t>() : (*this)[i].below(limit));
    }
  }

 private:
  const json& value_;
  std::string_view source_;
  std::string path_;
};

Problem read_problem(const Node& node) {
  ProblemFields fields;
  node.only_keys({"mask", "tiles", "q-tiles", "kv-tiles", "seqlen", "seqlen-q", "seqlen-k", "tile-q",
                  "tile-kv", "batch", "heads", "kv-heads", "head-dim"});
  if (node.has("mask")) fields.mask = node.at("mask").text();
  for (const auto& [name, member] : problem_number_fields) {
    if (node.has(name)) fields.*member = node.at(name).number();
  }
  try {
    return make_problem(fields);
  } catch (const BadInput& error) {
    node.fail(error.what());
  }
}

class Reader {
 public:
  Reader(const Node& root, Problem problem) : root_(root), problem_(std::move(problem)) {
    q_tiles_ = static_cast<std::uint64_t>(problem_.q_tiles());
    kv_tiles_ = static_cast<std::uint64_t>(problem_.kv_tiles());
    heads_ = static_cast<std::uint64_t>(problem_.total_heads());
    kv_heads_ = static_cast<std::uint64_t>(problem_.batch * problem_.kv_heads);
  }

  Schedule run() {
    s_.name = root_.has("name") ? root_.at("name").text() : "file";
    s_.sms = root_.at("sms").below((std::uint64_t{1} << 20) + 1);
    if (s_.sms == 0) root_.at("sms").fail("must be at least 1");
    const bool dynamic =
        root_.has("placement") && root_.at("placement").one_of({"static", "dynamic"}) == "dynamic";
    s_.placement = dynamic ? Placement::dynamic : Placement::static_lists;
    if (root_.has("dq")) {
      const auto dq = root_.at("dq").one_of({"ordered", "arrival", "second-pass"});
      s_.dq_mode = dq == "ordered"   ? DqMode::ordered
                   : dq == "arrival" ? DqMode::arrival
                                     : DqMode::second_pass;
    }
    if (root_.has("group") && root_.at("group").one_of({"per-head", "gathered"}) == "gathered") {
      s_.group_mode = GroupMode::gathered;
    }
    read_chains(root_.at("chains"));
    if (s_.dq_mode == DqMode::ordered) {
      read_reduce(root_.at("reduce"));
    } else if (root_.has("reduce")) {
      root_.at("reduce").fail("only ordered dQ has reduce orders; remove it or set \"dq\": \"ordered\"");
    }
    read_groups();
    return std::move(s_);
  }

 private:
  void read_chains(const Node& lists) {
    const bool dynamic = s_.placement == Placement::dynamic;
    if (dynamic && lists.size() != 1) lists.fail("dynamic placement has one list: the queue");
    if (!dynamic && lists.size() > s_.sms)
      lists.fail(fmt::format("has {} lists for {} SMs", lists.size(), s_.sms));
    if (!dynamic) s_.sm_begin.assign(1, 0);
    for (std::size_t list = 0; list < lists.size(); ++list) {
      const Node chains = lists[list];
      for (std::size_t i = 0; i < chains.size(); ++i) read_chain(chains[i]);
      if (!dynamic) s_.sm_begin.push_back(s_.chains.size());
    }
    if (!dynamic) s_.sm_begin.resize(std::size_t{s_.sms} + 1, s_.chains.size());
  }

  void read_chain(const Node& node) {
    Chain chain;
    const bool gathered = s_.group_mode == GroupMode::gathered;
    chain.second_pass = node.has("kv") && node.at("kv").is_list();
    if (gathered && !chain.second_pass) {
      node.only_keys({"kv_head", "kv", "steps"});
      chain.head = node.at("kv_head").below(kv_heads_);
      chain.tile = node.at("kv").below(kv_tiles_);
      const Node runs = node.at("steps");
      for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].only_keys({"head", "q"});
        runs[i].at("q").append_numbers(s_.steps, q_tiles_);
        s_.step_head.resize(s_.steps.size(), runs[i].at("head").below(heads_));
      }
    } else {
      node.only_keys({"head", "kv", "q"});
      if (chain.second_pass && s_.dq_mode != DqMode::second_pass) {
        node.fail("a chain that owns a q tile needs \"dq\": \"second-pass\"");
      }
      chain.head = node.at("head").below(heads_);
      chain.tile = chain.second_pass ? node.at("q").below(q_tiles_) : node.at("kv").below(kv_tiles_);
      node.at(chain.second_pass ? "kv" : "q")
          .append_numbers(s_.steps, chain.second_pass ? kv_tiles_ : q_tiles_);
      if (gathered) s_.step_head.resize(s_.steps.size(), chain.head);
    }
    s_.chains.push_back(chain);
    s_.chain_begin.push_back(s_.steps.size());
  }

  void read_reduce(const Node& rows) {
    require_memory(2 * sizeof(std::int64_t) * heads_ * q_tiles_, "the schedule's rows");
    std::vector<std::int64_t> entry(heads_ * q_tiles_, -1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].only_keys({"head", "q", "kv"});
      auto& slot = entry[rows[i].at("head").below(heads_) * q_tiles_ + rows[i].at("q").below(q_tiles_)];
      if (slot >= 0) rows[i].fail(fmt::format("the same row stands at reduce[{}] already", slot));
      slot = static_cast<std::int64_t>(i);
    }
    s_.row_begin.assign(1, 0);
    for (const std::int64_t i : entry) {
      if (i >= 0) rows[static_cast<std::size_t>(i)].at("kv").append_numbers(s_.reduce_kv, kv_tiles_);
      s_.row_begin.push_back(s_.reduce_kv.size());
    }
  }

  // The dK/dV orders of grouped-query chains; rows that the file leaves out add their heads in ascending
  // order.
  void read_groups() {
    const auto group = static_cast<std::uint64_t>(problem_.group_size());
    const bool ordered = group > 1 && s_.group_mode == GroupMode::per_head;
    if (ordered) {
      require_memory(sizeof(std::uint32_t) * kv_heads_ * kv_tiles_ * group, "the schedule's dK/dV orders");
      for (std::uint64_t row = 0; row < kv_heads_ * kv_tiles_; ++row) {
        for (std::uint64_t i = 0; i < group; ++i) {
          s_.group_order.push_back(static_cast<std::uint32_t>(row / kv_tiles_ * group + i));
        }
      }
    }
    if (!root_.has("group_reduce")) return;
    const Node rows = root_.at("group_reduce");
    std::set<std::uint64_t> seen;
    if (!ordered)
      rows.fail("only grouped-query problems with one chain per q head have dK/dV orders; remove it");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].only_keys({"kv_head", "kv", "heads"});
      std::vector<std::uint32_t> heads;
      rows[i].at("heads").append_numbers(heads, heads_);
      if (heads.size() != group)
        rows[i].at("heads").fail(fmt::format("must name the {} q heads of the group", group));
      const std::uint64_t row =
          rows[i].at("kv_head").below(kv_heads_) * kv_tiles_ + rows[i].at("kv").below(kv_tiles_);
      if (!seen.insert(row).second) rows[i].fail("the same kv head and kv tile stand twice");
      std::ranges::copy(heads, s_.group_order.begin() + static_cast<std::ptrdiff_t>(row * group));
    }
  }

  const Node& root_;
  Problem problem_;
  Schedule s_;
  std::uint64_t q_tiles_ = 0, kv_tiles_ = 0, heads_ = 0, kv_heads_ = 0;
};

}  // namespace

ScheduleFile parse_schedule(std::string_view text, std::string_view source) {
  const json document = parse_strict_json(text, source, deepest);
  const Node root(document, source, "");
  root.only_keys(
      {"format", "name", "problem", "sms", "placement", "dq", "group", "chains", "reduce", "group_reduce"});
  if (root.at("format").text() != format_name) {
    root.at("format").fail(fmt::format("must be \"{}\"", format_name));
  }
  ScheduleFile file;
  file.problem = read_problem(root.at("problem"));
  file.schedule = Reader(root, file.problem).run();
  return file;
}

}  // namespace dashlab
