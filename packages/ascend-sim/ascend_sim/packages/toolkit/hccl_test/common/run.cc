// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cann.h"
#include "operations.h"

namespace hccl_test {
namespace {

enum CopyKind { kToDevice = 1, kToHost = 2 };
const double kMicro = 1e6, kGiga = 1e9;
// mpirun can lose what a process says just before it aborts.
const std::chrono::milliseconds kUntilHeard(300);

void require(int code, const char* call) {
  if (code == 0) return;
  const char* message = aclGetRecentErrMsg();
  throw std::runtime_error(std::string(call) + " failed with " + std::to_string(code) + ": " +
                           (message != nullptr ? message : ""));
}

struct Ranks {
  int rank = 0, ranks = 0, local = 0;
  Ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    MPI_Comm_free(&node);
  }
};

// The card of this process: HCCL_TEST_USE_DEVS, as in 4,5,6,7, lists those of the node.
int32_t cardOf(const Options& options, int local) {
  uint32_t present = 0;
  require(aclrtGetDeviceCount(&present), "aclrtGetDeviceCount");
  std::vector<uint32_t> cards;
  if (const char* listed = std::getenv("HCCL_TEST_USE_DEVS")) {
    std::istringstream words(listed);
    for (std::string word; std::getline(words, word, ',');) {
      cards.push_back(static_cast<uint32_t>(std::strtoul(word.c_str(), nullptr, 10)));
    }
  } else {
    for (uint32_t card = 0; card < present; ++card) cards.push_back(card);
  }
  const size_t wanted = options.npus != 0 ? options.npus : cards.size();
  const std::string has = "this node has " + std::to_string(cards.size()) + " cards";
  if (wanted > cards.size()) {
    throw std::runtime_error("-p is " + std::to_string(wanted) + ", and " + has);
  }
  if (static_cast<size_t>(local) >= wanted) {
    throw std::runtime_error("mpirun has started more processes here than -p says: " +
                             std::to_string(wanted));
  }
  return static_cast<int32_t>(cards[static_cast<size_t>(local)]);
}

class Card {
 public:
  explicit Card(int32_t number) : number_(number) {
    require(aclrtSetDevice(number), "aclrtSetDevice");
    require(aclrtCreateStream(&stream_), "aclrtCreateStream");
  }
  ~Card() {
    aclrtDestroyStream(stream_);
    aclrtResetDevice(number_);
  }
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  void* stream() const { return stream_; }

