// The JSON header of a safetensors file, read by events: fixed depth, no duplicates, nothing that is not in
// the format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dashlab::safetensors {

struct HeaderTensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> offsets;  ///< begin and end, in bytes of the data section
};

struct Header {
  std::map<std::string, HeaderTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads the header text. Throws BadInput; `path` names the file in the message.
Header read_header(std::string_view text, const std::string& path);

/// Bytes per element of any type that the format knows, 0 for an unknown name.
std::size_t element_size(std::string_view dtype) noexcept;

}  // namespace dashlab::safetensors
