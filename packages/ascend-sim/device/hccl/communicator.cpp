// SPDX-License-Identifier: Apache-2.0
#include "communicator.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "../core/fault.h"
#include "../runtime/devices.h"
#include "reduction.h"

namespace npusim {
namespace {

constexpr size_t kMailBytes = kChunkBytes / 16;
constexpr int kPollsBeforeSleep = 200;
constexpr int kPollsBetweenLooks = 500;  // at whether a rank is lost

// Tells one process from another, in whichever PID namespace they are.
uint64_t processToken() {
  static uint64_t token = 0;
  static pid_t owner = 0;
  if (owner != getpid()) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    owner = getpid();
    token = static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
    token = token * 4194304u + static_cast<uint64_t>(owner);
  }
  return token;
}

// Whether the chip serves one process of a group only.
bool servesOne() { return chip().processes_per_chip == 1; }

void pause(int polls) {
  const timespec nap{0, polls < 2000 ? 20000 : 500000};
  polls < kPollsBeforeSleep ? static_cast<void>(sched_yield())
                            : static_cast<void>(nanosleep(&nap, nullptr));
}

}  // namespace

// A new file is all zeros, which is the initial state of every field.
struct Communicator::Shared {
  struct Member {
    std::atomic<uint64_t> process;
    std::atomic<uint32_t> joined, left;
    int32_t device;                 // its id on the host
    std::atomic<uint32_t> arrived;  // how many barriers this rank has reached
    char name[32];                  // and the other fields of its Call
    uint64_t count;
    int32_t type, reduction, root;
  };
  struct Mailbox {  // from one rank to another; `full` when `bytes` of `total` wait to be taken
    std::atomic<uint32_t> full, refused;
    uint64_t total, bytes;
    int32_t type;
    uint8_t data[kMailBytes];
  };
  Member members[kMostRanks];

  uint8_t* slot(uint32_t rank) {
    return reinterpret_cast<uint8_t*>(this + 1) + size_t{rank} * kChunkBytes;
  }
  Mailbox& mailbox(uint32_t ranks, uint32_t from, uint32_t to) {
    return reinterpret_cast<Mailbox*>(slot(ranks))[from * ranks + to];
  }
};

size_t Communicator::bytesFor(uint32_t ranks) {
  return sizeof(Shared) + ranks * kChunkBytes + size_t{ranks} * ranks * sizeof(Shared::Mailbox);
}

Communicator::Communicator(std::shared_ptr<SharedMemory> memory, const std::string& name,
                           uint32_t ranks, uint32_t rank, int32_t device)
    : name_(name), ranks_(ranks), rank_(rank), memory_(std::move(memory)),
      shared_(static_cast<Shared*>(memory_->data())) {
  memory_->lock(rank_);
  shared_->members[rank_].process = processToken();
  shared_->members[rank_].device = device;
  shared_->members[rank_].joined = 1;
}

Communicator::Communicator(const std::string& name, uint32_t ranks, uint32_t rank)
    : Communicator(SharedMemory::meet(name, ranks, rank, bytesFor(ranks)), name, ranks, rank,
                   servesOne() ? physicalDevice(currentDevice()) : 0) {
  waitUntil(
      [&] {
        return std::all_of(shared_->members, shared_->members + ranks_,
                           [](const Shared::Member& member) { return member.joined != 0; });
      },
      [&](uint32_t) { return false; }, connectTimeout(), "all ranks to join");
  requireOwnChips();
}

void Communicator::requireOwnChips() const {
  for (uint32_t rank = 0; rank < ranks_ && servesOne(); ++rank) {
    if (rank == rank_ || shared_->members[rank].device != shared_->members[rank_].device) continue;
    throw Error(kHcclNotSupported, name_ + ": ranks " + std::to_string(rank) + " and " +
                                       std::to_string(rank_) + " use the same device, and " +
                                       socName() + " does not serve two processes of a group");
  }
}

