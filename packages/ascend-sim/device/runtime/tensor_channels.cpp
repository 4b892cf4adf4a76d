// SPDX-License-Identifier: Apache-2.0
// Channels of tensors between host and device (acl_tdt.h). MindSpore opens some for what graphs
// print and summarise. No kernel here sends or takes tensors, so that a channel is a bounded queue
// of what the host itself sends.
#include <pthread.h>
#include <time.h>

#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../core/handles.h"
#include "devices.h"
#include "operator_descriptions.h"

using namespace npusim;

namespace {

constexpr int kQueueEmpty = 207013;  // ACL_ERROR_RT_QUEUE_EMPTY
constexpr int kQueueFull = 207014;   // ACL_ERROR_RT_QUEUE_FULL
constexpr int32_t kUndefinedTensor = -1;
constexpr size_t kDefaultCapacity = 128;

struct Item {
  static constexpr Kind kKind = Kind::TensorItem;
  int32_t type;
  std::vector<int64_t> dims;
  int32_t element;
  void* data;
  size_t size;
  std::shared_ptr<std::vector<char>> own;  // the bytes, once a channel has copied them
};

std::shared_ptr<Item> copied(const Item& item) {
  auto copy = std::make_shared<Item>(item);
  const char* bytes = static_cast<const char*>(item.data);
  copy->own = std::make_shared<std::vector<char>>(bytes, bytes + (bytes ? item.size : 0));
  copy->data = copy->own->data();
  return copy;
}

using Items = std::vector<std::shared_ptr<Item>>;

struct Dataset {
  static constexpr Kind kKind = Kind::TensorDataset;
  std::string channel;
  Items items;
  Items received;  // those that are destroyed with the dataset

  ~Dataset() {
    for (const auto& item : received) unregisterHandle(item.get(), Kind::TensorItem);
  }
};

// std::condition_variable needs a newer glibc than the oldest that must do.
class Changes {
 public:
  ~Changes() {
    pthread_cond_destroy(&changed_);
    pthread_mutex_destroy(&mutex_);
  }
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  void tell() { pthread_cond_broadcast(&changed_); }

  // Waits, for `milliseconds` unless they are negative, until `ready`; the caller has the lock.
  template <class Condition>
  void await(int32_t milliseconds, Condition&& ready) {
    timespec end{};
    clock_gettime(CLOCK_REALTIME, &end);
    const int64_t nanoseconds = end.tv_nsec + int64_t{milliseconds} * 1000000;
    end.tv_sec += static_cast<time_t>(nanoseconds / 1000000000);
    end.tv_nsec = static_cast<long>(nanoseconds % 1000000000);
    int timed_out = 0;
    while (!ready() && timed_out == 0) {
      timed_out = milliseconds < 0 ? pthread_cond_wait(&changed_, &mutex_)
                                   : pthread_cond_timedwait(&changed_, &mutex_, &end);
    }
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
};

struct Channel {
  static constexpr Kind kKind = Kind::TensorChannel;
  std::string name;
  size_t capacity;
  Changes changes;
  std::deque<Items> queue;
  bool stopped = false;

  void stop() {
    std::lock_guard<Changes> lock(changes);
    stopped = true;
    changes.tell();
  }

