// SPDX-License-Identifier: Apache-2.0
// Operators of the older interface (aclop), to which torch_npu turns where a newer form is missing.
// PyTorch carries them out; the table's names for them begin with '@'.
#include <algorithm>

#include "../aclnn/accepted_types.h"
#include "../aclnn/matmul.h"
#include "../runtime/device_faults.h"
#include "../runtime/devices.h"
#include "../runtime/operator_descriptions.h"
#include "../runtime/streams.h"
#include "element_types.h"
#include "torch_operators.h"

using namespace npusim;

namespace npusim {

struct OperatorAttr {
  static constexpr Kind kKind = Kind::OperatorAttr;
  std::vector<NamedValue> values;
};

}  // namespace npusim

namespace {

void add(void* attr, const char* name, const Value& value) {
  opened<OperatorAttr>(attr)->values.emplace_back(&given(name), value);
}

int setAttr(void* attr, const char* name, const Value& value) {
  return guarded([&] { add(attr, name, value); });
}

void requireItems(int count, const void* items) {
  if (count < 0 || (items == nullptr && count != 0)) {
    throw Error(kInvalidParam, "a list of " + std::to_string(count) + " items is missing (null)");
  }
}

template <class List, class Element>
int setList(void* attr, const char* name, int count, const Element* values) {
  return guarded([&] {
    requireItems(count, values);
    add(attr, name, List(values, values + count));
  });
}

// A dense view of what a description and a buffer tell; nothing where the operator lacks an input.
Value tensorOf(const void* description, const void* buffer) {
  const int undefined = -1;
  const auto desc = opened<TensorDesc>(description);
  const auto memory = opened<DataBuffer>(buffer);
  const Shape dims(desc->dims.begin(), desc->dims.end());
  if (desc->dtype == undefined || (memory->data == nullptr && product(dims) != 0)) return Null{};
  const auto data = static_cast<uint8_t*>(memory->data);
  Tensor result{static_cast<DataType>(desc->dtype), dims, denseStrides(dims), 0, data};
  if (desc->on_host && data != nullptr) {
    if (memory->size / bytesOfElement(result.dtype) < static_cast<size_t>(result.size())) {
      throw Error(kInvalidParam, "an input in the host's memory is larger than its buffer");
    }
    result.from_host = std::make_shared<std::vector<uint8_t>>(data, data + memory->size);
    result.storage = result.from_host->data();
  }
  return result;
}

template <class Handles>
std::vector<Value> tensorsOf(int count, const Handles& descriptions, const Handles& buffers) {
  std::vector<Value> values;
  requireItems(count, descriptions);
  requireItems(count, buffers);
  for (int i = 0; i < count; ++i) values.push_back(tensorOf(descriptions[i], buffers[i]));
  return values;
}

// The operator of the newer interface whose documents say what products take; null for all others.
const char* productOf(const std::string& type) {
  if (type == "MatMul" || type == "MatMulV2") return "Matmul";
  return type == "BatchMatMul" || type == "BatchMatMulV2" ? "BatchMatMul" : nullptr;
}

// Whether the documents deny an input its type. Beside the numbers, a convolution has inputs that
// say how large its result is.
bool isDenied(const std::string& type, size_t input, DataType dtype) {
  if (const char* product = productOf(type)) return !isAccepted(product, input, dtype);
  const size_t weight = 1;
  return type.rfind("Conv2D", 0) == 0 && isFloating(dtype) &&
         !isAccepted("Convolution", weight, dtype);
}

// Operators that move numbers and do not compute with them.
bool isMove(const std::string& type) {
  static const char* moves[] = {"Identity", "TransData", "Transpose", "ReverseV2", "ConcatD", "Pack",
                                "BroadcastTo", "Tile", "Slice", "StridedSlice", "AsStrided",
                                "ViewCopy", "Cast"};
  return std::find(std::begin(moves), std::end(moves), type) != std::end(moves);
}

// What CANN's engine says where it has no kernel (compile_nodes_pass.cc of hicann/ge). The first
// chips have none for bfloat16 (support_bf16 of platform_config in hicann/runtime).
void requireTaken(const std::string& type, const std::vector<Value>& inputs) {
  for (size_t i = 0; i < inputs.size() && !isLenient(); ++i) {
    const auto* tensor = std::get_if<Tensor>(&inputs[i]);
    if (tensor == nullptr || tensor->size() == 0) continue;
    const bool without = isFirstGeneration() && tensor->dtype == DataType::Bfloat16;
    if (without ? isMove(type) : !isDenied(type, i, tensor->dtype)) continue;
    throw Error(kNoEngine, "EZ3003: No supported Ops kernel and engine are found for [" + type +
                               "], optype [" + type + "]: " + socName() + " does not take " + nameOfType(tensor->dtype) +
                               " as input " + std::to_string(i) + ". NPUSIM_LENIENT=1 lets it pass here");
  }
}

bool isTrue(const std::vector<NamedValue>& attributes, const char* name) {
  for (const auto& [key, value] : attributes) {
    if (key == name && std::holds_alternative<bool>(value)) return std::get<bool>(value);
  }
  return false;
}

Tensor transposedIf(bool wanted, Tensor matrix) {
  if (wanted && matrix.rank() >= 2) {
    const size_t last = matrix.shape.size() - 1;
    std::swap(matrix.shape[last], matrix.shape[last - 1]);
    std::swap(matrix.strides[last], matrix.strides[last - 1]);
  }
  return matrix;
}

// The products of the first chips, whose numbers are rounded (aclnn/matmul.cpp).
bool storedProduct(const std::string& type, const std::vector<Value>& inputs,
                   const std::vector<Value>& outputs, const std::vector<NamedValue>& attributes) {
  if (!isFirstGeneration() || productOf(type) == nullptr) return false;
  if (inputs.size() < 2 || outputs.size() != 1) return false;
  for (const auto* values : {&inputs, &outputs}) {
    for (const Value& value : *values) {
      const auto* tensor = std::get_if<Tensor>(&value);
      if (tensor == nullptr ? !std::holds_alternative<Null>(value) : !isSimulated(tensor->dtype)) {
        return false;
      }
    }
  }
  const bool batches = std::string(productOf(type)) == "BatchMatMul";
  const auto& bias = inputs.size() > 2 ? inputs[2] : Value(Null{});
  storeProduct(transposedIf(isTrue(attributes, batches ? "adj_x1" : "transpose_x1"),
                            std::get<Tensor>(inputs[0])),
               transposedIf(isTrue(attributes, batches ? "adj_x2" : "transpose_x2"),
                            std::get<Tensor>(inputs[1])),
               std::get_if<Tensor>(&bias), std::get<Tensor>(outputs[0]));
  return true;
}

// Where a caller waits for shapes that the operator finds out, it sees them in its descriptions.
template <class Inputs, class Outputs>
int run(const char* type, int input_count, const Inputs& inputs, const Inputs& input_buffers,
        int output_count, const Inputs& outputs, const Outputs& output_buffers, const void* attr,
        Stream stream, bool waits) {
  return guarded([&] {
    if (torchOperatorIndex("@" + std::string(&given(type))) < 0) {
      throw Error(kOperatorNotFound,
                  std::string("operator ") + type + " is not simulated in its aclop form");
    }
    const auto given_in = tensorsOf(input_count, inputs, input_buffers);
    requireTaken(type, given_in);
    const auto shapes = std::make_shared<FoundShapes>();
    const auto& buffers = reinterpret_cast<const Inputs&>(output_buffers);
    submit(stream, [shapes, type = std::string(type), given_in,
                    given_out = tensorsOf(output_count, outputs, buffers),
                    named = attr ? opened<OperatorAttr>(attr)->values : std::vector<NamedValue>{}] {
      launch(type, [&] {
        if (storedProduct(type, given_in, given_out, named)) return;
        *shapes = runByTorch(type, given_in, given_out, named);
      });
    });
    for (const auto& [number, shape] : *shapes) {
      if (waits) opened<TensorDesc>(outputs[number])->dims.assign(shape.begin(), shape.end());
    }
  });
}

}  // namespace

