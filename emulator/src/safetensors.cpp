// Safetensors reading through a memory map, and writing through a temporary file.
#include "dashlab/emulator/safetensors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "dashlab/core/error.hpp"
#include "dashlab/core/whole_file.hpp"
#include "safetensors_header.hpp"

namespace dashlab {

namespace {

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t largest_header = 100'000'000;  // the limit of the reference implementation

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

std::uint64_t little_endian(const std::byte* p) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) value |= std::to_integer<std::uint64_t>(p[i]) << (8 * i);
  return value;
}

std::optional<DType> dtype_of(std::string_view name) {
  for (const DType type : {DType::bf16, DType::f16, DType::f32})
    if (to_string(type) == name) return type;
  return std::nullopt;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0)
    throw BadInput(fmt::format("{}: cannot open it ({}); give the path of a safetensors file", path,
                               std::strerror(errno)));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    throw BadInput(fmt::format("{}: not a regular file; give the path of a safetensors file", path));
  map_bytes_ = static_cast<std::size_t>(info.st_size);
  if (map_bytes_ < length_bytes)
    throw BadInput(fmt::format("{}: {} bytes are too few for a safetensors file; save the tensors again",
                               path, map_bytes_));
  void* map = ::mmap(nullptr, map_bytes_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (map == MAP_FAILED)
    throw EnvironmentError(fmt::format("{}: cannot map it into memory ({})", path, std::strerror(errno)));
  map_ = static_cast<const std::byte*>(map);
  try {
    const std::uint64_t header_bytes = little_endian(map_);
    if (header_bytes > largest_header || header_bytes > map_bytes_ - length_bytes)
      throw BadInput(
          fmt::format("{}: the header claims {} bytes but the file has {}; it is truncated or no "
                      "safetensors file",
                      path, header_bytes, map_bytes_));
    const std::string_view text(reinterpret_cast<const char*>(map_) + length_bytes,
                                static_cast<std::size_t>(header_bytes));
    auto header = safetensors::read_header(text, path);
    metadata_ = std::move(header.metadata);
    const std::size_t data_begin = length_bytes + static_cast<std::size_t>(header_bytes);
    const std::size_t data_bytes = map_bytes_ - data_begin;
    for (auto& [name, tensor] : header.tensors) {
      const auto fail = [&, &named = name](const std::string& what) {
        throw BadInput(fmt::format("{}: tensor '{}': {}; save the tensors again", path, named, what));
      };
      const std::size_t size = safetensors::element_size(tensor.dtype);
      if (size == 0) fail(fmt::format("unknown dtype '{}'", tensor.dtype.substr(0, 20)));
      if (tensor.offsets.size() != 2) fail("data_offsets must be two numbers");
      const auto begin = static_cast<std::uint64_t>(tensor.offsets[0]);
      const auto end = static_cast<std::uint64_t>(tensor.offsets[1]);
      if (begin > end || end > data_bytes)
        fail(fmt::format("bytes {}..{} lie outside the {} bytes of data (truncated file?)", begin, end,
                         data_bytes));
      std::uint64_t bytes = size;
      for (const std::int64_t extent : tensor.shape)
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
          fail("the shape overflows");
      if (bytes != end - begin)
        fail(fmt::format("shape {} of {} needs {} bytes, the offsets give {}", to_string(tensor.shape),
                         tensor.dtype, bytes, end - begin));
      tensors_.emplace(name,
                       Entry{tensor.dtype, tensor.shape, data_begin + static_cast<std::size_t>(begin), {}});
    }
    check_layout(data_begin);
  } catch (...) {
    ::munmap(const_cast<std::byte*>(map_), map_bytes_);
    throw;
  }
}

/// The tensors must cover the data section exactly; where the header's length breaks alignment, copies are
/// made.
void SafetensorsFile::check_layout(std::size_t data_begin) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (auto& [name, entry] : tensors_) {
    const std::size_t size = safetensors::element_size(entry.dtype);
    ranges.emplace_back(entry.begin, entry.begin + size * static_cast<std::size_t>(count(entry.shape)));
    const auto type = dtype_of(entry.dtype);
    if (type && entry.begin % size != 0) {
      entry.aligned_copy = Tensor(*type, entry.shape);
      std::memcpy(entry.aligned_copy.data(), map_ + entry.begin, ranges.back().second - ranges.back().first);
    }
  }
  std::sort(ranges.begin(), ranges.end());
  std::size_t at = data_begin;
  for (const auto& [begin, end] : ranges) {
    if (begin != at)
      throw BadInput(fmt::format("{}: tensors {} at byte {} of the file; save the tensors again", path_,
                                 begin < at ? "overlap" : "leave a hole", std::min(at, begin)));
    at = end;
  }
  if (at != map_bytes_)
    throw BadInput(
        fmt::format("{}: {} bytes follow the last tensor; save the tensors again", path_, map_bytes_ - at));
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : path_(std::move(other.path_)),
      map_(std::exchange(other.map_, nullptr)),
      map_bytes_(std::exchange(other.map_bytes_, 0)),
      metadata_(std::move(other.metadata_)),
      tensors_(std::move(other.tensors_)) {}

SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(map_, other.map_);
  std::swap(map_bytes_, other.map_bytes_);
  std::swap(metadata_, other.metadata_);
  std::swap(tensors_, other.tensors_);
  return *this;
}

SafetensorsFile::~SafetensorsFile() {
  if (map_ != nullptr) ::munmap(const_cast<std::byte*>(map_), map_bytes_);
}

std::optional<std::string> SafetensorsFile::metadata(const std::string& key) const {
  const auto it = metadata_.find(key);
  return it == metadata_.end() ? std::nullopt : std::optional(it->second);
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : tensors_) out.push_back(name);
  return out;
}

TensorView SafetensorsFile::tensor(const std::string& name) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end())
    throw BadInput(fmt::format("{}: no tensor '{}' in it; save it too, under that name", path_, name));
  const Entry& entry = it->second;
  const auto type = dtype_of(entry.dtype);
  if (!type)
    throw BadInput(
        fmt::format("{}: tensor '{}' is {}; save it as BF16, F16 or F32", path_, name, entry.dtype));
  return {*type, entry.shape,
          entry.aligned_copy.empty() ? map_ + entry.begin : entry.aligned_copy.view().data};
}

void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, TensorView>>& tensors,
                       const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t at = 0;
  for (const auto& [name, view] : tensors) {
    header[name] = {{"dtype", to_string(view.dtype)},
                    {"shape", view.shape},
                    {"data_offsets", {at, at + view.size_bytes()}}};
    at += view.size_bytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // keeps the tensors aligned
  std::string length(length_bytes, '\0');
  for (std::size_t i = 0; i < length_bytes; ++i) length[i] = static_cast<char>(text.size() >> (8 * i));
  WholeFile file(path);
  file.write(length);
  file.write(text);
  for (const auto& [name, view] : tensors)
    file.write({reinterpret_cast<const char*>(view.data), view.size_bytes()});
  file.commit();
}

}  // namespace dashlab
