// Timeline files, format "dashlab.timeline/1": a run's task times as JSON, so that a measured run can be
// drawn later and elsewhere.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "dashlab/core/timeline.hpp"

namespace dashlab::viz {

/// The file's text: `format`, `title`, `unit`, `ticks_per_unit`, `sms`, `makespan`, `lower_bound`, and
/// `tasks`, a list of [head, q, kv, sm, rank, chain, second_pass, compute_start, compute_end, reduce_start,
/// reduce_end]. The critical path is left out.
std::string format_timeline(const Timeline& timeline);

/// Reads a timeline; `source` names it in errors. Throws BadInput with the place for text that is no such
/// file, for times that run backwards and for SMs out of range. Tasks may come in any order.
Timeline parse_timeline(std::string_view text, std::string_view source);

Timeline read_timeline(const std::filesystem::path& path);

}  // namespace dashlab::viz
