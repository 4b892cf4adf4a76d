// SPDX-License-Identifier: Apache-2.0
// What a compiler of today takes from a newer glibc than 2.17, the oldest that must do. These
// definitions are linked in and stay hidden; what glibc has had for long is asked for by its old
// version. Not needed by a compiler that can be told the version (zig).
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#define NPUSIM_OLDEST "GLIBC_2.2.5"
#define NPUSIM_DLINFO "GLIBC_2.3.3"
#else
#define NPUSIM_OLDEST "GLIBC_2.17"
#define NPUSIM_DLINFO "GLIBC_2.17"
#endif

// Declares old_NAME, which is NAME of that version.
#define NPUSIM_OLD(result, name, version, ...) \
  extern "C" result old_##name(__VA_ARGS__);   \
  __asm__(".symver old_" #name "," #name "@" version);

NPUSIM_OLD(void*, dlopen, NPUSIM_OLDEST, const char*, int)
NPUSIM_OLD(void*, dlsym, NPUSIM_OLDEST, void*, const char*)
NPUSIM_OLD(int, dladdr, NPUSIM_OLDEST, const void*, Dl_info*)
NPUSIM_OLD(int, dlinfo, NPUSIM_DLINFO, void*, int, void*)
NPUSIM_OLD(int, pthread_once, NPUSIM_OLDEST, pthread_once_t*, void (*)())
NPUSIM_OLD(int, pthread_key_create, NPUSIM_OLDEST, pthread_key_t*, void (*)(void*))
NPUSIM_OLD(long, strtol, NPUSIM_OLDEST, const char*, char**, int)
NPUSIM_OLD(long long, strtoll, NPUSIM_OLDEST, const char*, char**, int)
NPUSIM_OLD(unsigned long, strtoul, NPUSIM_OLDEST, const char*, char**, int)
NPUSIM_OLD(unsigned long long, strtoull, NPUSIM_OLDEST, const char*, char**, int)
NPUSIM_OLD(double, exp, NPUSIM_OLDEST, double)
NPUSIM_OLD(double, exp2, NPUSIM_OLDEST, double)
NPUSIM_OLD(double, log, NPUSIM_OLDEST, double)
NPUSIM_OLD(double, log2, NPUSIM_OLDEST, double)
NPUSIM_OLD(double, pow, NPUSIM_OLDEST, double, double)

extern "C" {

void* dlopen(const char* file, int mode) noexcept { return old_dlopen(file, mode); }
void* dlsym(void* handle, const char* name) noexcept { return old_dlsym(handle, name); }
int dladdr(const void* address, Dl_info* info) noexcept { return old_dladdr(address, info); }
int dlinfo(void* handle, int request, void* info) noexcept {
  return old_dlinfo(handle, request, info);
}
int pthread_once(pthread_once_t* control, void (*routine)()) {
  return old_pthread_once(control, routine);
}
int __pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) noexcept {
  return old_pthread_key_create(key, destroy);
}
double exp(double x) noexcept { return old_exp(x); }
double exp2(double x) noexcept { return old_exp2(x); }
double log(double x) noexcept { return old_log(x); }
double log2(double x) noexcept { return old_log2(x); }
double pow(double x, double y) noexcept { return old_pow(x, y); }

// What the headers of glibc 2.38 and later make of these four.
long __isoc23_strtol(const char* text, char** end, int base) noexcept {
  return old_strtol(text, end, base);
}
long long __isoc23_strtoll(const char* text, char** end, int base) noexcept {
  return old_strtoll(text, end, base);
}
unsigned long __isoc23_strtoul(const char* text, char** end, int base) noexcept {
  return old_strtoul(text, end, base);
}
unsigned long long __isoc23_strtoull(const char* text, char** end, int base) noexcept {
  return old_strtoull(text, end, base);
}

// The kernel's struct is glibc's on both architectures.
int stat(const char* path, struct stat* status) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, 0));
}
int fstat(int file, struct stat* status) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, status));
}
int fstat64(int file, struct stat64* status) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, status));
}

// For std::random_device, which is linked in and not used.
int getentropy(void* buffer, size_t bytes) { return syscall(SYS_getrandom, buffer, bytes, 0) < 0; }
uint32_t arc4random() noexcept {
  uint32_t number = 0;
  getentropy(&number, sizeof number);
  return number;
}

char __libc_single_threaded = 0;

// Where the unwinder finds the tables of the code at an address.
namespace {

struct Search {
  uintptr_t address;
  dl_find_object* result;
};

int visit(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const ElfW(Phdr)* tables = nullptr;
  uintptr_t start = UINTPTR_MAX, end = 0;
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type == PT_GNU_EH_FRAME) tables = &header;
    if (header.p_type != PT_LOAD) continue;
    const uintptr_t first = info->dlpi_addr + header.p_vaddr, last = first + header.p_memsz;
    inside |= search->address >= first && search->address < last;
    start = first < start ? first : start;
    end = last > end ? last : end;
  }
  if (!inside || tables == nullptr) return 0;
  *search->result = {};
  search->result->dlfo_map_start = reinterpret_cast<void*>(start);
  search->result->dlfo_map_end = reinterpret_cast<void*>(end);
  search->result->dlfo_eh_frame = reinterpret_cast<void*>(info->dlpi_addr + tables->p_vaddr);
  return 1;
}

}  // namespace

int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<uintptr_t>(address), result};
  return dl_iterate_phdr(visit, &search) == 1 ? 0 : -1;
}

}  // extern "C"
