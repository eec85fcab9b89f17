// std::vector whose memory starts on a cache line, as the vector code wants it.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace dashlab {

inline constexpr std::size_t cache_line_bytes = 64;

/// Memory that begins at a cache line, for std::vector.
template <typename T>
struct CacheLineAllocator {
  /// As std::allocator has it.
  using value_type = T;
  CacheLineAllocator() = default;
  /// All of them are alike.
  template <typename U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>& /*other*/) noexcept {}

  /// Room for `count` elements, not initialised. Throws std::bad_alloc.
  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{cache_line_bytes}));
  }
  /// Frees what allocate() gave.
  void deallocate(T* memory, std::size_t /*count*/) noexcept {
    ::operator delete (memory, std::align_val_t{cache_line_bytes});
  }
  friend bool operator==(const CacheLineAllocator& /*a*/, const CacheLineAllocator& /*b*/) noexcept {
    return true;
  }
};

template <typename T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace dashlab
