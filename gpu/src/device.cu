#include <utility>

#include "check.hpp"
#include "dashlab/gpu/device.hpp"

namespace dashlab::gpu {

bool built_with_cuda() noexcept {
  return true;
}

std::string cuda_compiler() {
  return std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "." +
         std::to_string(__CUDACC_VER_BUILD__);
}

std::optional<DeviceInfo> device_info(std::string* why) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  cudaDeviceProp properties{};
  if (error == cudaSuccess && count > 0) error = cudaGetDeviceProperties(&properties, 0);
  if (error != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    if (why != nullptr) *why = error != cudaSuccess ? cudaGetErrorString(error) : "no CUDA device";
    return std::nullopt;
  }
  DeviceInfo info;
  info.name = properties.name;
  info.major = properties.major;
  info.minor = properties.minor;
  info.sms = properties.multiProcessorCount;
  info.memory_bytes = properties.totalGlobalMem;
  info.shared_bytes = properties.sharedMemPerBlockOptin;
  (void)cudaDriverGetVersion(&info.driver_version);
  (void)cudaRuntimeGetVersion(&info.runtime_version);
  return info;
}

DeviceInfo require_device() {
  std::string why;
  const auto info = device_info(&why);
  if (!info)
    throw EnvironmentError("no GPU to run on (" + why +
                           "); `dashlab doctor` says what is missing, `dashlab emulate` needs none");
  return *info;
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : size_(bytes) {
  if (bytes > 0)
    check_cuda(cudaMalloc(&data_, bytes), ("allocating " + std::to_string(bytes) + " bytes").c_str());
}
DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
DeviceBuffer::~DeviceBuffer() {
  (void)cudaFree(data_);
}

void DeviceBuffer::upload(const void* source, std::size_t bytes) {
  check_cuda(cudaMemcpy(data_, source, bytes, cudaMemcpyHostToDevice), "copying to the GPU");
}
void DeviceBuffer::download(void* destination, std::size_t bytes) const {
  check_cuda(cudaMemcpy(destination, data_, bytes, cudaMemcpyDeviceToHost), "copying from the GPU");
}
void DeviceBuffer::fill(std::uint8_t byte) {
  if (size_ > 0) check_cuda(cudaMemset(data_, byte, size_), "filling GPU memory");
}

Stopwatch::Stopwatch() {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check_cuda(cudaEventCreate(&begin), "creating an event");
  begin_ = begin;
  check_cuda(cudaEventCreate(&end), "creating an event");
  end_ = end;
}
Stopwatch::~Stopwatch() {
  (void)cudaEventDestroy(static_cast<cudaEvent_t>(begin_));
  (void)cudaEventDestroy(static_cast<cudaEvent_t>(end_));
}
void Stopwatch::start() {
  check_cuda(cudaEventRecord(static_cast<cudaEvent_t>(begin_)), "recording an event");
}
double Stopwatch::stop() {
  check_cuda(cudaEventRecord(static_cast<cudaEvent_t>(end_)), "recording an event");
  check_cuda(cudaEventSynchronize(static_cast<cudaEvent_t>(end_)), "waiting for the GPU");
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, static_cast<cudaEvent_t>(begin_), static_cast<cudaEvent_t>(end_)),
             "timing");
  return ms;
}

}  // namespace dashlab::gpu
