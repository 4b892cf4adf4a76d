// SPDX-License-Identifier: Apache-2.0
// The rank table: a JSON file that says which rank runs on which device of which server.
#pragma once

#include <cstdint>
#include <string>

namespace npusim {

struct RankTable {
  uint32_t ranks;
  std::string digest;  // the same for all who read the same text
};

// Reads a table of version 1.0 or 1.2. Throws Error, with the file's name, when it is none.
RankTable readRankTable(const std::string& path);

}  // namespace npusim
