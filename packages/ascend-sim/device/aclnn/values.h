// SPDX-License-Identifier: Apache-2.0
// A vector in which an index outside of it is an error, not a crash: it means that the shapes of an
// operator's arguments do not fit one another.
#pragma once

#include <string>
#include <vector>

#include "../core/errors.h"

namespace npusim {

// More elements than this, 2 GB of doubles, are the work of a wrong argument: PyTorch carries large
// tensors.
constexpr size_t kMostElements = size_t{1} << 28;

template <class T>
class Values : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  explicit Values(size_t count, const T& value = T()) : Base(possible(count), value) {}

  typename Base::reference operator[](size_t index) { return Base::operator[](inside(index)); }
  typename Base::const_reference operator[](size_t index) const {
    return Base::operator[](inside(index));
  }
  typename Base::reference at(size_t index) { return (*this)[index]; }
  typename Base::const_reference at(size_t index) const { return (*this)[index]; }

  // The elements from `first` up to `end`.
  Values part(size_t first, size_t end) const {
    requireFit(first <= end && end <= this->size());
    return Values(this->data() + first, this->data() + end);
  }
  // Where `count` elements from `first` on lie.
  T* span(size_t first, size_t count) {
    requireFit(first <= this->size() && count <= this->size() - first);
    return this->data() + first;
  }
  const T* span(size_t first, size_t count) const {
    return const_cast<Values*>(this)->span(first, count);
  }

 private:
  static void requireFit(bool fits) {
    if (!fits) throw Error(kAclnnInvalidParam, "the shapes or sizes of the arguments do not fit");
  }
  static size_t possible(size_t count) {
    if (count <= kMostElements) return count;
    throw Error(kAclnnInvalidParam, std::to_string(count) + " elements are too many");
  }
  size_t inside(size_t index) const {
    requireFit(index < this->size());
    return index;
  }
};

}  // namespace npusim
