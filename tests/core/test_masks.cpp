// Masks and tile maps against the plain definition, element by element.
#include <doctest/doctest.h>

#include <fstream>
#include <random>

#include "dashlab/core/error.hpp"
#include "dashlab/core/problem_fields.hpp"
#include "dashlab/core/tile_map.hpp"
#include "temporary_folder.hpp"

using namespace dashlab;

namespace {

// The definition of DESIGN: written without VisibleKeys.
bool sees(const Problem& p, std::int64_t q, std::int64_t k) {
  const std::int64_t ahead = k - q - (p.seqlen_k - p.seqlen_q);
  if (std::holds_alternative<CausalMask>(p.mask)) return ahead <= 0;
  if (const auto* w = std::get_if<WindowMask>(&p.mask)) {
    return (w->left < 0 || ahead >= -w->left) && (w->right < 0 || ahead <= w->right);
  }
  if (const auto* d = std::get_if<DocumentsMask>(&p.mask)) {
    std::int64_t begin = 0;
    for (const auto& document : d->documents) {
      const std::int64_t end = begin + document.length;
      if (q >= begin && q < end) return k >= begin && k < end && (!document.causal || k <= q);
      begin = end;
    }
    return false;
  }
  return true;
}

void check_against_definition(const Problem& p) {
  const TileMap tiles(p);
  std::uint64_t tasks = 0;
  for (std::int64_t qt = 0; qt < p.q_tiles(); ++qt) {
    for (std::int64_t kt = 0; kt < p.kv_tiles(); ++kt) {
      std::int64_t seen = 0;
      for (std::int64_t q = qt * p.tile_q; q < std::min((qt + 1) * p.tile_q, p.seqlen_q); ++q) {
        for (std::int64_t k = kt * p.tile_kv; k < std::min((kt + 1) * p.tile_kv, p.seqlen_k); ++k)
          seen += sees(p, q, k);
      }
      const TileClass expected = seen == 0                      ? TileClass::empty
                                 : seen == p.tile_q * p.tile_kv ? TileClass::full
                                                                : TileClass::partial;
      INFO("tile ", qt, ", ", kt);
      REQUIRE(tiles.at(QTile{static_cast<std::uint32_t>(qt)}, KvTile{static_cast<std::uint32_t>(kt)}) ==
              expected);
      tasks += seen > 0;
    }
  }
  CHECK(tiles.tasks_per_head() == tasks);
  for (std::int64_t q = 0; q < p.seqlen_q; ++q) {
    const KeyRange keys = visible_keys(p, q);
    for (std::int64_t k = 0; k < p.seqlen_k; ++k) REQUIRE((keys.begin <= k && k < keys.end) == sees(p, q, k));
  }
}

Problem tokens(std::int64_t q, std::int64_t k, std::int64_t tile_q, std::int64_t tile_kv, Mask mask) {
  Problem p;
  p.seqlen_q = q;
  p.seqlen_k = k;
  p.tile_q = tile_q;
  p.tile_kv = tile_kv;
  p.mask = std::move(mask);
  check(p);
  return p;
}

}  // namespace

TEST_CASE("Tile classes follow from the tokens for random lengths, tiles and masks") {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const std::int64_t q = pick(0, 40);
    const std::int64_t k = pick(0, 40);
    const std::int64_t tile_q = pick(1, 9);
    const std::int64_t tile_kv = pick(1, 9);
    check_against_definition(tokens(q, k, tile_q, tile_kv, FullMask{}));
    check_against_definition(tokens(q, k, tile_q, tile_kv, CausalMask{}));
    check_against_definition(tokens(q, k, tile_q, tile_kv, WindowMask{pick(-1, 12), pick(-1, 12)}));
    DocumentsMask documents;
    std::int64_t total = 0;
    for (std::int64_t i = pick(0, 6); i > 0; --i) {
      documents.documents.push_back({pick(0, 9), pick(0, 1) == 1});
      total += documents.documents.back().length;
    }
    check_against_definition(tokens(total, total, tile_q, tile_kv, documents));
  }
}

TEST_CASE("seqlen_q 2048 over seqlen_k 1024, causal: the first 1024 queries see no key") {
  const Problem p = tokens(2048, 1024, 128, 128, CausalMask{});
  const TileMap tiles(p);
  CHECK(visible_keys(p, 1023) == KeyRange{0, 0});
  CHECK(visible_keys(p, 1024) == KeyRange{0, 1});
  for (std::uint32_t q = 0; q < 8; ++q) CHECK(tiles.row(QTile{q}).empty());
  CHECK(tiles.tasks_per_head() == 36);
}

