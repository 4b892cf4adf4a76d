// SPDX-License-Identifier: Apache-2.0
// What `npu-smi info -l`, `-m`, `-t ...` and `watch` print: one value a line, or one chip.
#include <unistd.h>

#include <cstdio>

#include "show.h"

namespace npusim {
namespace {

void row(const char* name, const std::string& value) {
  std::printf("\t%-30s : %s\n", name, value.c_str());
}

std::string percent(uint64_t part, uint64_t whole) {
  return std::to_string(whole == 0 ? 0 : part * 100 / whole);
}

// Calls show(chip) for each chip that is asked for, and writes what the vendor puts around them.
template <class Show>
void eachChip(const Host& host, const Selection& selection, Show&& show) {
  for (uint32_t card : host.cards()) {
    if (selection.card >= 0 && card != static_cast<uint32_t>(selection.card)) continue;
    if (selection.chip < 0) {
      row("NPU ID", std::to_string(card));
      row("Chip Count", std::to_string(host.chipsPerCard()));
      std::puts("");
    }
    for (const Chip& chip : host.chips) {
      if (chip.npu != card || !selection.has(chip)) continue;
      show(chip);
      if (selection.chip < 0) row("Chip ID", std::to_string(chip.number));
      std::puts("");
    }
  }
}

std::string pciDevice(const Host& host) { return host.two_chips ? "0xD803" : "0xD802"; }

void showChipBoard(const Host& host, const Chip& chip) {
  row("NPU ID", std::to_string(chip.npu));
  row("Chip ID", std::to_string(chip.number));
  row("Chip Type", "Ascend");
  row("Chip Name", host.shownName());
  row("Chip Version", "V1");
  row("Board ID", "NA");
  row("PCB ID", "NA");
  row("BOM ID", "NA");
  row("Chip Position ID", std::to_string(chip.number));
  row("PCIe Bus Info", chip.bus);
  row("Firmware Version", host.driver_version);
}

void showCardBoard(const Host& host, const Chip& first) {
  row("NPU ID", std::to_string(first.npu));
  row("Product Name", "Simulated");
  row("Model", "NA");
  row("Manufacturer", "NA");
  row("Serial Number", "NA");
  row("Software Version", host.driver_version);
  row("Firmware Version", host.driver_version);
  row("Compatibility", "OK");
  row("Board ID", "NA");
  row("PCB ID", "NA");
  row("BOM ID", "NA");
  row("PCIe Bus Info", first.bus);
  row("Slot ID", std::to_string(first.npu));
  row("Class ID", "NA");
  row("PCI Vendor ID", "0x19E5");
  row("PCI Device ID", pciDevice(host));
  row("Subsystem Vendor ID", "NA");
  row("Subsystem Device ID", "NA");
  row("Chip Count", std::to_string(host.chipsPerCard()));
  std::puts("");
}

void mappingRow(const std::vector<std::string>& cells) {
  std::printf("\t");
  for (const std::string& cell : cells) std::printf("%-30s ", cell.c_str());
  std::puts("");
}

}  // namespace

void showList(const Host& host) {
  row("Total Count", std::to_string(host.cards().size()));
  for (uint32_t card : host.cards()) {
    std::puts("");
    row("NPU ID", std::to_string(card));
    row("Chip Count", std::to_string(host.chipsPerCard()));
  }
}

// Each card has a management unit too, which comes after its chips and has no logical id.
void showMapping(const Host& host) {
  const bool physical = host.two_chips;
  std::vector<std::string> header = {"NPU ID", "Chip ID", "Chip Logic ID"};
  if (physical) header.push_back("Chip Phy-ID");
  header.push_back("Chip Name");
  mappingRow(header);
  uint32_t logical = 0;
  for (size_t i = 0; i < host.chips.size(); ++i) {
    const Chip& chip = host.chips[i];
    const std::string card = std::to_string(chip.npu);
    std::vector<std::string> cells = {card, std::to_string(chip.number), std::to_string(logical++)};
    if (physical) cells.push_back(std::to_string(chip.physical));
    cells.push_back(physical ? host.shownName() : "Ascend " + host.name);
    mappingRow(cells);
    if (i + 1 < host.chips.size() && host.chips[i + 1].npu == chip.npu) continue;
    std::vector<std::string> unit = {card, std::to_string(host.chipsPerCard()), "-"};
    if (physical) unit.push_back("-");
    unit.push_back("Mcu");
    mappingRow(unit);
  }
}

void showBoard(const Host& host, const Selection& selection) {
  for (const Chip& chip : host.chips) {
    if (!selection.has(chip)) continue;
    if (selection.chip >= 0) {
      showChipBoard(host, chip);
    } else if (chip.number == 0) {
      showCardBoard(host, chip);
    }
  }
}

void showUsages(const Host& host, const Selection& selection) {
  eachChip(host, selection, [&](const Chip& chip) {
    for (const char* name : {"DDR Capacity(MB)", "DDR Usage Rate(%)", "DDR Hugepages Total(page)",
                             "DDR Hugepages Usage Rate(%)"}) {
      row(name, "0");
    }
    row("HBM Capacity(MB)", std::to_string(host.hbm_mb));
    row("HBM Usage Rate(%)", percent(chip.used_mb, host.hbm_mb));
    for (const char* name :
         {"Aicore Usage Rate(%)", "Aivector Usage Rate(%)", "Aicpu Usage Rate(%)",
          "Ctrlcpu Usage Rate(%)", "DDR Bandwidth Usage Rate(%)", "HBM Bandwidth Usage Rate(%)",
          "NPU Utilization(%)"}) {
      row(name, "0");
    }
  });
}

void showMemory(const Host& host, const Selection& selection) {
  eachChip(host, selection, [&](const Chip&) {
    row("DDR Capacity(MB)", "0");
    row("DDR Clock Speed(MHz)", "0");
    row("HBM Capacity(MB)", std::to_string(host.hbm_mb));
    row("HBM Clock Speed(MHz)", "NA");
    row("HBM Temperature(C)", "NA");
    row("HBM Manufacturer ID", "NA");
  });
}

void showHealth(const Host& host, const Selection& selection) {
  eachChip(host, selection, [&](const Chip&) {
    row("Health Status", "OK");
    row("Error Code", "NA");
    row("Error Information", "NA");
  });
}

void watch(const Selection& selection) {
  std::puts("NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)  AI Cpu(%)   "
            "Ctrl Cpu(%) Memory(%)   Memory BW(%)");
  while (true) {
    const Host host = readHost();
    for (const Chip& chip : host.chips) {
      if (!selection.has(chip)) continue;
      std::printf("%-12u%-12u", chip.npu, chip.number);
      const std::string used = percent(chip.used_mb, host.hbm_mb);
      for (const char* cell : {"0.0", "0", "0", "0", "0", used.c_str(), "0"}) {
        std::printf("%-12s", cell);
      }
      std::puts("");
    }
    std::fflush(stdout);
    sleep(static_cast<unsigned>(selection.seconds));
  }
}

}  // namespace npusim
