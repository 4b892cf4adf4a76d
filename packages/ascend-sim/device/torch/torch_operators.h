// SPDX-License-Identifier: Apache-2.0
// Operators that the PyTorch of this process carries out (npusim_torch/table.py says which). What a
// call gives is copied when it is planned: a caller may release all of it before the call runs.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "../aclnn/entry.h"
#include "instead.h"

namespace npusim {

struct TorchOperator {
  const char* name;
  const char* signature;  // as Operator.signature in table.py
};
extern const TorchOperator torch_operators[];  // sorted by name
extern const int torch_operator_count;

// A copy of an argument; Null stands for a handle that was not given.
struct Null {};
using TensorItems = std::vector<std::optional<Tensor>>;
using ScalarItems = std::vector<Scalar>;
using Value = std::variant<Null, bool, int64_t, double, std::string, Tensor, Scalar, Shape,
                           std::vector<double>, std::vector<bool>, TensorItems, ScalarItems>;
using NamedValue = std::pair<std::string, Value>;

// Views whose shapes the operator found out, by the index of the argument.
using FoundShapes = std::vector<std::pair<size_t, Shape>>;

// The C function of a name in the table, see Operator.function in table.py.
std::string functionName(const std::string& name);

// The index of a name in the table, or -1.
int torchOperatorIndex(const std::string& name);

// The call of an operator with copies of its arguments; throws where they are not of its types.
std::function<void()> torchCall(int index, const std::vector<RawArgument>& arguments);

// Refuses first what the chip does not take.
int checkAndPlanByTorch(int index, const std::vector<RawArgument>& arguments, uint64_t* workspace,
                        void** executor) noexcept;
int planByTorch(int index, const std::vector<RawArgument>& arguments, uint64_t* workspace,
                void** executor) noexcept;

// Calls the operator of the older interface (name without '@'), with as many inputs as are given;
// returns shapes by the number of the output.
FoundShapes runByTorch(const std::string& type, const std::vector<Value>& inputs,
                const std::vector<Value>& outputs, const std::vector<NamedValue>& attributes);

}  // namespace npusim
