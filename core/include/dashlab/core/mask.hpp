// Attention masks: what they are, how they are written on the command line, and which keys a query may see.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dashlab/core/types.hpp"

namespace dashlab {

/// Every query sees every key.
struct FullMask {
  friend bool operator==(const FullMask&, const FullMask&) = default;
};

/// Query i sees keys 0..i + (seqlen_k - seqlen_q): causal, aligned at the bottom right.
struct CausalMask {
  friend bool operator==(const CausalMask&, const CausalMask&) = default;
};

/// Query i sees keys j with -left <= j - i - (seqlen_k - seqlen_q) <= right; a negative bound means
/// unlimited.
struct WindowMask {
  std::int64_t left = -1;
  std::int64_t right = -1;
  friend bool operator==(const WindowMask&, const WindowMask&) = default;
};

/// Packed sequences: block-diagonal, each block causal or full. Lengths may be 0 and sum to seqlen_q =
/// seqlen_k.
struct DocumentsMask {
  /// One packed sequence.
  struct Document {
    std::int64_t length = 0;
    bool causal = true;
    friend bool operator==(const Document&, const Document&) = default;
  };
  std::vector<Document> documents;
  friend bool operator==(const DocumentsMask&, const DocumentsMask&) = default;
};

/// A tile map from a file: cell (q, kv) says whether the tile takes part.
struct BlocksMask {
  std::string file;
  std::uint32_t q_tiles = 0;
  std::uint32_t kv_tiles = 0;
  std::vector<std::uint8_t> visible;  ///< q_tiles x kv_tiles, row-major, 1 = full, 0 = empty
  friend bool operator==(const BlocksMask&, const BlocksMask&) = default;
};

using Mask = std::variant<FullMask, CausalMask, WindowMask, DocumentsMask, BlocksMask>;

/// Reads `full`, `causal`, `window:L,R`, `documents:a,b,...` or `blocks:FILE`. L and R may be `inf`; a
/// document length takes an `f` at its end for a full (not causal) block. Throws BadInput with the accepted
/// forms.
Mask parse_mask(std::string_view text);

/// The text that parse_mask reads back as the same mask.
std::string to_string(const Mask& mask);

/// Keys begin..end-1 of one query. Empty when begin >= end.
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

}  // namespace dashlab
