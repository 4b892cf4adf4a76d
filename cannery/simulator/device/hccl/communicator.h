// SPDX-License-Identifier: Apache-2.0
// A group of processes of one host that exchange data through a file in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "../core/handles.h"

namespace npusim {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr uint32_t kMostRanks = 64;

class Communicator {
 public:
  static constexpr Kind kKind = Kind::Communicator;

  Communicator(const std::string& name, uint32_t ranks, uint32_t rank);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const std::string& name() const { return name_; }
  uint32_t ranks() const { return ranks_; }
  uint32_t rank() const { return rank_; }

  // Every rank calls exchange with the same `size`: what each shows in its own slot, piece by
  // piece, the others read. receive(rank, offset, data, bytes) is called for every rank.
  using Receive = std::function<void(uint32_t, size_t, const uint8_t*, size_t)>;
  void exchange(const void* own, size_t size, const Receive& receive);

  void barrier();
  void send(const void* data, size_t size, uint32_t to);
  void receive(void* data, size_t size, uint32_t from);

 private:
  struct Shared;
  void waitUntil(const std::function<bool()>& condition, const char* what) const;

  std::string name_;
  uint32_t ranks_;
  uint32_t rank_;
  uint32_t barriers_ = 0;
  size_t bytes_;
  Shared* shared_;
};

}  // namespace npusim
