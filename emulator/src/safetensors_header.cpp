// Reading the safetensors header as a stream of JSON events. A tree would let 10 MB of brackets eat the
// stack; here the first bracket in a place where the format has none ends the reading.
#include "safetensors_header.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "dashlab/core/error.hpp"

namespace dashlab::safetensors {

namespace {

constexpr std::size_t most_tensors = 100'000;
constexpr std::size_t most_dimensions = 16;

/// Text from the file inside a message: short and printable.
std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 60)) out += (c >= ' ' && c < 127) ? c : '?';
  return out + (text.size() > 60 ? "...'" : "'");
}

/// The events of nlohmann's SAX reader (its names and signatures), as a machine with five places.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  Header header;
  std::string problem;

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_float(double, const std::string& text) override { return refuse("the number " + text); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool number_integer(std::int64_t) override { return refuse("a negative number"); }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ != Place::list) return refuse("a number");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return fail(fmt::format("number {} is out of range in {}", value, shown(name_)));
    auto& list = key_ == "shape" ? tensor_.shape : tensor_.offsets;
    if (list.size() == most_dimensions)
      return fail(fmt::format("'{}' of {} is too long", key_, shown(name_)));
    list.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      if (!header.metadata.emplace(key_, value).second)
        return fail(fmt::format("metadata key {} appears twice", shown(key_)));
      return true;
    }
    if (place_ == Place::tensor && key_ == "dtype") {
      tensor_.dtype = value;
      return true;
    }
    return refuse("a string");
  }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::outside:
        place_ = Place::top;
        return true;
      case Place::top:
        if (name_ == "__metadata__") {
          if (std::exchange(metadata_seen_, true)) return fail("'__metadata__' appears twice");
          place_ = Place::metadata;
        } else {
          place_ = Place::tensor;
          tensor_ = {};
          seen_ = {};
        }
        return true;
      default:
        return refuse("an object");
    }
  }

  bool key(std::string& value) override {
    if (place_ == Place::top) {
      name_ = value;
      return header.tensors.contains(name_) ? fail(fmt::format("tensor {} appears twice", shown(name_)))
                                            : true;
    }
    key_ = value;
    if (place_ == Place::metadata) return true;
    constexpr std::array<std::string_view, 3> keys{"dtype", "shape", "data_offsets"};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (value != keys[i]) continue;
      if (std::exchange(seen_[i], true))
        return fail(fmt::format("'{}' appears twice in {}", value, shown(name_)));
      return true;
    }
    return fail(fmt::format("unknown key {} in {}", shown(value), shown(name_)));
  }

  bool end_object() override {
    if (place_ == Place::tensor) {
      if (!seen_[0] || !seen_[1] || !seen_[2])
        return fail(fmt::format("tensor {} lacks dtype, shape or data_offsets", shown(name_)));
      if (header.tensors.size() == most_tensors) return fail("too many tensors");
      header.tensors.emplace(name_, std::move(tensor_));
      place_ = Place::top;
    } else if (place_ == Place::metadata) {
      place_ = Place::top;
    } else {
      place_ = Place::outside;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || key_ == "dtype") return refuse("a list");
    place_ = Place::list;
    return true;
  }

  bool end_array() override {
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    return fail(fmt::format("the JSON is malformed at byte {}", position));
  }

 private:
  enum class Place { outside, top, metadata, tensor, list };

  bool fail(std::string message) {
    if (problem.empty()) problem = std::move(message);
    return false;
  }
  bool refuse(const std::string& what) {
    if (place_ == Place::outside) return fail(what + " where the header object should start");
    return fail(fmt::format("{} in {} where the format has none", what, shown(name_)));
  }

  Place place_ = Place::outside;
  std::string name_, key_;
  HeaderTensor tensor_;
  std::array<bool, 3> seen_{};
  bool metadata_seen_ = false;
};

}  // namespace

Header read_header(std::string_view text, const std::string& path) {
  Reader reader;
  const bool done = nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  if (!done || !reader.problem.empty())
    throw BadInput(
        fmt::format("{}: bad safetensors header: {}; save the tensors again", path, reader.problem));
  return std::move(reader.header);
}

std::size_t element_size(std::string_view dtype) noexcept {
  constexpr std::array<std::pair<std::string_view, std::size_t>, 15> sizes{{{"BOOL", 1},
                                                                            {"U8", 1},
                                                                            {"I8", 1},
                                                                            {"F8_E4M3", 1},
                                                                            {"F8_E5M2", 1},
                                                                            {"U16", 2},
                                                                            {"I16", 2},
                                                                            {"F16", 2},
                                                                            {"BF16", 2},
                                                                            {"U32", 4},
                                                                            {"I32", 4},
                                                                            {"F32", 4},
                                                                            {"U64", 8},
                                                                            {"I64", 8},
                                                                            {"F64", 8}}};
  for (const auto& [name, size] : sizes)
    if (name == dtype) return size;
  return 0;
}

}  // namespace dashlab::safetensors
