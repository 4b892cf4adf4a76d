// SPDX-License-Identifier: Apache-2.0
// A group of ranks, of one host, that exchange data through memory that they share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../core/handles.h"
#include "rendezvous.h"

namespace npusim {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr uint32_t kMostRanks = 64;

// What every rank has to ask for alike. `name` is the operation's, for messages.
struct Call {
  const char* name;
  uint64_t count;
  int32_t type;
  int32_t reduction;  // or -1
  int32_t root;       // or -1
};

// Bytes for or from one rank.
struct Part {
  uint32_t peer;
  uint8_t* data;
  size_t size;
  int32_t type;
};

class Communicator {
 public:
  static constexpr Kind kKind = Kind::Communicator;

  // Waits for all ranks. Throws Error.
  Communicator(const std::string& name, uint32_t ranks, uint32_t rank);
  // The ranks of one process, which need not wait for one another.
  static std::vector<std::unique_ptr<Communicator>> ofOneProcess(const std::string& name,
                                                                 uint32_t ranks);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const std::string& name() const { return name_; }
  uint32_t ranks() const { return ranks_; }
  uint32_t rank() const { return rank_; }
  int lastError() const { return last_error_; }

  // All of these throw Error when a rank is lost, late or asks for something else.

  // Shows `size` bytes to all ranks, piece by piece; receive(rank, offset, data, bytes) is called
  // for every rank. `own` may be null where no rank will look at this one's bytes.
  using Receive = std::function<void(uint32_t, size_t, const uint8_t*, size_t)>;
  void exchange(const Call& call, const void* own, size_t size, const Receive& receive);
  // Sends and receives all parts; those of one peer in their order.
  void transfer(const std::vector<Part>& sends, const std::vector<Part>& receives);

 private:
  struct Shared;
  struct Progress;
  Communicator(std::shared_ptr<SharedMemory> memory, const std::string& name, uint32_t ranks,
               uint32_t rank, int32_t device);
  static size_t bytesFor(uint32_t ranks);
  void requireOwnChips() const;
  void barrier(const char* what);
  void requireSame(const Call& call) const;
  void waitUntil(const std::function<bool()>& condition, const std::function<bool(uint32_t)>& needs,
                 long timeout, const char* what) const;
  bool isLost(uint32_t peer) const;
  bool advanceSend(const Part& part, size_t& done);
  bool advanceReceive(const Part& part, size_t& done);
  void watched(const std::function<void()>& operation);

  std::string name_;
  uint32_t ranks_;
  uint32_t rank_;
  uint32_t barriers_ = 0;
  std::shared_ptr<SharedMemory> memory_;
  Shared* shared_;
  std::atomic<int> last_error_{0};
};

}  // namespace npusim
