// Range algorithms of C++20 that the standard library of emscripten 3.1 (LLVM 14) does not have yet, as far
// as core uses them. Included before everything else, in the playground's build only.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <ranges>
#include <utility>

namespace std::ranges {  // NOLINT(cert-dcl58-cpp): it stands in for the library

template <typename R, typename P = identity>
constexpr auto count(R&& range, const auto& value, P projection = {}) {
  return std::count_if(begin(range), end(range),
                       [&](const auto& x) { return invoke(projection, x) == value; });
}
template <typename R, typename P = identity>
constexpr auto find(R&& range, const auto& value, P projection = {}) {
  return std::find_if(begin(range), end(range),
                      [&](const auto& x) { return invoke(projection, x) == value; });
}
template <typename R, typename T, typename P = identity>
constexpr auto find_if(R&& range, T test, P projection = {}) {
  return std::find_if(begin(range), end(range),
                      [&](const auto& x) { return invoke(test, invoke(projection, x)); });
}
template <typename R, typename T, typename P = identity>
constexpr bool all_of(R&& range, T test, P projection = {}) {
  return std::all_of(begin(range), end(range),
                     [&](const auto& x) { return invoke(test, invoke(projection, x)); });
}
template <typename R, typename T, typename P = identity>
constexpr bool any_of(R&& range, T test, P projection = {}) {
  return std::any_of(begin(range), end(range),
                     [&](const auto& x) { return invoke(test, invoke(projection, x)); });
}
template <typename C, typename P>
constexpr auto compared(C& compare, P& projection) {
  return [&](const auto& a, const auto& b) {
    return static_cast<bool>(invoke(compare, invoke(projection, a), invoke(projection, b)));
  };
}
template <typename R, typename C = less, typename P = identity>
constexpr bool is_sorted(R&& range, C compare = {}, P projection = {}) {
  return std::is_sorted(begin(range), end(range), compared(compare, projection));
}
template <typename R, typename C = less, typename P = identity>
constexpr void sort(R&& range, C compare = {}, P projection = {}) {
  std::sort(begin(range), end(range), compared(compare, projection));
}
template <typename R, typename C = less, typename P = identity>
constexpr void stable_sort(R&& range, C compare = {}, P projection = {}) {
  std::stable_sort(begin(range), end(range), compared(compare, projection));
}
template <typename R, typename C = less, typename P = identity>
constexpr auto max_element(R&& range, C compare = {}, P projection = {}) {
  return std::max_element(begin(range), end(range), compared(compare, projection));
}
template <typename R, typename C = less, typename P = identity>
constexpr auto min_element(R&& range, C compare = {}, P projection = {}) {
  return std::min_element(begin(range), end(range), compared(compare, projection));
}
template <typename R>
constexpr auto max(R&& range) {
  return *std::max_element(begin(range), end(range));
}
template <typename I>
constexpr void reverse(I first, I last) {
  std::reverse(first, last);
}
template <typename R>
constexpr void reverse(R&& range) {
  std::reverse(begin(range), end(range));
}
template <typename R, typename O>
constexpr auto copy(R&& range, O out) {
  struct Ends {
    decltype(begin(range)) in;
    O out;
  };
  return Ends{end(range), std::copy(begin(range), end(range), out)};
}
template <typename R, typename O>
constexpr void move(R&& range, O out) {
  std::move(begin(range), end(range), out);
}
template <typename A, typename B>
constexpr bool equal(A&& a, B&& b) {
  return std::equal(begin(a), end(a), begin(b), end(b));
}
template <typename R, typename O, typename F>
constexpr void transform(R&& range, O out, F function) {
  for (auto at = begin(range); at != end(range); ++at, ++out) *out = invoke(function, *at);
}

}  // namespace std::ranges
