// SPDX-License-Identifier: Apache-2.0
// `npu-smi info -t topo`: how each pair of chips is connected.
#include <cstdio>

#include "show.h"

namespace npusim {
namespace {

std::string label(const Host& host, const Chip& chip) {
  return (host.layout() == Layout::AtlasA3 ? "Phy-ID" : "NPU") + std::to_string(chip.physical);
}

const char* link(const Host& host, const Chip& a, const Chip& b) {
  if (a.physical == b.physical) return "X";
  switch (host.layout()) {
    case Layout::Atlas: return "HCCS";
    case Layout::AtlasA3: return a.npu == b.npu ? "SIO" : "HCCS_SW";
    default: return "NA";  // no source tells it
  }
}

}  // namespace

void showTopology(const Host& host) {
  std::printf("%-11s", "");
  for (const Chip& chip : host.chips) std::printf("%-11s", label(host, chip).c_str());
  std::puts("CPU Affinity");
  for (const Chip& a : host.chips) {
    std::printf("%-11s", label(host, a).c_str());
    for (const Chip& b : host.chips) std::printf("%-11s", link(host, a, b));
    std::puts("NA");
  }
  std::puts("\nLegend:\n\n  X    = Self\n  HCCS = Connection traversing HCCS.");
  if (host.layout() == Layout::AtlasA3) {
    std::puts("  SIO  = Path traversing the SIO bus\n"
              "  HCCS_SW = Connection traversing HCCS through a switch");
  }
  std::puts("  NA   = Unknown relationship.");
}

}  // namespace npusim
