// SPDX-License-Identifier: Apache-2.0
// The table of `npu-smi info`: two rows for each chip, then the processes.
#include <cstdio>

#include "show.h"

namespace npusim {
namespace {

constexpr int kWidth = 96;  // between the outer borders

using Cells = std::vector<int>;
const Cells kWhole = {kWidth}, kDevice = {27, 15, 52};

void line(const Cells& cells, char fill) {
  std::string text = "+";
  for (int width : cells) text += std::string(static_cast<size_t>(width), fill) + "+";
  std::puts(text.c_str());
}

void showHeader(const Host& host) {
  const std::string& version = host.driver_version;
  std::string title = "npu-smi " + version;
  title += std::string(title.size() < 33 ? 33 - title.size() : 1, ' ') + "Version: " + version;
  line(kWhole, '-');
  std::printf("| %-95s|\n", title.c_str());
  line(kDevice, '-');
  std::puts("| NPU   Name                | Health        | Power(W)    Temp(C)           "
            "Hugepages-Usage(page)|");
  std::printf("| Chip  %-20s| Bus-Id        | AICore(%%)   Memory-Usage(MB)  "
              "HBM-Usage(MB)        |\n", host.two_chips ? "Phy-ID" : "");
  line(kDevice, '=');
}

void showChip(const Host& host, const Chip& chip, bool last_of_card) {
  const bool first_of_card = chip.number == 0;
  std::printf("| %-6u%-20s| %-14s| %-12s%-18s%-21s|\n", chip.npu, host.shownName().c_str(), "OK",
              first_of_card ? "0.0" : "-", "0", "0    / 0");
  const std::string id = host.two_chips ? std::to_string(chip.physical) : "";
  char hbm[48];
  std::snprintf(hbm, sizeof hbm, "%-5llu/ %llu", static_cast<unsigned long long>(chip.used_mb),
                static_cast<unsigned long long>(host.hbm_mb));
  std::printf("| %-6u%-20s| %-14s| %-12s%-18s%-21s|\n", chip.number, id.c_str(), chip.bus.c_str(),
              "0", "0    / 0", hbm);
  last_of_card ? line(kDevice, '=') : line(kWhole, '-');
}

void showProcesses(const Host& host, uint32_t card) {
  bool any = false;
  for (const Chip& chip : host.chips) {
    if (chip.npu != card) continue;
    for (const ProcessUsage& user : chip.users) {
      any = true;
      std::printf("| %-8u%-18u| %-14d| %-25s| %-24llu|\n", card, chip.number, user.process,
                  user.name, static_cast<unsigned long long>(user.bytes >> 20));
    }
  }
  if (!any) {
    const std::string text = "No running processes found in NPU " + std::to_string(card);
    std::printf("| %-95s|\n", text.c_str());
  }
}

}  // namespace

void showDevices(const Host& host) {
  showHeader(host);
  for (size_t i = 0; i < host.chips.size(); ++i) {
    const bool last = i + 1 == host.chips.size() || host.chips[i + 1].npu != host.chips[i].npu;
    showChip(host, host.chips[i], last);
  }
  line(kDevice, '-');
  std::puts("| NPU     Chip              | Process id    | Process name             "
            "| Process memory(MB)      |");
  line(kDevice, '=');
  for (uint32_t card : host.cards()) {
    showProcesses(host, card);
    line(kDevice, '=');
  }
}

}  // namespace npusim
