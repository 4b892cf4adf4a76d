// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <getopt.h>

#include <cerrno>
#include <cstdlib>

namespace hccl_test {
namespace {

const uint64_t kMostBytes = uint64_t{1} << 40;
const uint64_t kMostTimes = 1u << 20;  // times kMostBytes it still fits 64 bits

uint64_t number(const char* text, char** rest) {
  errno = 0;
  const uint64_t found = std::strtoull(text, rest, 10);
  const bool is_number = *text >= '0' && *text <= '9' && errno == 0;
  if (!is_number) throw UsageError(std::string("'") + text + "' is not a number");
  return found;
}

uint64_t count(const char* text, uint64_t least, uint64_t most) {
  char* rest = nullptr;
  const uint64_t found = number(text, &rest);
  if (*rest != 0 || found < least || found > most) {
    throw UsageError(std::string("'") + text + "' is not a number from " + std::to_string(least) +
                     " to " + std::to_string(most));
  }
  return found;
}

uint64_t bytes(const char* text) {
  char* rest = nullptr;
  const uint64_t found = number(text, &rest);
  const std::string unit = rest, units = "KMG";
  const size_t place = unit.size() == 1 ? units.find(unit) : std::string::npos;
  if (!unit.empty() && place == std::string::npos) {
    throw UsageError(std::string("'") + text + "' is not a size: write 8192, 8K, 64M or 1G");
  }
  const unsigned shift = unit.empty() ? 0 : 10 * (static_cast<unsigned>(place) + 1);
  if (found > (kMostBytes >> shift)) throw UsageError(std::string(text) + " is too large");
  return found << shift;
}

int reductionOf(const std::string& name) {
  const char* names[] = {"sum", "prod", "max", "min"};
  for (int code = kSum; code <= kMinimum; ++code) {
    if (name == names[code]) return code;
  }
  throw UsageError("there is no operator '" + name + "': use sum, prod, max or min");
}

const Type* typeOf(const std::string& name) {
  const Type* found = findType(name);
  if (found == nullptr) throw UsageError("there is no type '" + name + "': use " + typeNames());
  return found;
}

void read(Options& options, int name, const char* text) {
  switch (name) {
    case 'p': options.npus = static_cast<uint32_t>(count(text, 1, 64)); return;
    case 'b': options.min_bytes = bytes(text); return;
    case 'e': options.max_bytes = bytes(text); return;
    case 'i': options.step = bytes(text), options.has_step = true; return;
    case 'f': options.factor = count(text, 2, kMostTimes); return;
    case 'o': options.reduction = reductionOf(text); return;
    case 'r': options.root = static_cast<uint32_t>(count(text, 0, UINT32_MAX)); return;
    case 'd': options.type = typeOf(text); return;
    case 'n': options.iterations = count(text, 1, kMostTimes); return;
    case 'w': options.warm_up = count(text, 0, kMostTimes); return;
    case 'c': options.check = count(text, 0, 1) == 1; return;
    case 'z':
      if (count(text, 0, 1) == 1) throw UsageError("zero copy (-z 1) is not simulated");
      return;
  }
  throw UsageError("the options are -p -b -e -i -f -o -r -d -z -n -w -c, each with a value");
}

}  // namespace

Options readOptions(int count, char** words) {
  static const option kLong[] = {
      {"npus", 1, nullptr, 'p'},         {"minbytes", 1, nullptr, 'b'},
      {"maxbytes", 1, nullptr, 'e'},     {"stepbytes", 1, nullptr, 'i'},
      {"stepfactor", 1, nullptr, 'f'},   {"op", 1, nullptr, 'o'},
      {"root", 1, nullptr, 'r'},         {"datatype", 1, nullptr, 'd'},
      {"zero_copy", 1, nullptr, 'z'},    {"iters", 1, nullptr, 'n'},
      {"warmup_iters", 1, nullptr, 'w'}, {"check", 1, nullptr, 'c'},
      {nullptr, 0, nullptr, 0}};
  Options options;
  options.type = findType("fp32");
  opterr = 0;
  for (int name; (name = getopt_long(count, words, "p:b:e:i:f:o:r:d:z:n:w:c:", kLong, nullptr)) != -1;) {
    read(options, name, optarg);
  }
  if (optind < count) throw UsageError(std::string("'") + words[optind] + "' is not an option");
  if (options.min_bytes > options.max_bytes) throw UsageError("-b is larger than -e");
  if (options.has_step && options.factor != 0) throw UsageError("-i and -f exclude each other");
  if (!options.has_step) options.step = (options.max_bytes - options.min_bytes) / 10;
  return options;
}

}  // namespace hccl_test
