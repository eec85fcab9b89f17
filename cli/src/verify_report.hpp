// What a verification looks like in print and in JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "dashlab/core/verify.hpp"

namespace dashlab::cli {

/// One object of format "dashlab.verify/1".
nlohmann::ordered_json to_json(const Verification& verification);

/// One line per error.
void print_errors(const Verification& verification);

}  // namespace dashlab::cli
