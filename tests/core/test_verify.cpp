// What the verifier must refuse, and the words it uses.
#include <doctest/doctest.h>

#include <algorithm>

#include "dashlab/core/error.hpp"
#include "dashlab/core/schedule_file.hpp"
#include "planning.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

Verification verify_text(const std::string& text, std::uint64_t resident = 0) {
  const ScheduleFile file = parse_schedule(text, "test");
  return verify(file.problem, TileMap(file.problem), file.schedule, resident);
}

const VerifyError* find(const Verification& v, ErrorKind kind) {
  const auto found = std::ranges::find(v.errors, kind, &VerifyError::kind);
  return found == v.errors.end() ? nullptr : &*found;
}

// Two kv tiles on two SMs, each row's order given by its first tile.
std::string two_by_two(const char* sm0, const char* sm1, const char* row0, const char* row1) {
  return std::string(
             R"({"format": "dashlab.schedule/1", "problem": {"mask": "full", "tiles": 2}, "sms": 2, "chains": [[)") +
         sm0 + "], [" + sm1 + R"(]], "reduce": [{"head": 0, "q": 0, "kv": )" + row0 +
         R"(}, {"head": 0, "q": 1, "kv": )" + row1 + "}]}";
}

}  // namespace

TEST_CASE("Every named schedule of every mask is valid") {
  const std::vector<Mask> masks{FullMask{},
                                CausalMask{},
                                WindowMask{2, 0},
                                WindowMask{1, 3},
                                parse_mask("documents:3,0,4"),
                                parse_mask("documents:4f,3f")};
  int valid = 0;
  for (const std::string_view name : schedule_names()) {
    for (const Mask& mask : masks) {
      for (std::uint32_t sms : {1U, 2U, 3U, 7U, 20U}) {
        try {
          const Plan plan(tile_problem(7, 7, 3, mask), std::string(name), sms);
          CAPTURE(name);
          CAPTURE(to_string(mask));
          CAPTURE(sms);
          const Verification v = plan.verification();
          CHECK(v.valid);
          CHECK(v.deadlock_free);
          ++valid;
        } catch (const BadInput&) {  // a schedule without a meaning for the mask
        }
      }
    }
  }
  CHECK(valid == 5 * (6 * 6 + 2 * 2 + 4));  // shift: full and full documents; symmetric: also the causal ones
}

TEST_CASE("A cycle between two SMs is named") {
  const auto v = verify_text(two_by_two(R"({"head": 0, "kv": 0, "q": [0, 1]})",
                                        R"({"head": 0, "kv": 1, "q": [1, 0]})", "[1, 0]", "[0, 1]"));
  CHECK_FALSE(v.valid);
  CHECK_FALSE(v.deadlock_free);
  const VerifyError* error = find(v, ErrorKind::deadlock);
  REQUIRE(error);
  CHECK(error->cycle.size() == 4);
  CHECK(error->message ==
        "(head 0, q 0, kv 0) must add after (head 0, q 0, kv 1), which SM 1 runs after (head 0, q "
        "1, kv 1) "
        "must add after (head 0, q 1, kv 0), which SM 0 runs after (head 0, q 0, kv 0)");
}

TEST_CASE("Two chains of one SM in the wrong order wait for each other") {
  const auto v = verify_text(two_by_two(
      R"({"head": 0, "kv": 1, "q": [0, 1]}, {"head": 0, "kv": 0, "q": [0, 1]})", "", "[0, 1]", "[0, 1]"));
  const VerifyError* error = find(v, ErrorKind::deadlock);
  REQUIRE(error);
  CHECK(error->cycle.size() == 2);
}

TEST_CASE("A missing task, a task twice, a split chain and an empty tile are told apart") {
  const auto kinds = [](const char* sm0, const char* sm1) {
    std::vector<ErrorKind> result;
    for (const auto& e : verify_text(two_by_two(sm0, sm1, "[0, 1]", "[0, 1]")).errors)
      result.push_back(e.kind);
    return result;
  };
  const char* kv0 = R"({"head": 0, "kv": 0, "q": [0, 1]})";
  const char* kv1 = R"({"head": 0, "kv": 1, "q": [0, 1]})";
  CHECK(kinds(kv0, kv1).empty());
  CHECK(kinds(kv0, R"({"head": 0, "kv": 1, "q": [0]})") == std::vector{ErrorKind::missing_task});
  CHECK(kinds(kv0, "").front() == ErrorKind::missing_task);
  CHECK(kinds(kv0, R"({"head": 0, "kv": 1, "q": [0, 1, 0]})").front() == ErrorKind::duplicate_task);
  CHECK(kinds(R"({"head": 0, "kv": 0, "q": [0]}, {"head": 0, "kv": 0, "q": [1]})", kv1).front() ==
        ErrorKind::split_chain);
}

