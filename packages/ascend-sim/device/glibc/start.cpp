// SPDX-License-Identifier: Apache-2.0
// Where a program starts that any glibc from 2.17 on can run. The compiler's own start files need
// 2.34, from which on glibc itself calls the constructors.
#if defined(__x86_64__)
__asm__(R"(
  .symver old_libc_start_main, __libc_start_main@GLIBC_2.2.5
  .globl _start
_start:
  xor %ebp, %ebp
  mov %rdx, %r9
  pop %rsi
  mov %rsp, %rdx
  and $-16, %rsp
  push %rax
  push %rsp
  xor %r8d, %r8d
  lea npusim_construct(%rip), %rcx
  lea main(%rip), %rdi
  call old_libc_start_main@PLT
  hlt
)");
#else
__asm__(R"(
  .symver old_libc_start_main, __libc_start_main@GLIBC_2.17
  .globl _start
_start:
  mov x29, #0
  mov x30, #0
  mov x5, x0
  ldr x1, [sp]
  add x2, sp, #8
  mov x6, sp
  mov x4, #0
  adrp x3, npusim_construct
  add x3, x3, :lo12:npusim_construct
  adrp x0, main
  add x0, x0, :lo12:main
  bl old_libc_start_main
  brk #1
)");
#endif

using Constructor = void (*)(int, char**, char**);

extern "C" {
extern Constructor __init_array_start[], __init_array_end[];
void* __dso_handle = nullptr;

__attribute__((used)) void npusim_construct(int count, char** arguments, char** environment) {
  for (Constructor* each = __init_array_start; each != __init_array_end; ++each) {
    (*each)(count, arguments, environment);
  }
}
}