 private:
  int32_t number_;
  void* stream_ = nullptr;
};

class Group {
 public:
  explicit Group(const Ranks& ranks) {
    HcclRootInfo info{};
    if (ranks.rank == 0) require(HcclGetRootInfo(&info), "HcclGetRootInfo");
    MPI_Bcast(&info, static_cast<int>(sizeof info), MPI_BYTE, 0, MPI_COMM_WORLD);
    require(HcclCommInitRootInfo(static_cast<uint32_t>(ranks.ranks), &info,
                                 static_cast<uint32_t>(ranks.rank), &comm_),
            "HcclCommInitRootInfo");
  }
  ~Group() { HcclCommDestroy(comm_); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  void* comm() const { return comm_; }

 private:
  void* comm_ = nullptr;
};

class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes) {
    require(aclrtMalloc(&memory_, bytes, 0), "aclrtMalloc");
  }
  ~Buffer() { aclrtFree(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* memory() const { return memory_; }
  void write(const std::vector<uint8_t>& data) {
    require(aclrtMemcpy(memory_, bytes_, data.data(), data.size(), kToDevice), "aclrtMemcpy");
  }
  std::vector<uint8_t> read() const {
    std::vector<uint8_t> data(bytes_);
    require(aclrtMemcpy(data.data(), bytes_, memory_, bytes_, kToHost), "aclrtMemcpy");
    return data;
  }

 private:
  size_t bytes_;
  void* memory_ = nullptr;
};

struct Row {
  uint64_t bytes;
  double microseconds;
  const char* check;
};

class Test {
 public:
  Test(const Operation& operation, const Options& options, const Ranks& ranks)
      : operation_(operation), options_(options), ranks_(ranks),
        card_(cardOf(options, ranks.local)), group_(ranks) {}

  // With about that many bytes in the larger buffer.
  Row measure(uint64_t bytes) {
    const auto ranks = static_cast<uint64_t>(ranks_.ranks);
    const size_t size = options_.type->bytes;
    const bool is_divided = operation_.sends_blocks || operation_.receives_blocks;
    const uint64_t block = std::max<uint64_t>(1, bytes / size / (is_divided ? ranks : 1));
    const uint64_t sent = block * (operation_.sends_blocks ? ranks : 1);
    const uint64_t received = block * (operation_.receives_blocks ? ranks : 1);
    Buffer send(sent * size), other(received * size);
    const Buffer& receive = operation_.in_place ? send : other;
    const Case c{&options_, static_cast<uint32_t>(ranks_.rank),
                 static_cast<uint32_t>(ranks_.ranks), block, send.memory(), receive.memory(),
                 group_.comm(), card_.stream()};
    fill(send, sent, c.rank);
    repeat(c, options_.warm_up);
    const double seconds = repeat(c, options_.iterations);
    const double each = seconds / static_cast<double>(options_.iterations);
    return {std::max(sent, received) * size, each * kMicro, check(c, receive, received)};
  }

 private:
  void fill(Buffer& buffer, uint64_t count, uint32_t rank) const {
    const size_t size = options_.type->bytes;
    std::vector<uint8_t> data(count * size);
    for (uint64_t i = 0; i < count; ++i) {
      encode(sentBy(rank, i), *options_.type, &data[i * size]);
    }
    buffer.write(data);
  }

  // The seconds of the slowest rank.
  double repeat(const Case& c, uint64_t times) const {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < times; ++i) require(operation_.call(c), operation_.name);
    require(aclrtSynchronizeStream(card_.stream()), "aclrtSynchronizeStream");
    const std::chrono::duration<double> own = std::chrono::steady_clock::now() - start;
    double slowest = own.count();
    MPI_Allreduce(MPI_IN_PLACE, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
  }

  // NULL, as the vendor's: no result was asked for, or the type cannot hold it exactly.
  const char* check(const Case& c, const Buffer& receive, uint64_t count) const {
    if (!options_.check) return "NULL";
    if (operation_.reduces && !isExact(*options_.type, options_.reduction, c.ranks)) return "NULL";
    int right = operation_.at_root && c.rank != options_.root ? 1 : isRight(c, receive, count);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return right != 0 ? "success" : "failed";
  }

  bool isRight(const Case& c, const Buffer& receive, uint64_t count) const {
    const size_t size = options_.type->bytes;
    const std::vector<uint8_t> found = receive.read();
    uint8_t wanted[sizeof(double)];
    for (uint64_t i = 0; i < count; ++i) {
      encode(operation_.expected(c, i), *options_.type, wanted);
      if (std::memcmp(&found[i * size], wanted, size) != 0) return false;
    }
    return true;
  }

  const Operation& operation_;
  const Options& options_;
  const Ranks& ranks_;
  Card card_;
  Group group_;
};

void print(const Row& row) {
  std::printf("%-20llu| %-18.2f| %-24.5f| %s\n", static_cast<unsigned long long>(row.bytes),
              row.microseconds, static_cast<double>(row.bytes) / row.microseconds * kMicro / kGiga,
              row.check);
  std::fflush(stdout);
}

void printHead(const Options& options) {
  std::printf("the minbytes is %llu, maxbytes is %llu, iters is %llu, warmup_iters is %llu\n",
              static_cast<unsigned long long>(options.min_bytes),
              static_cast<unsigned long long>(options.max_bytes),
              static_cast<unsigned long long>(options.iterations),
              static_cast<unsigned long long>(options.warm_up));
  std::printf("%-20s| %-18s| %-24s| %s\n", "data_size(Bytes):", "aveg_time(us):",
              "alg_bandwidth(GB/s):", "check_result:");
}

// The exit code.
int table(const Operation& operation, const Options& options, const Ranks& ranks) {
  Test test(operation, options, ranks);
  if (ranks.rank == 0) printHead(options);
  int code = 0;
  for (uint64_t bytes = options.min_bytes; bytes <= options.max_bytes;) {
    const Row row = test.measure(bytes);
    if (ranks.rank == 0) print(row);
    if (std::strcmp(row.check, "failed") == 0) code = 1;
    // A step of 0 that was asked for goes on until it is stopped, as the vendor's does.
    if (options.step == 0 && options.factor == 0 && !options.has_step) break;
    bytes = options.factor != 0 ? bytes * options.factor : bytes + options.step;
    if (bytes == 0) break;
  }
  return code;
}

void requireRoot(const Options& options, const Ranks& ranks) {
  if (options.root < static_cast<uint32_t>(ranks.ranks)) return;
  throw UsageError("-r is " + std::to_string(options.root) + ", and the last rank is " +
                   std::to_string(ranks.ranks - 1));
}

void say(const char* operation, const std::exception& error) {
  std::fprintf(stderr, "%s_test: %s\n", operation, error.what());
}

// The exit code. Ends all ranks on a failure that only this one may have: they would wait for it.
int runRank(const char* name, int count, char** words) {
  const Ranks ranks;
  try {
    const Options options = readOptions(count, words);
    requireRoot(options, ranks);
    require(aclInit(nullptr), "aclInit");
    const int code = table(findOperation(name), options, ranks);
    aclFinalize();
    return code;
  } catch (const UsageError& error) {
    if (ranks.rank == 0) say(name, error);
    return 1;
  } catch (const std::exception& error) {
    say(name, error);
    std::this_thread::sleep_for(kUntilHeard);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

}  // namespace

int runTest(const char* operation, int count, char** words) {
  MPI_Init(&count, &words);
  const int code = runRank(operation, count, words);
  MPI_Finalize();
  return code;
}

}  // namespace hccl_test