std::vector<std::unique_ptr<Communicator>> Communicator::ofOneProcess(const std::string& name,
                                                                      uint32_t ranks) {
  auto memory = SharedMemory::create(bytesFor(ranks));
  std::vector<std::unique_ptr<Communicator>> group;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    group.emplace_back(new Communicator(memory, name, ranks, rank, 0));
  }
  return group;
}

Communicator::~Communicator() { shared_->members[rank_].left = 1; }

bool Communicator::isLost(uint32_t peer) const {
  const Shared::Member& member = shared_->members[peer];
  if (member.left != 0) return true;
  return member.process != processToken() && !memory_->isLocked(peer);
}

void Communicator::waitUntil(const std::function<bool()>& condition,
                             const std::function<bool(uint32_t)>& needs, long timeout,
                             const char* what) const {
  const Deadline deadline(timeout);
  const std::string who = name_ + ": rank " + std::to_string(rank_);
  for (int polls = 0; !condition(); pause(++polls)) {
    if (polls % kPollsBetweenLooks != kPollsBetweenLooks - 1) continue;
    for (uint32_t peer = 0; peer < ranks_; ++peer) {
      // A rank may have done its part and ended since the condition was looked at.
      if (!needs(peer) || !isLost(peer) || condition()) continue;
      if (!needs(peer)) continue;
      throw Error(kHcclRemoteLost, who + " waited for " + what + ", and rank " +
                                       std::to_string(peer) + " has ended");
    }
    if (deadline.passed()) {
      throw Error(kHcclTimeout, "EI0002: The wait execution of the Notify register times out. " +
                                    who + " waited in vain for " + what + " (" +
                                    std::to_string(timeout) + " s, HCCL_EXEC_TIMEOUT)");
    }
  }
}

void Communicator::barrier(const char* what) {
  const uint32_t round = ++barriers_;
  auto* members = shared_->members;
  members[rank_].arrived = round;
  auto late = [=](uint32_t rank) { return static_cast<int32_t>(members[rank].arrived - round) < 0; };
  waitUntil(
      [&] {
        for (uint32_t rank = 0; rank < ranks_; ++rank) {
          if (late(rank)) return false;
        }
        return true;
      },
      late, executeTimeout(), what);
}

void Communicator::requireSame(const Call& call) const {
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    const Shared::Member& other = shared_->members[rank];
    std::string found;
    auto compare = [&](const char* parameter, int64_t own, int64_t theirs) {
      if (own != theirs && found.empty()) {
        found = std::string("parameter [") + parameter + "], local [" + std::to_string(own) +
                "], remote [" + std::to_string(theirs) + "]";
      }
    };
    if (std::strcmp(call.name, other.name) != 0) {
      found = std::string("operation, local [") + call.name + "], remote [" + other.name + "]";
    }
    compare("count", static_cast<int64_t>(call.count), static_cast<int64_t>(other.count));
    compare("dataType", call.type, other.type);
    compare("op", call.reduction, other.reduction);
    compare("root", call.root, other.root);
    if (found.empty()) continue;
    throw Error(kHcclParameter,
                "EI0005: The arguments for collective communication are inconsistent between "
                "ranks: tag [" + std::string(call.name) + "_" + name_ + "], " + found + " of rank " +
                    std::to_string(rank));
  }
}

void Communicator::watched(const std::function<void()>& operation) {
  try {
    disturbCollective(rank_);
    operation();
  } catch (const Error& error) {
    last_error_ = error.code;
    throw;
  }
}