  // Whether `holds`, after waiting for it: at most `timeout` milliseconds, and for ever if negative.
  template <class Condition>
  bool await(int32_t timeout, Condition&& holds) {
    changes.await(timeout, [&] { return stopped || holds(); });
    return holds();
  }
};

void* createChannel(uint32_t device, const char* name, size_t capacity) {
  void* made = nullptr;
  guarded([&] {
    if (device >= deviceCount()) throw Error(kInvalidDevice, "no such device");
    if (capacity == 0) throw Error(kInvalidParam, "a channel without room");
    auto channel = std::make_shared<Channel>();
    channel->name = std::string(&given(name));
    channel->capacity = capacity;
    made = publish(channel);
  });
  return made;
}

void append(Dataset& dataset, const std::shared_ptr<Item>& item) { dataset.items.push_back(item); }

// The item's field, or `otherwise` if the pointer is none of an item.
template <class Value, class Read>
Value ofItem(const void* item, Value otherwise, Read&& read) {
  guarded([&] { otherwise = read(*opened<Item>(item)); });
  return otherwise;
}

}  // namespace

NPUSIM_API void* acltdtCreateChannel(uint32_t device, const char* name) {
  return createChannel(device, name, kDefaultCapacity);
}
NPUSIM_API void* acltdtCreateChannelWithCapacity(uint32_t device, const char* name, size_t room) {
  return createChannel(device, name, room);
}
NPUSIM_API int acltdtDestroyChannel(void* channel) {
  return guarded([&] { withdrawn<Channel>(channel)->stop(); });
}
NPUSIM_API int acltdtStopChannel(void* channel) {
  return guarded([&] { opened<Channel>(channel)->stop(); });
}
NPUSIM_API int acltdtCleanChannel(void* channel) {
  return guarded([&] {
    const auto own = opened<Channel>(channel);
    std::lock_guard<Changes> lock(own->changes);
    own->queue.clear();
    own->changes.tell();
  });
}
NPUSIM_API int acltdtQueryChannelSize(const void* channel, size_t* size) {
  return guarded([&] {
    const auto own = opened<Channel>(channel);
    std::lock_guard<Changes> lock(own->changes);
    given(size) = own->queue.size();
  });
}
NPUSIM_API int acltdtSendTensor(const void* channel, const void* dataset, int32_t timeout) {
  return guarded([&] {
    const auto own = opened<Channel>(channel);
    Items copies;
    for (const auto& item : opened<Dataset>(dataset)->items) copies.push_back(copied(*item));
    std::lock_guard<Changes> lock(own->changes);
    const bool room =
        own->await(timeout, [&] { return own->queue.size() < own->capacity; });
    if (!room) throw Error(kQueueFull, "no kernel takes tensors from the full channel " + own->name);
    own->queue.push_back(std::move(copies));
    own->changes.tell();
  });
}
NPUSIM_API int acltdtReceiveTensor(const void* channel, void* dataset, int32_t timeout) {
  return guarded([&] {
    const auto own = opened<Channel>(channel);
    const auto into = opened<Dataset>(dataset);
    std::lock_guard<Changes> lock(own->changes);
    if (!own->await(timeout, [&] { return !own->queue.empty(); })) {
      throw Error(kQueueEmpty, "nothing was sent to the channel " + own->name);
    }
    into->channel = own->name;
    for (const auto& item : own->queue.front()) {
      publish(item);
      into->received.push_back(item);
      append(*into, item);
    }
    own->queue.pop_front();
    own->changes.tell();
  });
}

NPUSIM_API void* acltdtCreateDataset() {
  void* made = nullptr;
  guarded([&] { made = publish(std::make_shared<Dataset>()); });
  return made;
}
NPUSIM_API int acltdtDestroyDataset(void* dataset) {
  return guarded([&] { withdrawn<Dataset>(dataset); });
}
NPUSIM_API int acltdtAddDataItem(void* dataset, void* item) {
  return guarded([&] { append(*opened<Dataset>(dataset), opened<Item>(item)); });
}
NPUSIM_API size_t acltdtGetDatasetSize(const void* dataset) {
  size_t size = 0;
  guarded([&] { size = opened<Dataset>(dataset)->items.size(); });
  return size;
}
NPUSIM_API const char* acltdtGetDatasetName(const void* dataset) {
  const char* name = nullptr;
  guarded([&] { name = opened<Dataset>(dataset)->channel.c_str(); });
  return name;
}
NPUSIM_API void* acltdtGetDataItem(const void* dataset, size_t index) {
  void* item = nullptr;
  guarded([&] { item = opened<Dataset>(dataset)->items.at(index).get(); });
  return item;
}

NPUSIM_API void* acltdtCreateDataItem(int32_t type, const int64_t* dims, size_t count,
                                      int32_t element, void* data, size_t size) {
  void* made = nullptr;
  guarded([&] {
    if ((dims == nullptr && count != 0) || (data == nullptr && size != 0)) {
      throw Error(kInvalidParam, "a null pointer");
    }
    if (count > kMostDims) throw Error(kInvalidParam, std::to_string(count) + " dimensions");
    auto item = std::make_shared<Item>(Item{type, {}, element, data, size, nullptr});
    item->dims.assign(dims, dims + count);
    made = publish(item);
  });
  return made;
}
NPUSIM_API int acltdtDestroyDataItem(void* item) {
  return guarded([&] { withdrawn<Item>(item); });
}
NPUSIM_API int32_t acltdtGetTensorTypeFromItem(const void* item) {
  return ofItem(item, kUndefinedTensor, [](const Item& own) { return own.type; });
}
NPUSIM_API int32_t acltdtGetDataTypeFromItem(const void* item) {
  return ofItem(item, kUndefinedTensor, [](const Item& own) { return own.element; });
}
NPUSIM_API void* acltdtGetDataAddrFromItem(const void* item) {
  return ofItem<void*>(item, nullptr, [](const Item& own) { return own.data; });
}
NPUSIM_API size_t acltdtGetDataSizeFromItem(const void* item) {
  return ofItem<size_t>(item, 0, [](const Item& own) { return own.size; });
}
NPUSIM_API size_t acltdtGetDimNumFromItem(const void* item) {
  return ofItem<size_t>(item, 0, [](const Item& own) { return own.dims.size(); });
}
NPUSIM_API int acltdtGetDimsFromItem(const void* item, int64_t* dims, size_t count) {
  return guarded([&] {
    const auto own = opened<Item>(item);
    if (count < own->dims.size()) throw Error(kInvalidParam, "too little room for the dimensions");
    if (!own->dims.empty()) {
      std::memcpy(&given(dims), own->dims.data(), own->dims.size() * sizeof(int64_t));
    }
  });
}
