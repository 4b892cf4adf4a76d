// SPDX-License-Identifier: Apache-2.0
#include "marshal.h"

#include <cstring>

#include "element_types.h"

namespace npusim {
namespace {

// Appends one value after another. The letters are those of Python/marshal.c.
class Marshal {
 public:
  explicit Marshal(CallMemory* memory = nullptr) : memory_(memory) {}

  std::string bytes;

  void operator()(const Null&) { bytes += 'N'; }
  void operator()(bool value) { bytes += value ? 'T' : 'F'; }
  void operator()(int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) {
      bytes += 'i';
      append(static_cast<int32_t>(value));
      return;
    }
    constexpr int kBits = 15;
    std::vector<uint16_t> digits;
    uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    for (; rest != 0; rest >>= kBits) digits.push_back(rest & ((1u << kBits) - 1));
    const auto count = static_cast<int32_t>(digits.size());
    bytes += 'l';
    append(value < 0 ? -count : count);
    for (uint16_t digit : digits) append(digit);
  }
  void operator()(double value) {
    bytes += 'g';
    append(value);
  }
  // Names and settings of operators are ASCII; Python would refuse what is no UTF-8.
  void operator()(const std::string& value) {
    bytes += 'u';
    append(static_cast<int32_t>(value.size()));
    for (char letter : value) bytes += static_cast<unsigned char>(letter) < 128 ? letter : '?';
  }
  void operator()(const std::optional<Tensor>& value) {
    value ? (*this)(*value) : (*this)(Null{});
  }
  void operator()(const Scalar& value) {
    if (isComplex(value.dtype)) {
      bytes += 'y';
      append(value.real);
      append(value.imaginary);
    } else if (value.dtype == DataType::Bool) {
      (*this)(value.integer != 0);
    } else if (isFloating(value.dtype)) {
      (*this)(value.real);
    } else {
      (*this)(value.integer);
    }
  }
  // Where it lies is None without elements, else (file, bytes from its start, elements up to the
  // last one of the view).
  void operator()(const Tensor& value) {
    requireDeviceMemory(value);
    int64_t elements = value.size() == 0 ? 0 : 1;
    for (size_t i = 0; elements > 0 && i < value.shape.size(); ++i) {
      if (value.strides[i] < 0) throw Error(kAclnnInvalidParam, "a tensor has a negative stride");
      elements += (value.shape[i] - 1) * value.strides[i];
    }
    beginTuple(4);
    if (elements == 0) {
      (*this)(Null{});
    } else {
      const auto size = static_cast<int64_t>(bytesOfElement(value.dtype));
      const Place place = memory_->place(value.storage + value.offset * size,
                                         static_cast<size_t>(elements * size));
      beginTuple(3);
      (*this)(static_cast<int64_t>(place.file));
      (*this)(static_cast<int64_t>(place.offset));
      (*this)(elements);
    }
    (*this)(static_cast<int64_t>(value.dtype));
    (*this)(value.shape);
    (*this)(value.strides);
  }
  template <class Item>
  void operator()(const std::vector<Item>& values) {
    beginTuple(values.size());
    for (const auto& value : values) (*this)(static_cast<const Item&>(value));
  }
  void operator()(const Value& value) { std::visit(*this, value); }
  void operator()(const NamedValue& pair) {
    beginTuple(2);
    (*this)(pair.first);
    (*this)(pair.second);
  }

  void beginTuple(size_t items) {
    bytes += '(';
    append(static_cast<int32_t>(items));
  }

 private:
  // Both architectures are little-endian, as the format is.
  template <class Number>
  void append(Number value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof value);
  }

  CallMemory* memory_;
};

}  // namespace

std::string marshalled(const std::string& name, const std::vector<Value>& arguments,
                       const std::vector<NamedValue>& attributes, CallMemory& memory) {
  Marshal marshal(&memory);
  marshal.beginTuple(4);
  marshal(name);
  marshal(arguments);
  marshal(attributes);
  return std::move(marshal.bytes);
}

std::string marshalled(const std::vector<int>& files) {
  Marshal marshal;
  marshal.beginTuple(files.size());
  for (int file : files) marshal(static_cast<int64_t>(file));
  return std::move(marshal.bytes);
}

}  // namespace npusim