TEST_CASE("A window wider than the sequence is the full mask") {
  const TileMap wide(tokens(300, 300, 64, 64, WindowMask{5000, 5000}));
  const TileMap full(tokens(300, 300, 64, 64, FullMask{}));
  CHECK(wide.tasks_per_head() == full.tasks_per_head());
  CHECK(wide.at(QTile{0}, KvTile{3}) == TileClass::full);
}

TEST_CASE("Lengths beyond 2^31 elements count in 64 bits") {
  Problem p = tokens(1 << 20, 1 << 20, 1 << 14, 1 << 14, CausalMask{});
  p.heads = p.kv_heads = 4096;
  check(p);
  CHECK(TileMap(p).tasks_per_head() == 64 * 65 / 2);
  CHECK(p.seqlen_q * p.head_dim * p.heads == std::int64_t{1} << 39);
}

TEST_CASE("Masks are written as they are read") {
  for (const char* text : {"full", "causal", "window:3,0", "window:inf,2", "documents:3,0,4f"}) {
    CHECK(to_string(parse_mask(text)) == text);
  }
  CHECK(std::get<WindowMask>(parse_mask("window:-1,4")) == WindowMask{-1, 4});
}

TEST_CASE("Bad masks are refused in one line that names the forms") {
  for (const char* text :
       {"", "fulll", "window:3", "window:3,x", "window:-2,0", "documents:", "documents:3,,4", "documents:3x",
        "blocks:/no/such/file", "blocks:", "causal:2", "documents:99999999999999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_mask(text), BadInput);
  }
}

TEST_CASE("A blocks file is read as a tile map, and ragged lines are refused with their place") {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "blocks.txt").string();
  std::ofstream(path) << "# rows are q tiles\n1 0 1\n011\n";
  ProblemFields fields;
  fields.mask = "blocks:" + path;
  const Problem p = make_problem(fields);
  const TileMap tiles(p);
  CHECK(p.q_tiles() == 2);
  CHECK(p.kv_tiles() == 3);
  CHECK(tiles.tasks_per_head() == 4);
  CHECK(tiles.at(QTile{0}, KvTile{1}) == TileClass::empty);
  CHECK(tiles.at(QTile{1}, KvTile{2}) == TileClass::full);
  std::ofstream(path) << "101\n01\n";
  CHECK_THROWS_WITH_AS(make_problem(fields), doctest::Contains("blocks.txt:2"), BadInput);
  fields.mask = "blocks:" + folder.path().string();
  CHECK_THROWS_WITH_AS(make_problem(fields), doctest::Contains("is a folder"), BadInput);
}

TEST_CASE("In tiles, the edge of a causal or window mask counts as partial") {
  const TileMap causal(tile_problem(4, 4, 1, CausalMask{}));
  CHECK(causal.at(QTile{2}, KvTile{2}) == TileClass::partial);
  CHECK(causal.at(QTile{2}, KvTile{1}) == TileClass::full);
  const TileMap documents(tile_problem(4, 4, 1, parse_mask("documents:2,2f")));
  CHECK(documents.at(QTile{1}, KvTile{1}) == TileClass::partial);
  CHECK(documents.at(QTile{3}, KvTile{3}) == TileClass::full);
  CHECK(documents.at(QTile{2}, KvTile{3}) == TileClass::full);
  CHECK(documents.at(QTile{2}, KvTile{1}) == TileClass::empty);
}

TEST_CASE("Problems that contradict themselves name the flag") {
  const auto refuse = [](ProblemFields fields, const char* part) {
    CHECK_THROWS_WITH_AS(make_problem(fields), doctest::Contains(part), BadInput);
  };
  refuse({}, "--tiles N or --seqlen N");
  refuse({.tiles = 4, .seqlen = 128}, "--tiles and --seqlen");
  refuse({.q_tiles = 4}, "--q-tiles and --kv-tiles");
  refuse({.tiles = 4, .tile_q = 64}, "--tile-q");
  refuse({.tiles = 4, .heads = 6, .kv_heads = 4}, "--kv-heads 4");
  refuse({.tiles = -1}, "--tiles -1");
  refuse({.tiles = 4, .kv_tiles = -1}, "--kv-tiles -1");
  refuse({.tiles = 4, .q_tiles = 3, .kv_tiles = 3}, "--tiles:");
  refuse({.seqlen = 128, .tile_kv = 0}, "--tile-kv 0");
  refuse({.mask = "documents:3,4", .tiles = 8}, "sum to 7");
}
