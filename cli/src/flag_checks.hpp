// What is refused before a command starts: values that would be read as something else, flags without an
// effect.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace dashlab::cli {

/// Makes every option of every command refuse an empty text and, where it takes a whole number, all but
/// decimal digits: CLI11 reads 010 as 8 and -1 as the largest seed.
void check_values(CLI::App& app);

/// Throws BadInput for the first of `flags` that was given to `command`: "--draw: `why`; leave it out".
void refuse_given(const CLI::App& command, const std::vector<std::string>& flags, const std::string& why);

/// The same for every flag but `allowed`.
void refuse_given_but(const CLI::App& command, const std::vector<std::string>& allowed,
                      const std::string& why);

}  // namespace dashlab::cli
