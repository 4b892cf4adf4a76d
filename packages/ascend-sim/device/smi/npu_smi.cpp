// SPDX-License-Identifier: Apache-2.0
// npu-smi for a simulated host, with the vendor's commands, layouts and errors.
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>

#include "../core/fault.h"
#include "../hal/open_driver.h"
#include "show.h"

using namespace npusim;

namespace {

constexpr int kWrongUse = 1;
constexpr int kNoDriver = 255;  // the vendor's tool returns -1

const char kUsage[] =
    "Usage: npu-smi info                        all devices and the processes on them\n"
    "       npu-smi info -l                     the ids of the cards\n"
    "       npu-smi info -m                     the ids of the chips\n"
    "       npu-smi info -t topo                how the chips are connected\n"
    "       npu-smi info -t TYPE [-i ID] [-c ID]  one of board, usages, memory, health, of a card\n"
    "                                           (-i) or of a chip of it (-c)\n"
    "       npu-smi info watch [-i ID] [-c ID] [-d SECONDS]  the usage, again and again\n"
    "       npu-smi -v                          the version\n"
    "       npu-smi -h                          this help\n"
    "(npu-smi of the simulated driver: it shows no real NPU)\n";

struct WrongUse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Request {
  std::string command;  // "info", "-l", "-m", "watch", "version" or the type after -t
  Selection selection;
};

int number(const std::vector<std::string>& arguments, size_t at) {
  const std::string text = at < arguments.size() ? arguments[at] : "";
  if (text.empty() || text.size() > 4 || text.find_first_not_of("0123456789") != text.npos) {
    throw WrongUse("'" + arguments[at - 1] + "' needs a number");
  }
  return std::stoi(text);
}

Request parsed(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"-v"}) return {"version", {}};
  if (arguments.empty() || arguments[0] != "info") throw WrongUse("the command is missing");
  Request request{"info", {}};
  const std::map<std::string, int*> numbers = {{"-i", &request.selection.card},
                                               {"-c", &request.selection.chip},
                                               {"-d", &request.selection.seconds}};
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const auto wanted = numbers.find(argument);
    if (wanted != numbers.end()) {
      *wanted->second = number(arguments, ++i);
    } else if (argument == "-t" && i + 1 < arguments.size() && request.command == "info") {
      request.command = arguments[++i];
    } else if ((argument == "-l" || argument == "-m" || argument == "watch") &&
               request.command == "info") {
      request.command = argument;
    } else {
      throw WrongUse("'" + argument + "' is not known here");
    }
  }
  if (request.command == "info" && arguments.size() > 1) throw WrongUse("'-t' is missing");
  return request;
}

using ShowAll = void (*)(const Host&);
using ShowSome = void (*)(const Host&, const Selection&);

const std::map<std::string, ShowAll> kShowAll = {{"info", showDevices}, {"-l", showList},
                                                 {"-m", showMapping}, {"topo", showTopology}};
const std::map<std::string, ShowSome> kShowSome = {{"board", showBoard}, {"usages", showUsages},
                                                   {"memory", showMemory}, {"health", showHealth}};

void requireSelected(const Host& host, const Selection& selection) {
  for (const Chip& chip : host.chips) {
    if (selection.has(chip)) return;
  }
  throw WrongUse("there is no such card or chip");
}

void carryOut(const Request& request) {
  const auto all = kShowAll.find(request.command);
  const auto some = kShowSome.find(request.command);
  const bool other = request.command == "watch" || request.command == "version";
  if (all == kShowAll.end() && some == kShowSome.end() && !other) {
    throw WrongUse("type '" + request.command + "' is not simulated");
  }
  const Host host = readHost();
  requireSelected(host, request.selection);
  if (request.command == "version") {
    std::printf("npu-smi version: %s\n", host.driver_version.c_str());
  } else if (request.command == "watch") {
    watch(request.selection);
  } else if (all != kShowAll.end()) {
    all->second(host);
  } else {
    some->second(host, request.selection);
  }
}

// What the vendor's tool says when it cannot open the driver.
int failed(int64_t status) {
  std::puts(status == -8020
                ? "dcmi model initialized failed, because the device is used. ret is -8020"
                : "dcmi module initialize failed. ret is -8005");
  return kNoDriver;
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments == std::vector<std::string>{"-h"}) return std::fputs(kUsage, stdout) < 0;
  try {
    const Request request = parsed(arguments);
    if (const int64_t status = dcmiStatus()) return failed(status);
    carryOut(request);
    return 0;
  } catch (const WrongUse& error) {
    std::fprintf(stderr, "Error: wrong arguments: %s.\n%s", error.what(), kUsage);
    return kWrongUse;
  } catch (const ForeignDriver& error) {
    std::fprintf(stderr, "cannery: %s\n", error.what());
  } catch (const std::exception&) {
    // There is no device: the vendor's words below are all there is to say.
  }
  return failed(-8005);
}
