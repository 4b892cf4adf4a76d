// SPDX-License-Identifier: Apache-2.0
// How the ranks of a group find one another and come by memory that they share. The memory is an
// anonymous file, which rank 0 hands to the others through an abstract socket, so that nothing can
// stay behind, whichever rank dies when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace npusim {

enum HcclStatus : int {
  kHcclParameter = 1,
  kHcclNotSupported = 5,
  kHcclSystemCall = 8,
  kHcclTimeout = 9,
  kHcclRuntimeError = 15,
  kHcclDriverError = 16,
  kHcclRemoteLost = 21,
};

// Seconds to wait for other ranks: to join (HCCL_CONNECT_TIMEOUT, 120) and in an operation
// (HCCL_EXEC_TIMEOUT, 1836). 0 means for ever.
long connectTimeout();
long executeTimeout();

class Deadline {
 public:
  explicit Deadline(long seconds);
  bool passed() const;

 private:
  double end_;
};

class SharedMemory {
 public:
  // Throws Error, also when the group has not met in the connect timeout.
  static std::shared_ptr<SharedMemory> create(size_t bytes);
  static std::shared_ptr<SharedMemory> meet(const std::string& name, uint32_t ranks, uint32_t rank,
                                            size_t bytes);
  SharedMemory(int file, size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void* data() const { return data_; }

  // A rank's process holds its lock until it ends, however it ends. Only other processes see it.
  void lock(uint32_t rank);
  bool isLocked(uint32_t rank) const;

 private:
  int file_;
  size_t bytes_;
  void* data_;
};

}  // namespace npusim
