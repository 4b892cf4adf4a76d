// SPDX-License-Identifier: Apache-2.0
// The data types that operators of a chip accept, where a public document says so
// (accepted_types_910b.txt). What no document tells is accepted.
#pragma once

#include <cstdint>

#include "../torch/instead.h"

namespace npusim {

struct AcceptedTypes {
  const char* name;  // the operator's, without aclnn
  uint8_t place;     // the number of the argument
  const char* parameter;
  uint64_t types;  // a bit for each aclDataType
  const char* document;
};
extern const AcceptedTypes accepted_types[];  // an operator's parameters stand together
extern const int accepted_types_count;

// The first parameter of an operator; null where nothing is known of it.
const AcceptedTypes* acceptedTypesOf(const char* name);

// Refuses arguments of other types, as the first function of an operator does. `known` is what
// acceptedTypesOf() gave.
int checkTypes(const AcceptedTypes* known, const RawArgument* arguments, size_t count) noexcept;

}  // namespace npusim
