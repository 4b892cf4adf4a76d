// SPDX-License-Identifier: Apache-2.0
#include "operation.h"

#include <atomic>
#include <cstdio>
#include <list>
#include <memory>
#include <utility>

extern "C" int aclrtLaunchHostFunc(npusim::Stream stream, void (*function)(void*), void* data);

namespace npusim {

// torch_npu ignores what Execute returns, so that a failure must be seen elsewhere.
int report(int code, const std::string& message) {
  std::fprintf(stderr, "npusim: ATB: %s (error %d)\n", message.c_str(), code);
  return code;
}

}  // namespace npusim

namespace atb {
namespace {

class OneStream final : public Context {
 public:
  Status SetExecuteStream(Stream stream) override {
    stream_ = stream;
    return npusim::kSuccess;
  }
  Stream GetExecuteStream() const override { return stream_; }
  Status SetAsyncTilingCopyStatus(bool enable) override {
    asynchronous_ = enable;
    return npusim::kSuccess;
  }
  bool GetAsyncTilingCopyStatus() const override { return asynchronous_; }

 private:
  Stream stream_ = nullptr;
  bool asynchronous_ = false;
};

// One call, with copies of what lies in the host's memory: that may be gone at a replay.
class Call {
 public:
  Call(const VariantPack& pack, const Description& description) : description_(description) {
    for (const Tensor& each : pack.inputs) arguments_.inputs.push_back(kept(each));
    for (const Tensor& each : pack.outputs) arguments_.outputs.push_back(each);
  }

  static void run(void* call) {
    auto* self = static_cast<Call*>(call);
    self->status_ = npusim::guarded([&] { self->description_.compute(self->arguments_); });
    self->ran_ = true;
  }

  bool ran() const { return ran_; }
  Status status() const { return status_; }

 private:
  Tensor kept(Tensor tensor) {
    if (tensor.deviceData == nullptr && tensor.hostData != nullptr) {
      const auto* from = static_cast<const char*>(tensor.hostData);
      tensor.hostData = copies_.emplace_back(from, from + tensor.bytes).data();
    }
    return tensor;
  }

  Description description_;
  Arguments arguments_;
  std::list<std::vector<char>> copies_;
  std::atomic<bool> ran_{false};
  Status status_ = npusim::kSuccess;
};

class Simulated final : public Operation {
 public:
  explicit Simulated(Description description) : description_(std::move(description)) {}

  std::string GetName() const override { return description_.name; }
  uint32_t GetInputNum() const override { return description_.inputs; }
  uint32_t GetOutputNum() const override { return description_.outputs; }

  Status InferShape(const SVector<TensorDesc>&, SVector<TensorDesc>&) const override {
    return npusim::report(npusim::kNotSupported, GetName() + ": InferShape is not simulated");
  }

  Status Setup(const VariantPack& pack, uint64_t& workspaceBytes, Context*) override {
    workspaceBytes = 0;
    if (pack.inputs.size() == description_.inputs && pack.outputs.size() == description_.outputs) {
      return npusim::kSuccess;
    }
    return npusim::report(npusim::kInvalidParam, GetName() + ": a wrong number of tensors");
  }

  Status Execute(const VariantPack& pack, uint8_t*, uint64_t, Context* context) override {
    return npusim::guarded([&] {
      auto call = std::make_unique<Call>(pack, description_);
      const int code =
          aclrtLaunchHostFunc(npusim::given(context).GetExecuteStream(), Call::run, call.get());
      if (code == npusim::kSuccess && !call->ran()) {
        call.release();  // it belongs to the graph that is being captured, or waits in the stream
      } else if (code != npusim::kSuccess || call->status() != npusim::kSuccess) {
        throw npusim::Error(code != npusim::kSuccess ? code : call->status(), GetName());
      }
    });
  }

 private:
  Description description_;
};

}  // namespace

const Tensor& Arguments::at(const std::vector<Tensor>& tensors, size_t index) {
  if (index >= tensors.size()) throw npusim::Error(npusim::kInvalidParam, "too few tensors");
  return tensors[index];
}

Status create(Operation** operation, Description description) {
  npusim::given(operation) = new Simulated(std::move(description));
  return npusim::kSuccess;
}

void requireSimulated(bool simulated, const char* what) {
  if (!simulated) throw npusim::Error(npusim::kNotSupported, std::string(what) + " is not simulated");
}

#define NPUSIM_EXPORT __attribute__((visibility("default")))

NPUSIM_EXPORT Status DestroyOperation(Operation* operation) {
  delete operation;
  return npusim::kSuccess;
}

NPUSIM_EXPORT Status CreateContext(Context** context) {
  return npusim::guarded([&] { npusim::given(context) = new OneStream; });
}

NPUSIM_EXPORT Status DestroyContext(Context* context) {
  delete context;
  return npusim::kSuccess;
}

class Utils {
 public:
  NPUSIM_EXPORT static uint64_t GetTensorSize(const Tensor& tensor);
};

uint64_t Utils::GetTensorSize(const Tensor& tensor) {
  uint64_t bytes = 0;
  npusim::guarded([&] {
    const Rows rows(tensor);
    bytes = rows.count() * rows.elementBytes();
  });
  return bytes;
}

}  // namespace atb
