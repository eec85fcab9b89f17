#include "completeness.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dashlab/core/error.hpp"

namespace dashlab {
namespace {

void require(bool condition, std::string_view what) {
  if (!condition) throw BadInput(fmt::format("schedule: {}", what));
}

// Compares a list with the set it must be a permutation of, in time linear in both and without clearing
// memory.
class PermutationCheck {
 public:
  enum class Finding : std::uint8_t { fine, repeated, foreign };

  explicit PermutationCheck(std::size_t universe) : mark_(universe, 0) {}
  void expect(std::span<const std::uint32_t> members) {
    now_ += 2;
    missing_ = members.size();
    for (std::uint32_t member : members) mark_[member] = now_;
  }
  Finding take(std::uint32_t item) {
    if (mark_[item] == now_) {
      mark_[item] = now_ + 1;
      --missing_;
      return Finding::fine;
    }
    return mark_[item] == now_ + 1 ? Finding::repeated : Finding::foreign;
  }
  [[nodiscard]] std::size_t missing() const noexcept { return missing_; }
  [[nodiscard]] bool is_missing(std::uint32_t member) const { return mark_[member] == now_; }

 private:
  std::vector<std::uint64_t> mark_;  // now_: expected, now_ + 1: taken
  std::uint64_t now_ = 0;
  std::size_t missing_ = 0;
};

std::uint32_t sm_of_chain(const Schedule& schedule, std::size_t chain) {
  const auto after = std::upper_bound(schedule.sm_begin.begin(), schedule.sm_begin.end(), chain);
  return static_cast<std::uint32_t>(after - schedule.sm_begin.begin()) - 1;
}

std::string where(const Schedule& schedule, std::size_t chain) {
  return schedule.placement == Placement::dynamic ? fmt::format("queue place {}", chain)
                                                  : fmt::format("SM {}", sm_of_chain(schedule, chain));
}

// The chains of one pass against the tile map: `lines` are its kv tiles (pass 1) or q tiles (second pass).
class PassCheck {
 public:
  PassCheck(const Problem& problem, const TileMap& tiles, const Schedule& schedule, bool second_pass,
            ErrorList& errors)
      : problem_(problem),
        tiles_(tiles),
        schedule_(schedule),
        second_(second_pass),
        errors_(errors),
        gathered_(!second_pass && schedule.group_mode == GroupMode::gathered),
        lines_(second_pass ? tiles.q_tiles() : tiles.kv_tiles()),
        permutation_(second_pass ? tiles.kv_tiles() : tiles.q_tiles()) {}

  void run() {
    const auto owners =
        static_cast<std::size_t>(problem_.batch * (gathered_ ? problem_.kv_heads : problem_.heads));
    std::vector<std::uint32_t> first_of(owners * lines_, UINT32_MAX);
    for (std::size_t i = 0; i < schedule_.chains.size(); ++i) {
      const Chain& chain = schedule_.chains[i];
      if (chain.second_pass != second_) continue;
      std::uint32_t& first = first_of[std::size_t{chain.head} * lines_ + chain.tile];
      if (first != UINT32_MAX) {
        errors_.add(ErrorKind::split_chain,
                    fmt::format("{} is split: it appears at {} and at {}; keep its tasks in one chain",
                                name(chain.head, chain.tile), where(schedule_, first), where(schedule_, i)));
      } else {
        first = static_cast<std::uint32_t>(i);
      }
    }
    for (std::size_t owner = 0; owner < owners; ++owner) {
      for (std::uint32_t line = 0; line < lines_; ++line) {
        check_line(static_cast<std::uint32_t>(owner), line, first_of[owner * lines_ + line]);
      }
    }
  }

 private:
  [[nodiscard]] std::string name(std::uint32_t owner, std::uint32_t line) const {
    return fmt::format(
        "{} of {} {}",
        second_ ? fmt::format("second-pass chain q {}", line) : fmt::format("chain kv {}", line),
        gathered_ ? "kv head" : "head", owner);
  }
  [[nodiscard]] std::span<const std::uint32_t> expected(std::uint32_t line) const {
    return second_ ? tiles_.row(QTile{line}) : tiles_.column(KvTile{line});
  }

