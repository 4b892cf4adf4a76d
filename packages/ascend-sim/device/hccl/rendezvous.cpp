// SPDX-License-Identifier: Apache-2.0
#include "rendezvous.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "../core/errors.h"

namespace npusim {
namespace {

constexpr int kRetryMilliseconds = 10;

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

long secondsOf(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  char* end = nullptr;
  const long seconds = text != nullptr ? std::strtol(text, &end, 10) : 0;
  return text != nullptr && end != text && seconds >= 0 ? seconds : otherwise;
}

class Socket {
 public:
  Socket() : file_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) { require(); }
  explicit Socket(int file) : file_(file) {}
  ~Socket() { close(file_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int file() const { return file_; }
  void require() const {
    if (file_ < 0) throw Error(kHcclSystemCall, "no socket to meet the other ranks");
  }

 private:
  int file_;
};

struct Address {
  sockaddr_un address{};
  socklen_t length;

  explicit Address(const std::string& name) {
    address.sun_family = AF_UNIX;
    // The leading zero makes the name abstract: it is in no folder and goes with its socket.
    const size_t size = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), size);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// A message of one byte with room for a file.
struct Envelope {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};

  Envelope() {
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
};

bool fromThisUser(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == geteuid();
}

void sendFile(int connection, int file) {
  Envelope envelope;
  cmsghdr* header = CMSG_FIRSTHDR(&envelope.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  sendmsg(connection, &envelope.message, MSG_NOSIGNAL);
}

int receiveFile(int connection) {
  Envelope envelope;
  if (recvmsg(connection, &envelope.message, MSG_CMSG_CLOEXEC) <= 0) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&envelope.message);
  int file = -1;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&file, CMSG_DATA(header), sizeof file);
  }
  return file;
}

[[noreturn]] void throwAlone(const std::string& name, uint32_t rank) {
  throw Error(kHcclTimeout, "EI0006: Getting socket times out. " + name + ": rank " +
                                std::to_string(rank) +
                                " waited in vain for all ranks to join (HCCL_CONNECT_TIMEOUT)");
}

void handOut(const std::string& name, uint32_t others, int file) {
  const Socket listener;
  const Address address(name);
  if (bind(listener.file(), address.get(), address.length) != 0 ||
      listen(listener.file(), 128) != 0) {
    throw Error(kHcclSystemCall, name + ": another group of this name is joining");
  }
  const Deadline deadline(connectTimeout());
  for (uint32_t met = 0; met < others;) {
    pollfd waiting{listener.file(), POLLIN, 0};
    if (deadline.passed()) throwAlone(name, 0);
    if (poll(&waiting, 1, kRetryMilliseconds) <= 0) continue;
    const Socket connection(accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.file() < 0 || !fromThisUser(connection.file())) continue;
    sendFile(connection.file(), file);
    ++met;
  }
}

int takeOver(const std::string& name, uint32_t rank) {
  const Address address(name);
  const Deadline deadline(connectTimeout());
  while (!deadline.passed()) {
    const Socket connection;
    if (connect(connection.file(), address.get(), address.length) == 0) {
      const int file = receiveFile(connection.file());
      if (file >= 0) return file;
    }
    poll(nullptr, 0, kRetryMilliseconds);
  }
  throwAlone(name, rank);
}

int newFile(size_t bytes) {
  // By number: glibc 2.17, the oldest that is supported, has no memfd_create().
  const int file = static_cast<int>(syscall(SYS_memfd_create, "npusim_hccl", 1u /* CLOEXEC */));
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    throw Error(kHcclSystemCall, "no memory to share with the other ranks");
  }
  return file;
}

struct flock lockOf(uint32_t rank) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

}  // namespace

long connectTimeout() { return secondsOf("HCCL_CONNECT_TIMEOUT", 120); }
long executeTimeout() { return secondsOf("HCCL_EXEC_TIMEOUT", 1836); }

Deadline::Deadline(long seconds)
    : end_(seconds == 0 ? std::numeric_limits<double>::infinity()
                        : now() + static_cast<double>(seconds)) {}
bool Deadline::passed() const { return now() > end_; }

std::shared_ptr<SharedMemory> SharedMemory::create(size_t bytes) {
  return std::make_shared<SharedMemory>(newFile(bytes), bytes);
}

std::shared_ptr<SharedMemory> SharedMemory::meet(const std::string& name, uint32_t ranks,
                                                 uint32_t rank, size_t bytes) {
  if (rank != 0) return std::make_shared<SharedMemory>(takeOver(name, rank), bytes);
  const int file = newFile(bytes);
  auto memory = std::make_shared<SharedMemory>(file, bytes);
  handOut(name, ranks - 1, file);
  return memory;
}

SharedMemory::SharedMemory(int file, size_t bytes) : file_(file), bytes_(bytes) {
  struct stat status {};
  const bool fits = fstat(file, &status) == 0 && static_cast<size_t>(status.st_size) == bytes;
  data_ = fits ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (data_ != MAP_FAILED) return;
  close(file);
  throw Error(fits ? kHcclSystemCall : kHcclParameter,
              fits ? "the shared memory cannot be mapped"
                   : "the ranks disagree on the number of ranks");
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
  close(file_);
}

void SharedMemory::lock(uint32_t rank) {
  struct flock own = lockOf(rank);
  fcntl(file_, F_SETLK, &own);
}

bool SharedMemory::isLocked(uint32_t rank) const {
  struct flock other = lockOf(rank);
  return fcntl(file_, F_GETLK, &other) != 0 || other.l_type != F_UNLCK;
}

}  // namespace npusim
