// Safetensors files: a memory-mapped reader that trusts nothing in the header, and a writer that leaves a
// whole file or none. Format: 8 bytes little-endian header length, a JSON header, then the tensors' bytes
// without holes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dashlab/emulator/tensor.hpp"

namespace dashlab {

using Metadata = std::map<std::string, std::string>;

/// An open file. Views point into the mapping and live as long as this object.
class SafetensorsFile {
 public:
  /// Maps `path` and checks the whole header: sizes, offsets, shapes, types, duplicates, overlap and holes.
  /// Throws BadInput (one line) for a malformed file, EnvironmentError when it cannot be read.
  explicit SafetensorsFile(const std::string& path);
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;
  ~SafetensorsFile();

  /// As given to the constructor.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// All of the header's `__metadata__`.
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }
  /// One metadata value, if present.
  [[nodiscard]] std::optional<std::string> metadata(const std::string& key) const;
  /// Names in the file, sorted.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Whether the file holds a tensor of this name.
  [[nodiscard]] bool has(const std::string& name) const { return tensors_.contains(name); }
  /// The tensor `name`. Throws BadInput if it is missing or of a type the emulator has no use for.
  [[nodiscard]] TensorView tensor(const std::string& name) const;

 private:
  struct Entry {
    std::string dtype;
    Shape shape;
    std::size_t begin = 0;  ///< bytes from the start of the mapping
    Tensor aligned_copy;    ///< only where the file's bytes are not aligned for the type
  };
  void check_layout(std::size_t data_begin);

  std::string path_;
  const std::byte* map_ = nullptr;
  std::size_t map_bytes_ = 0;
  Metadata metadata_;
  std::map<std::string, Entry> tensors_;
};

/// Writes tensors and metadata to `path`: to a temporary file beside it, then renamed. Throws
/// EnvironmentError.
void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, TensorView>>& tensors,
                       const Metadata& metadata);

}  // namespace dashlab