  // Each q head of the chain must visit every tile of the line once.
  void check_line(std::uint32_t owner, std::uint32_t line, std::uint32_t chain) {
    const auto want = expected(line);
    if (chain == UINT32_MAX) {
      if (!want.empty()) {
        errors_.add(ErrorKind::missing_task,
                    fmt::format("{} is missing: its {} tasks run nowhere", name(owner, line), want.size()));
      }
      return;
    }
    const auto steps = schedule_.chain_steps(chain);
    if (!gathered_) return check_steps(owner, owner, line, steps);
    const auto group = static_cast<std::uint32_t>(problem_.group_size());
    std::vector<std::vector<std::uint32_t>> by_head(group);
    for (std::uint64_t i = schedule_.chain_begin[chain]; i < schedule_.chain_begin[chain + 1]; ++i) {
      by_head[schedule_.step_head[i] % group].push_back(schedule_.steps[i]);
    }
    for (std::uint32_t i = 0; i < group; ++i) check_steps(owner, owner * group + i, line, by_head[i]);
  }

  void check_steps(std::uint32_t owner, std::uint32_t head, std::uint32_t line,
                   std::span<const std::uint32_t> steps) {
    const auto want = expected(line);
    permutation_.expect(want);
    for (std::uint32_t step : steps) {
      const auto finding = permutation_.take(step);
      if (finding == PermutationCheck::Finding::repeated) {
        errors_.add(ErrorKind::duplicate_task,
                    fmt::format("{} stands twice in {}", task_name(head, line, step), name(owner, line)));
      } else if (finding == PermutationCheck::Finding::foreign) {
        errors_.add(ErrorKind::extra_task, fmt::format("{} in {}: the mask leaves this tile empty; remove it",
                                                       task_name(head, line, step), name(owner, line)));
      }
    }
    if (permutation_.missing() == 0) return;
    for (std::uint32_t step : want) {
      if (!permutation_.is_missing(step)) continue;
      errors_.add(ErrorKind::missing_task,
                  fmt::format("{} is missing from {}", task_name(head, line, step), name(owner, line)));
    }
  }

  [[nodiscard]] std::string task_name(std::uint32_t head, std::uint32_t line, std::uint32_t step) const {
    return fmt::format("task (head {}, q {}, kv {})", head, second_ ? line : step, second_ ? step : line);
  }

