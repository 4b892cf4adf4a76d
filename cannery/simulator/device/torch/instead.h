// SPDX-License-Identifier: Apache-2.0
// Where an operator of this device hands a call over to PyTorch: see instead.cpp for when.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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

// The index of a name in the table of torch_operators.h, or -1.
int torchOperatorIndex(const std::string& name);

// The call as PyTorch carries it out, or nothing where the device's own operator does.
std::function<void()> insteadByTorch(int index, const std::vector<RawArgument>& arguments);

}  // namespace npusim
