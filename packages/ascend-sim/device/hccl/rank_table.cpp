// SPDX-License-Identifier: Apache-2.0
#include "rank_table.h"

#include <sys/stat.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "communicator.h"

namespace npusim {
namespace {

constexpr int64_t kMostBytes = 16 << 20;

struct Json {
  enum class Type { Text, Other, Array, Object } type = Type::Other;
  std::string text;
  std::vector<std::pair<std::string, Json>> items;  // of an array without names

  const Json& at(const std::string& name) const {
    for (const auto& [key, value] : items) {
      if (key == name) return value;
    }
    throw std::runtime_error("has no \"" + name + "\"");
  }
  const Json& array(const std::string& name) const {
    const Json& value = at(name);
    if (value.type != Type::Array) throw std::runtime_error("\"" + name + "\" is not a list");
    return value;
  }
};

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Json document() {
    Json value = parse(0);
    skip();
    if (at_ != text_.size()) fail();
    return value;
  }

 private:
  [[noreturn]] void fail() const {
    throw std::runtime_error("is not JSON at byte " + std::to_string(at_));
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  char peek() {
    skip();
    if (at_ == text_.size()) fail();
    return text_[at_];
  }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void require(char wanted) {
    if (!accept(wanted)) fail();
  }

  std::string quoted() {
    require('"');
    std::string value;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && ++at_ == text_.size()) fail();
      value += text_[at_];
    }
    if (at_ == text_.size()) fail();
    ++at_;
    return value;
  }

  Json parse(int depth) {
    if (depth > 16) fail();
    Json value;
    const char first = peek();
    if (first == '"') {
      value.type = Json::Type::Text;
      value.text = quoted();
    } else if (first == '{' || first == '[') {
      parseItems(value, first == '{', depth);
    } else {
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                    std::string("+-.").find(text_[at_]) != std::string::npos)) {
        value.text += text_[at_++];
      }
      if (value.text.empty()) fail();
    }
    return value;
  }

  void parseItems(Json& value, bool named, int depth) {
    ++at_;
    value.type = named ? Json::Type::Object : Json::Type::Array;
    const char end = named ? '}' : ']';
    if (accept(end)) return;
    do {
      std::string name = named ? (skip(), quoted()) : "";
      if (named) require(':');
      value.items.emplace_back(std::move(name), parse(depth + 1));
    } while (accept(','));
    require(end);
  }

  const std::string& text_;
  size_t at_ = 0;
};

uint32_t number(const std::string& name, const Json& value) {
  const std::string& text = value.text;
  if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != text.npos) {
    throw std::runtime_error("\"" + name + "\" is no number: '" + text + "'");
  }
  return static_cast<uint32_t>(std::stoul(text));
}

uint32_t ranksOf(const Json& table) {
  const std::string version = table.at("version").text, status = table.at("status").text;
  if (version != "1.0" && version != "1.2") {
    throw std::runtime_error("has version '" + version + "'; 1.0 and 1.2 are known");
  }
  if (status != "completed") throw std::runtime_error("has status '" + status + "'");
  const Json& servers = table.array("server_list");
  if (number("server_count", table.at("server_count")) != servers.items.size()) {
    throw std::runtime_error("has another number of servers than \"server_count\"");
  }
  std::set<uint32_t> ranks;
  for (const auto& server : servers.items) {
    for (const auto& device : server.second.array("device").items) {
      const uint32_t rank = number("rank_id", device.second.at("rank_id"));
      number("device_id", device.second.at("device_id"));
      if (!ranks.insert(rank).second) {
        throw std::runtime_error("has rank_id " + std::to_string(rank) + " twice");
      }
    }
  }
  if (ranks.empty() || ranks.size() > kMostRanks || *ranks.rbegin() != ranks.size() - 1) {
    throw std::runtime_error("must have the rank_ids 0 to n - 1, with n at most " +
                             std::to_string(kMostRanks));
  }
  return static_cast<uint32_t>(ranks.size());
}

std::string digestOf(const std::string& text) {  // FNV-1a
  uint64_t hash = 14695981039346656037u;
  for (unsigned char byte : text) hash = (hash ^ byte) * 1099511628211u;
  return std::to_string(hash);
}

}  // namespace

RankTable readRankTable(const std::string& path) {
  try {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) throw std::runtime_error("cannot be read");
    if (!S_ISREG(status.st_mode)) throw std::runtime_error("is not a file");
    if (status.st_size > kMostBytes) throw std::runtime_error("is too large");
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot be read");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    return {ranksOf(Parser(text).document()), digestOf(text)};
  } catch (const std::runtime_error& error) {
    throw Error(kHcclParameter, "EI0004: The ranktable is invalid. " + path + " " + error.what());
  }
}

}  // namespace npusim
