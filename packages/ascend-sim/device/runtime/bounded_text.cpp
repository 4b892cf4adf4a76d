// SPDX-License-Identifier: Apache-2.0
// Copies and prints of text that never leave their buffer, which torchair calls: those of CANN's
// libc_sec.so, by the documentation of its source, libboundscheck.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

// Writes `count` characters at most. A text that `count` cuts is kept, and one that the buffer's
// `size` would cut is not; both return -1.
EXPORT int vsnprintf_s(char* out, size_t size, size_t count, const char* format, va_list words) {
  if (out == nullptr || size == 0) return -1;
  out[0] = '\0';
  if (format == nullptr) return -1;
  const bool cut_by_count = count < size;
  const size_t room = cut_by_count ? count + 1 : size;
  const int written = std::vsnprintf(out, room, format, words);
  if (written >= 0 && static_cast<size_t>(written) < room) return written;
  if (written < 0 || !cut_by_count) out[0] = '\0';
  return -1;
}

EXPORT int snprintf_s(char* out, size_t size, size_t count, const char* format, ...) {
  va_list words;
  va_start(words, format);
  const int written = vsnprintf_s(out, size, count, format, words);
  va_end(words);
  return written;
}

EXPORT int strcpy_s(char* out, size_t size, const char* text) {
  if (out == nullptr || size == 0) return EINVAL;
  if (text == nullptr) {
    out[0] = '\0';
    return EINVAL;
  }
  if (std::strlen(text) >= size) {
    out[0] = '\0';
    return ERANGE;
  }
  std::strcpy(out, text);
  return 0;
}
