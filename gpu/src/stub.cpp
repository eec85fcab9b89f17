// What stands in for the CUDA backend where nvcc was not found: everything links, and running says why it
// cannot.
#include "dashlab/core/error.hpp"
#include "dashlab/gpu/backward.hpp"
#include "dashlab/gpu/device.hpp"
#include "dashlab/gpu/forward.hpp"
#include "dashlab/gpu/session.hpp"

namespace dashlab::gpu {

namespace {
constexpr const char* missing =
    "this build has no CUDA backend (nvcc was not found when it was configured); install the CUDA toolkit "
    "and build again, or use `dashlab emulate`";
}

struct Backward::State {};

Backward::Backward(const Problem&, const TileMap&, const Schedule&, const BackwardOptions&) {
  throw EnvironmentError(missing);
}
Backward::Backward(Backward&&) noexcept = default;
Backward& Backward::operator=(Backward&&) noexcept = default;
Backward::~Backward() = default;
std::size_t Backward::workspace_bytes() const noexcept {
  return 0;
}
void Backward::prepare(void*, void*) {
  throw EnvironmentError(missing);
}
void Backward::run(const BackwardTensors&, void*) {
  throw EnvironmentError(missing);
}
void Backward::poison(void*) {
  throw EnvironmentError(missing);
}
void Backward::finish(void*) {
  throw EnvironmentError(missing);
}
Timeline Backward::timeline() const {
  throw EnvironmentError(missing);
}
void run(const Problem&, const Schedule&, const BackwardTensors&, const BackwardOptions&, void*) {
  throw EnvironmentError(missing);
}

struct Forward::State {};

Forward::Forward(const Problem&, Profile, float) {
  throw EnvironmentError(missing);
}
Forward::Forward(Forward&&) noexcept = default;
Forward& Forward::operator=(Forward&&) noexcept = default;
Forward::~Forward() = default;
std::size_t Forward::workspace_bytes() const noexcept {
  return 0;
}
void Forward::prepare(void*, void*) {
  throw EnvironmentError(missing);
}
void Forward::run(const ForwardTensors&, void*) {
  throw EnvironmentError(missing);
}

struct BackwardSession::State {};

ForwardResult forward_on_gpu(const Problem&, const AttentionInputs&, float) {
  throw EnvironmentError(missing);
}
BackwardSession::BackwardSession(const Problem&, const TileMap&, const Schedule&, const AttentionInputs&,
                                 const BackwardOptions&) {
  throw EnvironmentError(missing);
}
BackwardSession::~BackwardSession() = default;
void BackwardSession::run(bool) {}
double BackwardSession::milliseconds() const noexcept {
  return 0;
}
void BackwardSession::remember() {}
std::uint64_t BackwardSession::differing_words() {
  return 0;
}
Gradients BackwardSession::results() const {
  return {};
}
Timeline BackwardSession::timeline() const {
  return {};
}

bool built_with_cuda() noexcept {
  return false;
}
std::string cuda_compiler() {
  return "";
}
std::optional<DeviceInfo> device_info(std::string* why) {
  if (why != nullptr) *why = "built without nvcc";
  return std::nullopt;
}
DeviceInfo require_device() {
  throw EnvironmentError(missing);
}
DeviceBuffer::DeviceBuffer(std::size_t) {
  throw EnvironmentError(missing);
}
DeviceBuffer::DeviceBuffer(DeviceBuffer&&) noexcept = default;
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&&) noexcept = default;
DeviceBuffer::~DeviceBuffer() = default;
void DeviceBuffer::upload(const void*, std::size_t) {
  throw EnvironmentError(missing);
}
void DeviceBuffer::download(void*, std::size_t) const {
  throw EnvironmentError(missing);
}
void DeviceBuffer::fill(std::uint8_t) {
  throw EnvironmentError(missing);
}
Stopwatch::Stopwatch() {
  throw EnvironmentError(missing);
}
Stopwatch::~Stopwatch() = default;
void Stopwatch::start() {}
double Stopwatch::stop() {
  return 0;
}

}  // namespace dashlab::gpu