TEST_CASE(
    "A reduce order that names a tile the window skips is refused: the deadlock that a real kernel shipped "
    "with") {
  // 5 kv tiles; the window leaves tile 0 out of row 2, but the row's order begins with it: tile 1 waits for
  // ever.
  Plan plan(tile_problem(5, 5, 1, WindowMask{1, 0}), "ascending", 5);
  Schedule& s = plan.schedule;
  REQUIRE(s.reduce_order(2).size() == 2);
  s.reduce_kv.insert(s.reduce_kv.begin() + static_cast<std::ptrdiff_t>(s.row_begin[2]), 0);
  for (std::size_t row = 3; row < s.row_begin.size(); ++row) ++s.row_begin[row];
  const Verification v = plan.verification();
  CHECK_FALSE(v.valid);
  const VerifyError* order = find(v, ErrorKind::bad_reduce_order);
  REQUIRE(order);
  CHECK(order->message ==
        "reduce order of (head 0, q 2) names kv 0, which the mask skips: it never adds, and the next in "
        "order would wait "
        "for ever; remove it");
  const VerifyError* deadlock = find(v, ErrorKind::deadlock);
  REQUIRE(deadlock);
  CHECK(deadlock->message == "(head 0, q 2, kv 1) waits for (head 0, q 2, kv 0), which never adds");
}

TEST_CASE("A reduce order that lacks a tile, names one twice or is missing is refused") {
  const char* kv0 = R"({"head": 0, "kv": 0, "q": [0, 1]})";
  const char* kv1 = R"({"head": 0, "kv": 1, "q": [0, 1]})";
  for (const char* order : {"[0]", "[0, 0]", "[]", "[0, 0, 1]"}) {
    CAPTURE(order);
    const auto v = verify_text(two_by_two(kv0, kv1, order, "[0, 1]"));
    CHECK(find(v, ErrorKind::bad_reduce_order));
    CHECK_FALSE(v.valid);
  }
}

TEST_CASE("With few resident CTAs, a chain that needs a later one to run first is caught") {
  // Launched in ascending kv, reduced in descending kv: fine while all fit, stuck as soon as one does not.
  Plan plan(tile_problem(6, 6, 1, FullMask{}), "ascending", 6);
  for (std::size_t row = 0; row + 1 < plan.schedule.row_begin.size(); ++row) {
    std::reverse(
        plan.schedule.reduce_kv.begin() + static_cast<std::ptrdiff_t>(plan.schedule.row_begin[row]),
        plan.schedule.reduce_kv.begin() + static_cast<std::ptrdiff_t>(plan.schedule.row_begin[row + 1]));
  }
  CHECK(plan.verification(6).valid);
  const Verification v = plan.verification(5);
  CHECK_FALSE(v.deadlock_free);
  const VerifyError* error = find(v, ErrorKind::residency);
  REQUIRE(error);
  CHECK(
      error->message.starts_with("with 5 CTAs resident, (head 0, q 0, kv 0) waits for (head 0, q 0, kv 5)"));
}

TEST_CASE("A static schedule on fewer resident CTAs than SMs may be stuck") {
  const Plan plan(tile_problem(4, 4, 1, FullMask{}), "shift", 4);
  CHECK(plan.verification().valid);
  CHECK(find(plan.verification(3), ErrorKind::residency));
}

