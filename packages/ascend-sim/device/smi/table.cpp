// SPDX-License-Identifier: Apache-2.0
// The table of `npu-smi info`: two rows for each chip, then the processes.
#include <cstdio>

#include "show.h"

namespace npusim {
namespace {

using Widths = std::vector<int>;
using Cells = std::vector<std::string>;

// What differs between the tables of the generations.
struct Form {
  Widths device;
  Widths process;
  int id;         // characters of the ids that rows begin with
  bool chip_ids;  // whether processes are shown with the chip that they use
  Cells names, chips, processes;  // the rows of the heads
};

Form formOf(const Host& host) {
  const Cells processes = {"NPU     Chip", "Process id", "Process name             ",
                           "Process memory(MB)"};
  switch (host.layout()) {
    case Layout::Inference:
      return {{31, 17, 54}, {31, 17, 26, 27}, 8, true,
              {"NPU     Name", "Health", "Power(W)     Temp(C)           Hugepages-Usage(page)"},
              {"Chip    Device", "Bus-Id", "AICore(%)    Memory-Usage(MB)"}, processes};
    case Layout::Ascend950:
      return {{8, 18, 15, 53}, {27, 15, 26, 26}, 7, false,
              {"NPU ID", "Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)"},
              {"", "", "Bus-Id", "NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)"},
              {"NPU ID", "Process id", "Process name", "Process memory(MB)"}};
    default:
      return {{27, 15, 52}, {27, 15, 26, 25}, 6, true,
              {"NPU   Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)"},
              {host.layout() == Layout::AtlasA3 ? "Chip  Phy-ID" : "Chip", "Bus-Id",
               "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)"}, processes};
  }
}

std::string padded(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

void line(const Widths& widths, char fill) {
  std::string text = "+";
  for (int width : widths) text += std::string(static_cast<size_t>(width), fill) + "+";
  std::puts(text.c_str());
}

void show(const Widths& widths, const Cells& cells) {
  std::string text = "|";
  for (size_t i = 0; i < cells.size(); ++i) {
    text += " " + padded(cells[i], static_cast<size_t>(widths[i]) - 1) + "|";
  }
  std::puts(text.c_str());
}

Widths whole(const Form& form) {
  int width = static_cast<int>(form.device.size()) - 1;
  for (int each : form.device) width += each;
  return {width};
}

// A part of what there is, as npu-smi writes it: "3    / 65536".
std::string share(uint64_t part, uint64_t all, size_t width) {
  return padded(std::to_string(part), width) + "/ " + std::to_string(all);
}

void showHeader(const Host& host, const Form& form) {
  const std::string& version = host.driver_version;
  line(whole(form), '-');
  show(whole(form), {padded("npu-smi " + version, 32) + " Version: " + version});
  line(form.device, '-');
  show(form.device, form.names);
  show(form.device, form.chips);
  line(form.device, '=');
}

void showChip(const Host& host, const Chip& chip, const Form& form) {
  const auto id = [&](uint32_t number) {
    return padded(std::to_string(number), static_cast<size_t>(form.id));
  };
  const std::string power = chip.number == 0 ? "0.0" : "-";
  const std::string used = share(chip.used_mb, host.memory_mb, 5);
  switch (host.layout()) {
    case Layout::Inference:
      show(form.device, {id(chip.npu) + host.chip.shown, "OK",
                         padded("NA", 13) + padded("0", 18) + share(0, 0, 6)});
      show(form.device, {id(chip.number) + std::to_string(chip.physical), chip.bus,
                         padded("0", 13) + used});
      return;
    case Layout::Ascend950:
      show(form.device, {id(chip.npu), host.chip.shown, "OK",
                         padded(power, 12) + padded("0", 18) + share(0, 0, 6)});
      show(form.device, {"", "", chip.bus, padded("0", 12) + padded(share(0, 0, 5), 18) +
                                               share(chip.used_mb, host.memory_mb, 6)});
      return;
    default:
      show(form.device, {id(chip.npu) + host.chip.shown, "OK",
                         padded(power, 12) + padded("0", 18) + share(0, 0, 5)});
      const bool numbered = host.layout() == Layout::AtlasA3;
      show(form.device, {id(chip.number) + (numbered ? std::to_string(chip.physical) : ""),
                         chip.bus, padded("0", 12) + padded(share(0, 0, 5), 18) + used});
  }
}

void showProcesses(const Host& host, uint32_t card, const Form& form) {
  bool any = false;
  for (const Chip& chip : host.chips) {
    if (chip.npu != card) continue;
    for (const ProcessUsage& user : chip.users) {
      any = true;
      const std::string number = form.chip_ids ? std::to_string(chip.number) : "";
      show(form.process, {padded(std::to_string(card), 8) + number, std::to_string(user.process),
                          user.name, std::to_string(user.bytes >> 20)});
    }
  }
  if (!any) show(whole(form), {"No running processes found in NPU " + std::to_string(card)});
}

}  // namespace

void showDevices(const Host& host) {
  const Form form = formOf(host);
  showHeader(host, form);
  for (size_t i = 0; i < host.chips.size(); ++i) {
    const bool last = i + 1 == host.chips.size() || host.chips[i + 1].npu != host.chips[i].npu;
    showChip(host, host.chips[i], form);
    if (last) {
      line(form.device, '=');
    } else {
      line(host.layout() == Layout::AtlasA3 ? whole(form) : form.device, '-');
    }
  }
  Widths borders = form.process;
  borders[2] += borders[3] + 1;
  borders.pop_back();
  line(borders, '-');
  show(form.process, form.processes);
  line(borders, '=');
  for (uint32_t card : host.cards()) {
    showProcesses(host, card, form);
    line(borders, '=');
  }
}

}  // namespace npusim
