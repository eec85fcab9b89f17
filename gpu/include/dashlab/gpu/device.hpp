// The GPU of this machine and its memory, for programs that do not speak CUDA themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace dashlab::gpu {

/// What the CUDA runtime says about device 0.
struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int sms = 0;
  std::size_t memory_bytes = 0;
  std::size_t shared_bytes = 0;  ///< most shared memory one CTA may ask for
  int driver_version = 0;        ///< 13000 is CUDA 13.0
  int runtime_version = 0;
};

/// True if this library was built with nvcc.
bool built_with_cuda() noexcept;
/// The nvcc version at build, "" without.
std::string cuda_compiler();
/// Nothing if there is no usable GPU; `why` (if given) then gets the reason.
std::optional<DeviceInfo> device_info(std::string* why = nullptr);
/// The same, or EnvironmentError.
DeviceInfo require_device();

/// Device memory that frees itself. Throws EnvironmentError when there is too little.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Allocates; the bytes are not initialised.
  explicit DeviceBuffer(std::size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();
  /// Device pointer.
  [[nodiscard]] void* data() const noexcept { return data_; }
  /// Bytes.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Copies from the host and waits.
  void upload(const void* source, std::size_t bytes);
  /// Copies to the host and waits.
  void download(void* destination, std::size_t bytes) const;
  /// Sets every byte.
  void fill(std::uint8_t byte);

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Times work on the default stream with CUDA events.
class Stopwatch {
 public:
  Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch();
  /// Begins a measurement.
  void start();
  /// Waits, and returns milliseconds since start().
  double stop();

 private:
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

}  // namespace dashlab::gpu
