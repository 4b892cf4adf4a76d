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
      row("Chip Count", std::to_string(host.chip.chips_per_card));
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

std::string pciDevice(const Host& host) {
  switch (host.layout()) {
    case Layout::Atlas: return host.chip.architecture == 1001 ? "0xD801" : "0xD802";
    case Layout::AtlasA3: return "0xD803";
    case Layout::Inference: return "0xD500";
    default: return "NA";
  }
}

// The rows of a 950 say what the chip is, and which of its models.
void showNames(const Host& host) {
  const std::string name = host.chip.name;
  const size_t bar = name.find('_');
  if (host.layout() == Layout::Ascend950 && bar != name.npos) row("NPU Name", name.substr(bar + 1));
  row("Chip Name", host.chip.shown);
}

void showChipBoard(const Host& host, const Chip& chip) {
  row("NPU ID", std::to_string(chip.npu));
  row("Chip ID", std::to_string(chip.number));
  row("Chip Type", "Ascend");
  showNames(host);
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
  if (host.layout() == Layout::Ascend950) showNames(host);
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
  row("Chip Count", std::to_string(host.chip.chips_per_card));
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
    row("Chip Count", std::to_string(host.chip.chips_per_card));
  }
}

// Each card has a management unit too, which comes after its chips and has no logical id.
void showMapping(const Host& host) {
  const bool physical = host.layout() == Layout::AtlasA3;
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
    cells.push_back(physical ? host.chip.shown : "Ascend " + std::string(host.chip.name));
    mappingRow(cells);
    if (i + 1 < host.chips.size() && host.chips[i + 1].npu == chip.npu) continue;
    std::vector<std::string> unit = {card, std::to_string(host.chip.chips_per_card), "-"};
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
    const std::string capacity = std::to_string(host.memory_mb);
    const std::string used = percent(chip.used_mb, host.memory_mb);
    row("DDR Capacity(MB)", host.hasHbm() ? "0" : capacity);
    row("DDR Usage Rate(%)", host.hasHbm() ? "0" : used);
    row("DDR Hugepages Total(page)", "0");
    row("DDR Hugepages Usage Rate(%)", "0");
    row("HBM Capacity(MB)", host.hasHbm() ? capacity : "0");
    row("HBM Usage Rate(%)", host.hasHbm() ? used : "0");
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
    const std::string capacity = std::to_string(host.memory_mb);
    row("DDR Capacity(MB)", host.hasHbm() ? "0" : capacity);
    row("DDR Clock Speed(MHz)", "0");
    row("HBM Capacity(MB)", host.hasHbm() ? capacity : "0");
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
      const std::string used = percent(chip.used_mb, host.memory_mb);
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
