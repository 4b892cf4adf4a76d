// SPDX-License-Identifier: Apache-2.0
// Static initialisers of older torch_npu wheels register operator prototypes with the graph
// engine. There is no graph engine here, so these constructors do nothing; without them every
// import would print what is not implemented.
#define NPUSIM_IGNORED(id, mangled)                                                       \
  extern "C" __attribute__((visibility("default"))) void ignored_##id() __asm__(mangled); \
  void ignored_##id() {}

NPUSIM_IGNORED(1, "_ZN2ge12AscendStringC1EPKc")
NPUSIM_IGNORED(2, "_ZN2ge23OperatorCreatorRegisterC1EPKcRKSt8function"
                  "IFNS_8OperatorERKNS_12AscendStringEEE")