  const Problem& problem_;
  const TileMap& tiles_;
  const Schedule& schedule_;
  bool second_;
  ErrorList& errors_;
  bool gathered_;
  std::size_t lines_;
  PermutationCheck permutation_;
};

void check_reduce_orders(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                         ErrorList& errors) {
  PermutationCheck permutation(tiles.kv_tiles());
  for (std::size_t row = 0; row + 1 < schedule.row_begin.size(); ++row) {
    const auto q = static_cast<std::uint32_t>(row % tiles.q_tiles());
    const auto where_row = [&] {
      return fmt::format("reduce order of (head {}, q {})", row / tiles.q_tiles(), q);
    };
    const auto want = tiles.row(QTile{q});
    permutation.expect(want);
    for (std::uint32_t kv : schedule.reduce_order(row)) {
      const auto finding = permutation.take(kv);
      if (finding == PermutationCheck::Finding::repeated) {
        errors.add(ErrorKind::bad_reduce_order, fmt::format("{} names kv {} twice", where_row(), kv));
      } else if (finding == PermutationCheck::Finding::foreign) {
        errors.add(
            ErrorKind::bad_reduce_order,
            fmt::format(
                "{} names kv {}, which the mask skips: it never adds, and the next in order would wait "
                "for ever; remove it",
                where_row(), kv));
      }
    }
    if (permutation.missing() == 0) continue;
    for (std::uint32_t kv : want) {
      if (!permutation.is_missing(kv)) continue;
      errors.add(ErrorKind::bad_reduce_order, fmt::format("{} lacks kv {}", where_row(), kv));
    }
  }
  const auto group = static_cast<std::size_t>(problem.group_size());
  PermutationCheck heads(static_cast<std::size_t>(problem.total_heads()));
  std::vector<std::uint32_t> members(group);
  for (std::size_t begin = 0; begin < schedule.group_order.size(); begin += group) {
    const auto kv_head = static_cast<std::uint32_t>(begin / group / tiles.kv_tiles());
    for (std::size_t i = 0; i < group; ++i) members[i] = static_cast<std::uint32_t>(kv_head * group + i);
    heads.expect(members);
    for (std::size_t i = 0; i < group; ++i) {
      if (heads.take(schedule.group_order[begin + i]) == PermutationCheck::Finding::fine) continue;
      errors.add(ErrorKind::bad_reduce_order,
                 fmt::format(
                     "dK/dV order of (kv head {}, kv {}): q head {} stands twice or belongs to another group",
                     kv_head, begin / group % tiles.kv_tiles(), schedule.group_order[begin + i]));
    }
  }
}

}  // namespace

void ErrorList::add(ErrorKind kind, std::string message, std::vector<CycleStep> cycle) {
  constexpr std::ptrdiff_t most = 10;
  if (std::ranges::count(errors_, kind, &VerifyError::kind) >= most) return;
  errors_.push_back({kind, std::move(message), std::move(cycle)});
}

bool ErrorList::has(ErrorKind kind) const noexcept {
  return std::ranges::find(errors_, kind, &VerifyError::kind) != errors_.end();
}

void check_shape(const Problem& problem, const TileMap& tiles, const Schedule& schedule) {
  const auto heads = static_cast<std::uint64_t>(problem.total_heads());
  const auto kv_heads = static_cast<std::uint64_t>(problem.batch * problem.kv_heads);
  const bool gathered = schedule.group_mode == GroupMode::gathered;
  require(schedule.sms >= 1, "needs at least 1 SM");
  require(schedule.chain_begin.size() == schedule.chains.size() + 1 && schedule.chain_begin.front() == 0 &&
              schedule.chain_begin.back() == schedule.steps.size() &&
              std::ranges::is_sorted(schedule.chain_begin),
          "the chains' bounds do not fit its steps");
  require(schedule.step_head.size() == (gathered ? schedule.steps.size() : 0),
          "gathered chains need a head per step");
  for (const Chain& chain : schedule.chains) {
    const auto owners = gathered && !chain.second_pass ? kv_heads : heads;
    require(chain.head < owners && chain.tile < (chain.second_pass ? tiles.q_tiles() : tiles.kv_tiles()),
            fmt::format("chain (head {}, tile {}) lies outside the problem", chain.head, chain.tile));
  }
  for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
    const bool second = schedule.chains[i].second_pass;
    const std::uint32_t limit = second ? tiles.kv_tiles() : tiles.q_tiles();
    for (std::uint64_t step = schedule.chain_begin[i]; step < schedule.chain_begin[i + 1]; ++step) {
      require(schedule.steps[step] < limit && schedule.head_of_step(i, step) < heads,
              "a step lies outside the problem");
      if (gathered && !second) {
        require(problem.kv_head_of(HeadId{schedule.step_head[step]}) == schedule.chains[i].head,
                "a gathered chain visits a q head of another group");
      }
    }
  }
  if (schedule.placement == Placement::static_lists) {
    require(schedule.sm_begin.size() == std::size_t{schedule.sms} + 1 && schedule.sm_begin.front() == 0 &&
                schedule.sm_begin.back() == schedule.chains.size() &&
                std::ranges::is_sorted(schedule.sm_begin),
            "the SMs' bounds do not fit its chains");
  }
  if (schedule.dq_mode == DqMode::ordered) {
    require(schedule.row_begin.size() == heads * tiles.q_tiles() + 1 && schedule.row_begin.front() == 0 &&
                schedule.row_begin.back() == schedule.reduce_kv.size() &&
                std::ranges::is_sorted(schedule.row_begin),
            "the rows' bounds do not fit its reduce orders");
    require(std::ranges::all_of(schedule.reduce_kv, [&](std::uint32_t kv) { return kv < tiles.kv_tiles(); }),
            "a reduce order names a kv tile outside the problem");
  }
  const bool ordered_groups = problem.group_size() > 1 && !gathered;
  require(schedule.group_order.size() == (ordered_groups ? heads * tiles.kv_tiles() : 0),
          "the dK/dV orders do not fit the groups");
  require(std::ranges::all_of(schedule.group_order, [&](std::uint32_t head) { return head < heads; }),
          "a dK/dV order names a head outside the problem");
}

void check_completeness(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                        ErrorList& errors) {
  PassCheck(problem, tiles, schedule, false, errors).run();
  if (schedule.dq_mode == DqMode::second_pass) PassCheck(problem, tiles, schedule, true, errors).run();
  if (schedule.dq_mode == DqMode::ordered) check_reduce_orders(problem, tiles, schedule, errors);
}

}  // namespace dashlab