NPUSIM_API void* aclopCreateAttr() { return publish(std::make_shared<OperatorAttr>()); }
NPUSIM_API void aclopDestroyAttr(const void* attr) {
  guarded([&] { withdrawn<OperatorAttr>(attr); });
}
NPUSIM_API int aclopSetAttrBool(void* attr, const char* name, uint8_t value) {
  return setAttr(attr, name, value != 0);
}
NPUSIM_API int aclopSetAttrInt(void* attr, const char* name, int64_t value) {
  return setAttr(attr, name, value);
}
NPUSIM_API int aclopSetAttrFloat(void* attr, const char* name, float value) {
  return setAttr(attr, name, static_cast<double>(value));
}
NPUSIM_API int aclopSetAttrString(void* attr, const char* name, const char* value) {
  return value == nullptr ? int{kInvalidParam} : setAttr(attr, name, std::string(value));
}
NPUSIM_API int aclopSetAttrDataType(void* attr, const char* name, int32_t value) {
  return setAttr(attr, name, static_cast<int64_t>(value));
}
NPUSIM_API int aclopSetAttrListBool(void* attr, const char* name, int count,
                                    const uint8_t* values) {
  return setList<std::vector<bool>>(attr, name, count, values);
}
NPUSIM_API int aclopSetAttrListInt(void* attr, const char* name, int count,
                                   const int64_t* values) {
  return setList<Shape>(attr, name, count, values);
}
NPUSIM_API int aclopSetAttrListFloat(void* attr, const char* name, int count,
                                     const float* values) {
  return setList<std::vector<double>>(attr, name, count, values);
}
NPUSIM_API int aclopSetAttrListListInt(void* attr, const char* name, int count, const int* sizes,
                                       const int64_t* const* values) {
  return guarded([&] {
    Shape all;
    requireItems(count, sizes);
    requireItems(count, values);
    for (int i = 0; i < count; ++i) {
      requireItems(sizes[i], values[i]);
      all.insert(all.end(), values[i], values[i] + sizes[i]);
    }
    add(attr, name, all);
  });
}

NPUSIM_API int aclopCompileAndExecute(const char* type, int input_count, const void* const* inputs,
                                      const void* const* input_buffers, int output_count,
                                      const void* const* outputs, void* const* output_buffers,
                                      const void* attr, int, int, const char*, Stream stream) {
  return run(type, input_count, inputs, input_buffers, output_count, outputs, output_buffers,
             attr, stream, false);
}
NPUSIM_API int aclopCompileAndExecuteV2(const char* type, int input_count, void** inputs,
                                        void** input_buffers, int output_count, void** outputs,
                                        void** output_buffers, void* attr, int, int, const char*,
                                        Stream stream) {
  return run(type, input_count, inputs, input_buffers, output_count, outputs, output_buffers,
             attr, stream, true);
}
