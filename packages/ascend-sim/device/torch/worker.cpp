// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include "marshal.h"
#include "worker_process.h"

namespace npusim {
namespace {

constexpr size_t kMostFiles = 200;  // Linux sends 253 at once (SCM_MAX_FD)

struct Header {
  uint32_t bytes;
  uint32_t files;
};

// Sends a message, and open files with its first byte. False when the other end is gone.
bool sendAll(int socket, const std::string& message, const std::vector<int>& files) {
  std::vector<char> control(CMSG_SPACE(files.size() * sizeof(int)));
  iovec part{const_cast<char*>(message.data()), message.size()};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (!files.empty()) {
    packet.msg_control = control.data();
    packet.msg_controllen = control.size();
    cmsghdr* ancillary = CMSG_FIRSTHDR(&packet);
    ancillary->cmsg_level = SOL_SOCKET;
    ancillary->cmsg_type = SCM_RIGHTS;
    ancillary->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(ancillary), files.data(), files.size() * sizeof(int));
  }
  while (part.iov_len > 0) {
    const ssize_t sent = sendmsg(socket, &packet, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    part.iov_base = static_cast<char*>(part.iov_base) + sent;
    part.iov_len -= static_cast<size_t>(sent);
    packet.msg_control = nullptr;
    packet.msg_controllen = 0;
  }
  return true;
}

bool receiveAll(int socket, void* to, size_t size) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = recv(socket, at, size, MSG_WAITALL);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got, size -= static_cast<size_t>(got);
  }
  return true;
}

// A letter and what follows it, as worker.py writes it. Empty when the worker has ended.
std::string received(int socket) {
  uint32_t size = 0;
  if (!receiveAll(socket, &size, sizeof size)) return "";
  std::string reply(size, '\0');
  return receiveAll(socket, &reply[0], size) ? reply : "";
}

// One connection, which one call uses at a time.
class Worker {
 public:
  // Empty, or why there is none.
  std::string start() {
    std::lock_guard<std::mutex> lock(mutex_);
    return started();
  }

  std::string call(std::string message, const std::set<int>& files) {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::string failure = started();
    if (!failure.empty()) return "E" + failure;
    std::vector<int> fresh;
    for (int file : files) {
      if (known_.count(file) == 0) fresh.push_back(file);
    }
    if (fresh.size() > kMostFiles) return "Ea call with too many pieces of memory";
    message += marshalled(fresh);
    const Header header{static_cast<uint32_t>(message.size()), static_cast<uint32_t>(fresh.size())};
    message.insert(0, reinterpret_cast<const char*>(&header), sizeof header);
    std::string reply = sendAll(socket_, message, fresh) ? received(socket_) : "";
    known_.insert(fresh.begin(), fresh.end());
    if (reply.empty()) {
      closeSocket();
      return "Ethe process that carries out operators has ended; the next operator starts another";
    }
    return reply;
  }

  void closeSocket() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

 private:
  // The mutex is held. That there is no PyTorch does not change.
  std::string started() {
    if (socket_ >= 0 || !failure_.empty()) return failure_;
    if (!hasPython()) return "this process has no Python";
    socket_ = startWorkerProcess();
    known_.clear();
    const std::string reply = received(socket_);
    if (reply == "N") return "";
    closeSocket();
    failure_ = reply.empty() ? "its Python process ended at once" : reply.substr(1);
    return failure_;
  }

  std::mutex mutex_;
  int socket_ = -1;
  std::set<int> known_;  // files that were sent
  std::string failure_;
};

// Never destroyed: operators may still run while the process exits.
Worker* the_worker = nullptr;

// A forked process has none. Its parent's may be in use at that moment, so that it is not touched.
void forgetWorker() {
  the_worker->closeSocket();
  the_worker = new Worker;
}

Worker& worker() {
  static std::once_flag once;
  std::call_once(once, [] {
    the_worker = new Worker;
    pthread_atfork(nullptr, nullptr, forgetWorker);
  });
  return *the_worker;
}

FoundShapes shapesIn(const std::string& reply) {
  std::vector<int64_t> numbers((reply.size() - 1) / sizeof(int64_t));
  std::memcpy(numbers.data(), reply.data() + 1, numbers.size() * sizeof(int64_t));
  FoundShapes found;
  for (size_t at = 0; at + 1 < numbers.size();) {
    const auto index = static_cast<size_t>(numbers[at]);
    const auto rank = static_cast<size_t>(numbers[at + 1]);
    at += 2;
    found.emplace_back(index, Shape(numbers.begin() + static_cast<std::ptrdiff_t>(at),
                                    numbers.begin() + static_cast<std::ptrdiff_t>(at + rank)));
    at += rank;
  }
  return found;
}

}  // namespace

bool hasPython() {
  using IsInitialized = int (*)();
  static const auto ask = reinterpret_cast<IsInitialized>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  return ask != nullptr && ask() != 0;
}

void requireWorker(const std::string& name) {
  const std::string failure = worker().start();
  if (failure.empty()) return;
  throw Error(kNotSupported, functionName(name) +
                                 " is carried out by PyTorch (npusim_torch), which cannot be used: " +
                                 failure);
}

FoundShapes callWorker(const std::string& name, const std::vector<Value>& arguments,
                       const std::vector<NamedValue>& attributes) {
  CallMemory memory;
  std::string message = marshalled(name, arguments, attributes, memory);
  const std::string reply = worker().call(std::move(message), memory.files());
  if (reply[0] == 'E') {
    const std::string text = reply.substr(1);
    if (text.rfind("IndexError", 0) == 0) throw DeviceFault(text);
    throw Error(kAclnnInvalidParam, name + ": " + text);
  }
  memory.copyBack();
  return shapesIn(reply);
}

}  // namespace npusim