TEST_CASE("The shortest cycle is found even where the blocked tasks form a longer one") {
  // All four SMs block on their first rows in a ring of four waits; among the tasks behind them two SMs
  // contradict each other directly.
  Plan plan(tile_problem(6, 4, 1, FullMask{}), "shift", 4);
  Schedule& s = plan.schedule;
  const std::vector<std::vector<std::uint32_t>> q_orders{
      {0, 4, 1, 5, 2, 3}, {1, 5, 2, 4, 3, 0}, {2, 3, 0, 1, 4, 5}, {3, 0, 1, 2, 4, 5}};
  s.steps.clear();
  for (const auto& order : q_orders) s.steps.insert(s.steps.end(), order.begin(), order.end());
  const std::vector<std::vector<std::uint32_t>> orders{{3, 0, 1, 2}, {0, 1, 2, 3}, {1, 2, 0, 3},
                                                       {2, 3, 0, 1}, {1, 0, 2, 3}, {0, 1, 2, 3}};
  s.reduce_kv.clear();
  for (const auto& order : orders) s.reduce_kv.insert(s.reduce_kv.end(), order.begin(), order.end());
  const Verification v = plan.verification();
  const VerifyError* error = find(v, ErrorKind::deadlock);
  REQUIRE(error);
  CHECK(error->cycle.size() == 4);  // two waits and the two walks along an SM between them
}

TEST_CASE("Arrays that do not fit the problem are bad input, not a verdict") {
  Plan plan(tile_problem(3, 3, 1, FullMask{}), "ascending", 3);
  Schedule broken = plan.schedule;
  broken.chains[0].tile = 9;
  CHECK_THROWS_AS(verify(plan.problem, plan.tiles, broken), BadInput);
  broken = plan.schedule;
  broken.reduce_kv[0] = 3;
  CHECK_THROWS_AS(verify(plan.problem, plan.tiles, broken), BadInput);
  broken = plan.schedule;
  broken.chain_begin.pop_back();
  CHECK_THROWS_AS(verify(plan.problem, plan.tiles, broken), BadInput);
}

TEST_CASE("Grouped-query chains add dK and dV in group order; a wrong order is caught") {
  Problem p = tile_problem(4, 4, 9, CausalMask{});
  p.kv_heads = 3;
  for (const std::string_view name :
       {"ascending", "descending", "spt", "symmetric-shift", "two-pass", "atomic"}) {
    for (GroupMode group : {GroupMode::per_head, GroupMode::gathered}) {
      CAPTURE(name);
      const Plan plan(p, std::string(name), 5, group);
      CHECK(plan.verification().valid);
      CHECK(plan.schedule.chains.size() ==
            (group == GroupMode::gathered ? 3U * 4 : 9U * 4) + (name == "two-pass" ? 36 : 0));
    }
  }
  Plan plan(p, "ascending", 4);
  plan.schedule.group_order[1] = 5;  // a head of the next group
  CHECK(find(plan.verification(), ErrorKind::bad_reduce_order));
  Plan late(p, "ascending", 4);
  for (std::size_t i = 0; i < late.schedule.group_order.size(); i += 3)
    std::swap(late.schedule.group_order[i], late.schedule.group_order[i + 2]);
  CHECK(find(late.verification(4), ErrorKind::residency));
}

TEST_CASE("8,300 batches of length 1 are 8,300 tasks") {
  Problem p;
  p.batch = 8300;
  p.seqlen_q = p.seqlen_k = 1;
  p.mask = CausalMask{};
  check(p);
  const Plan plan(p, "spt", 132);
  CHECK(plan.schedule.steps.size() == 8300);
  CHECK(plan.verification().valid);
  CHECK(plan.makespan(costs(1, {1, 4})) == Rational((8300 + 131) / 132) * Rational(5, 4));
}

TEST_CASE(
    "Lemma 1 holds for shift and fails for ascending; reversing shift's orders breaks it without a "
    "conflict") {
  const Costs c = costs(1, {1, 4});
  const Plan shift(tile_problem(5, 5, 2, FullMask{}), "shift", 5);
  CHECK(alignment(shift.problem, shift.tiles, shift.schedule, c).lemma1);
  CHECK(alignment(shift.problem, shift.tiles, shift.schedule, c).conflict_free);
  const Plan ascending(tile_problem(5, 5, 2, FullMask{}), "ascending", 5);
  CHECK_FALSE(alignment(ascending.problem, ascending.tiles, ascending.schedule, c).lemma1);
  CHECK_FALSE(alignment(ascending.problem, ascending.tiles, ascending.schedule, c).conflict_free);
  Schedule reversed = shift.schedule;
  std::swap(reversed.reduce_kv[0], reversed.reduce_kv[1]);
  const Alignment a = alignment(shift.problem, shift.tiles, reversed, c);
  CHECK(a.conflict_free);
  CHECK_FALSE(a.lemma1);
}
