// SPDX-License-Identifier: Apache-2.0
// There is no graph engine here: it can be loaded, as torchair does when it is imported, but not be
// initialised. torchair raises the message below then.
// CANN has the older C++ ABI of GCC, in which the name of a function that returns a text has no tag.
#define _GLIBCXX_USE_CXX11_ABI 0
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace ge {

// The layout is CANN's: programs copy it themselves.
class __attribute__((visibility("default"))) AscendString {
 public:
  AscendString(const char* text);  // NOLINT: implicit in CANN, too
  const char* GetString() const;
  bool operator<(const AscendString& other) const;
  bool operator==(const AscendString& other) const;

 private:
  std::shared_ptr<std::string> text_;
};

AscendString::AscendString(const char* text)
    : text_(text == nullptr ? nullptr : std::make_shared<std::string>(text)) {}

const char* AscendString::GetString() const { return text_ ? text_->c_str() : ""; }

bool AscendString::operator<(const AscendString& other) const {
  return std::string(GetString()) < other.GetString();
}

bool AscendString::operator==(const AscendString& other) const {
  return std::string(GetString()) == other.GetString();
}

class Operator;

// Static initialisers of older torch_npu wheels register operator prototypes.
class __attribute__((visibility("default"))) OperatorCreatorRegister {
 public:
  OperatorCreatorRegister(const char* type,
                          const std::function<Operator(const AscendString&)>& creator);
};

OperatorCreatorRegister::OperatorCreatorRegister(
    const char*, const std::function<Operator(const AscendString&)>&) {}

constexpr std::uint32_t kFailed = 0xFFFFFFFF;

__attribute__((visibility("default"))) std::uint32_t GEInitialize(
    const std::map<AscendString, AscendString>&) {
  return kFailed;
}

__attribute__((visibility("default"))) std::string GEGetErrorMsg() {
  return "cannery: CANN's graph engine is not simulated: run without torchair's graphs";
}

__attribute__((visibility("default"))) AscendString GEGetWarningMsgV2() { return nullptr; }

}  // namespace ge
