// SPDX-License-Identifier: Apache-2.0
// npu-smi for a simulated host: `npu-smi info`, `info -l`, `info -t topo`, in the vendor's layout.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "../hal/open_driver.h"
#include "host.h"

using namespace npusim;

namespace {

constexpr int kWrongUse = 1;
constexpr int kNoDriver = 255;  // the vendor's tool returns -1
constexpr int kWidth = 96;      // between the outer borders of the table

const char kUsage[] =
    "Usage: npu-smi info              all devices\n"
    "       npu-smi info -l           the devices' ids\n"
    "       npu-smi info -t topo      how the devices are connected\n"
    "       npu-smi -h                this help\n"
    "(npu-smi of the simulated driver: it shows no real NPU)\n";

void line(char left, const std::vector<int>& cells, char fill) {
  std::string text(1, left);
  for (int width : cells) text += std::string(width, fill) + left;
  std::puts(text.c_str());
}

void showDevices(const Host& host) {
  const std::vector<int> whole = {kWidth}, cells = {27, 15, 52};
  const std::string version = host.driver_version;
  line('+', whole, '-');
  std::printf("| %-95s|\n", ("npu-smi " + version + std::string(version.size() < 24
                                 ? 25 - version.size() : 1, ' ') + "Version: " + version).c_str());
  line('+', cells, '-');
  std::puts("| NPU   Name                | Health        | Power(W)    Temp(C)           "
            "Hugepages-Usage(page)|");
  std::puts("| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  "
            "HBM-Usage(MB)        |");
  line('+', cells, '=');
  for (size_t i = 0; i < host.chips.size(); ++i) {
    const Chip& chip = host.chips[i];
    std::printf("| %-6zu%-20s| %-14s| %-12s%-18s%-21s|\n", i, chip.name.c_str(), "OK", "0.0", "0",
                "0    / 0");
    char bus[16], hbm[32];
    std::snprintf(bus, sizeof bus, "0000:%02zX:00.0", i + 1);
    std::snprintf(hbm, sizeof hbm, "0    / %llu", static_cast<unsigned long long>(chip.hbm_mb));
    std::printf("| %-26s| %-14s| %-12s%-18s%-21s|\n", "0", bus, "0", "0    / 0", hbm);
    line('+', cells, '=');
  }
}

void showList(const Host& host) {
  std::printf("        %-31s: %zu\n\n", "Total Count", host.chips.size());
  for (size_t i = 0; i < host.chips.size(); ++i) {
    std::printf("        %-31s: %zu\n", "NPU ID", i);
    std::printf("        %-31s: %s\n", "Product Name", "Simulated");
    std::printf("        %-31s: 1\n\n", "Chip Count");
  }
}

void showTopology(const Host& host) {
  std::printf("%-7s", "");
  for (size_t i = 0; i < host.chips.size(); ++i) {
    std::printf("%-11s", ("NPU" + std::to_string(i)).c_str());
  }
  std::puts("CPU Affinity");
  for (size_t row = 0; row < host.chips.size(); ++row) {
    std::printf("%-7s", ("NPU" + std::to_string(row)).c_str());
    for (size_t i = 0; i < host.chips.size(); ++i) std::printf("%-11s", i == row ? "X" : "HCCS");
    std::puts("NA");
  }
  std::puts("\nLegend:\n\n  X    = Self\n  HCCS = Connection traversing HCCS.\n"
            "  NA   = Unknown relationship.");
}

using Show = void (*)(const Host&);

Show chosen(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"info"}) return showDevices;
  if (arguments == std::vector<std::string>{"info", "-l"}) return showList;
  if (arguments == std::vector<std::string>{"info", "-t", "topo"}) return showTopology;
  return nullptr;
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments == std::vector<std::string>{"-h"}) return std::fputs(kUsage, stdout) < 0;
  const Show show = chosen(arguments);
  if (show == nullptr) {
    std::fprintf(stderr, "Error: wrong arguments.\n%s", kUsage);
    return kWrongUse;
  }
  try {
    show(readHost());
    return 0;
  } catch (const ForeignDriver& error) {
    std::fprintf(stderr, "cannery: %s\n", error.what());
  } catch (const std::exception&) {
    // There is no device: the vendor's words below are all there is to say.
  }
  std::puts("dcmi module initialize failed. ret is -8005");
  return kNoDriver;
}