void Communicator::exchange(const Call& call, const void* own, size_t size,
                            const Receive& receive) {
  watched([&] {
    Shared::Member& self = shared_->members[rank_];
    std::strncpy(self.name, call.name, sizeof self.name - 1);
    self.count = call.count, self.type = call.type;
    self.reduction = call.reduction, self.root = call.root;
    size_t offset = 0;
    do {
      const size_t bytes = std::min(kChunkBytes, size - offset);
      if (own != nullptr && bytes != 0) {
        std::memcpy(shared_->slot(rank_), static_cast<const uint8_t*>(own) + offset, bytes);
      }
      barrier(call.name);
      if (offset == 0) requireSame(call);
      for (uint32_t rank = 0; rank < ranks_ && bytes != 0; ++rank) {
        receive(rank, offset, shared_->slot(rank), bytes);
      }
      barrier(call.name);
      offset += bytes;
    } while (offset < size);
  });
}

bool Communicator::advanceSend(const Part& part, size_t& done) {
  Shared::Mailbox& box = shared_->mailbox(ranks_, rank_, part.peer);
  if (box.refused != 0) {
    throw Error(kHcclParameter, name_ + ": rank " + std::to_string(part.peer) +
                                    " expects another size or data type than is sent to it");
  }
  if (box.full != 0) return false;
  const size_t bytes = std::min(kMailBytes, part.size - done);
  if (bytes != 0) std::memcpy(box.data, part.data + done, bytes);
  box.total = part.size, box.type = part.type, box.bytes = bytes;
  done += bytes;
  box.full = 1;
  return done == part.size;
}

bool Communicator::advanceReceive(const Part& part, size_t& done) {
  Shared::Mailbox& box = shared_->mailbox(ranks_, part.peer, rank_);
  if (box.full == 0) return false;
  if (box.total != part.size || box.type != part.type || box.bytes > part.size - done) {
    box.refused = 1;
    throw Error(kHcclParameter,
                "EI0005: The arguments for collective communication are inconsistent between "
                "ranks: " + name_ + ": rank " + std::to_string(part.peer) + " sends " +
                    std::to_string(box.total) + " bytes of type " + std::to_string(box.type) +
                    ", rank " + std::to_string(rank_) + " expects " + std::to_string(part.size) +
                    " of type " + std::to_string(part.type));
  }
  if (box.bytes != 0) std::memcpy(part.data + done, box.data, box.bytes);
  done += box.bytes;
  box.full = 0;
  return done == part.size;
}

// Which parts of a list are done, and how far the others are.
struct Communicator::Progress {
  explicit Progress(const std::vector<Part>& list) : parts(list), done(list.size(), 0),
                                                     ready(list.size(), false) {}
  const std::vector<Part>& parts;
  std::vector<size_t> done;
  std::vector<bool> ready;

  // Advances the first part of each peer that is not done.
  template <class Advance>
  void step(Advance&& advance) {
    uint64_t busy = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const uint64_t bit = uint64_t{1} << parts[i].peer;
      if (ready[i] || (busy & bit) != 0) continue;
      busy |= bit;
      ready[i] = advance(parts[i], done[i]);
    }
  }
  bool complete() const { return std::find(ready.begin(), ready.end(), false) == ready.end(); }
  bool needs(uint32_t peer) const {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!ready[i] && parts[i].peer == peer) return true;
    }
    return false;
  }
};

void Communicator::transfer(const std::vector<Part>& sends, const std::vector<Part>& receives) {
  watched([&] {
    for (const auto* parts : {&sends, &receives}) {
      for (const Part& part : *parts) {
        if (part.peer >= ranks_) {
          throw Error(kHcclParameter, "no rank " + std::to_string(part.peer) + " in a group of " +
                                          std::to_string(ranks_));
        }
        requireBuffer(part.data, part.size);  // again: what is carried out late may be gone
      }
    }
    Progress out(sends), in(receives);
    waitUntil(
        [&] {
          out.step([&](const Part& part, size_t& done) { return advanceSend(part, done); });
          in.step([&](const Part& part, size_t& done) { return advanceReceive(part, done); });
          return out.complete() && in.complete();
        },
        [&](uint32_t peer) { return out.needs(peer) || in.needs(peer); }, executeTimeout(),
        "another rank to send or receive");
  });
}

}  // namespace npusim
