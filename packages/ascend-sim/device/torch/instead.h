// SPDX-License-Identifier: Apache-2.0
// Where an operator of this device hands a call over to PyTorch: see instead.cpp for when.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npusim {

// An argument as the C function got it.
struct RawArgument {
  enum class Type { Pointer, Integer, Floating, Text } type;
  union {
    void* pointer;
    int64_t integer;
    double floating;
    const char* text;
  };

  RawArgument(void* value) : type(Type::Pointer), pointer(value) {}
  RawArgument(const char* value) : type(Type::Text), text(value) {}
  RawArgument(double value) : type(Type::Floating), floating(value) {}
  RawArgument(float value) : type(Type::Floating), floating(value) {}
  RawArgument(bool value) : type(Type::Integer), integer(value) {}
  RawArgument(int8_t value) : type(Type::Integer), integer(value) {}
  RawArgument(int32_t value) : type(Type::Integer), integer(value) {}
  RawArgument(int64_t value) : type(Type::Integer), integer(value) {}
};

// Whether PyTorch carries out this call, which is planned then, or refused with `code`.
bool insteadByTorch(const char* name, const RawArgument* arguments, size_t count,
                    uint64_t* workspace, void** executor, int& code) noexcept;

}  // namespace npusim
