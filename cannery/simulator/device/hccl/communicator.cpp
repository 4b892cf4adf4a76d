// SPDX-License-Identifier: Apache-2.0
#include "communicator.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace npusim {

// A new file is all zeros, which is the initial state of every field.
struct Communicator::Shared {
  struct Mailbox {  // from one rank to another: `filled` bytes wait to be taken
    std::atomic<uint32_t> filled;
    uint8_t data[kChunkBytes / 16];
  };
  std::atomic<uint32_t> joined;
  std::atomic<uint32_t> arrived[kMostRanks];  // how many barriers this rank has reached

  uint8_t* slot(uint32_t rank) {
    return reinterpret_cast<uint8_t*>(this + 1) + size_t{rank} * kChunkBytes;
  }
  Mailbox& mailbox(uint32_t ranks, uint32_t from, uint32_t to) {
    return reinterpret_cast<Mailbox*>(slot(ranks))[from * ranks + to];
  }
};

namespace {

constexpr int kSystemCall = 8;  // HCCL_E_SYSCALL
constexpr int kTimeout = 9;     // HCCL_E_TIMEOUT

long timeoutSeconds() {
  const char* text = std::getenv("HCCL_EXEC_TIMEOUT");
  const long seconds = text ? std::strtol(text, nullptr, 10) : 0;
  return seconds > 0 ? seconds : 1800;
}

}  // namespace

Communicator::Communicator(const std::string& name, uint32_t ranks, uint32_t rank)
    : name_(name), ranks_(ranks), rank_(rank) {
  const size_t mailboxes = size_t{ranks} * ranks * sizeof(Shared::Mailbox);
  bytes_ = sizeof(Shared) + ranks * kChunkBytes + mailboxes;
  const std::string path = "/dev/shm/" + name;
  int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) {
    throw Error(kSystemCall, "cannot make " + path);
  }
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) throw Error(kSystemCall, "cannot map " + path);
  shared_ = static_cast<Shared*>(memory);
  shared_->joined++;
  waitUntil([&] { return shared_->joined >= ranks_; }, "all ranks to join");
  barrier();
  if (rank_ == 0) unlink(path.c_str());  // everyone has it open; nothing stays behind
}

Communicator::~Communicator() { munmap(shared_, bytes_); }

void Communicator::waitUntil(const std::function<bool()>& condition, const char* what) const {
  const time_t deadline = time(nullptr) + timeoutSeconds();
  const timespec pause{0, 20000};
  while (!condition()) {
    nanosleep(&pause, nullptr);
    if (time(nullptr) > deadline) {
      throw Error(kTimeout, name_ + ": rank " + std::to_string(rank_) + " waited in vain for " +
                                what);
    }
  }
}

void Communicator::barrier() {
  const uint32_t round = ++barriers_;
  shared_->arrived[rank_] = round;
  waitUntil(
      [&] {
        return std::all_of(shared_->arrived, shared_->arrived + ranks_,
                           [=](const std::atomic<uint32_t>& reached) { return reached >= round; });
      },
      "a barrier");
}

void Communicator::exchange(const void* own, size_t size, const Receive& receive) {
  auto* source = static_cast<const uint8_t*>(own);
  for (size_t offset = 0; offset < size; offset += kChunkBytes) {
    const size_t bytes = std::min(kChunkBytes, size - offset);
    std::memcpy(shared_->slot(rank_), source + offset, bytes);
    barrier();
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      receive(rank, offset, shared_->slot(rank), bytes);
    }
    barrier();
  }
}

void Communicator::send(const void* data, size_t size, uint32_t to) {
  Shared::Mailbox& box = shared_->mailbox(ranks_, rank_, to);
  for (size_t offset = 0; offset < size; offset += sizeof box.data) {
    const size_t bytes = std::min(sizeof box.data, size - offset);
    waitUntil([&] { return box.filled == 0; }, "the receiver");
    std::memcpy(box.data, static_cast<const uint8_t*>(data) + offset, bytes);
    box.filled = static_cast<uint32_t>(bytes);
  }
}

void Communicator::receive(void* data, size_t size, uint32_t from) {
  Shared::Mailbox& box = shared_->mailbox(ranks_, from, rank_);
  for (size_t offset = 0; offset < size;) {
    waitUntil([&] { return box.filled != 0; }, "the sender");
    const size_t bytes = box.filled;
    std::memcpy(static_cast<uint8_t*>(data) + offset, box.data, bytes);
    offset += bytes;
    box.filled = 0;
  }
}

}  // namespace npusim
