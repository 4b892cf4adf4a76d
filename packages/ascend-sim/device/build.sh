#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the software Ascend device: sh build.sh OUT ARCH, ARCH aarch64 or x86_64. A third argument
# names sanitizers to build in, for tests: sh build.sh OUT ARCH address,undefined.
# Needs python3, and a g++ for the architecture (Debian's g++-aarch64-linux-gnu, g++-x86-64-linux-gnu)
# or, on a machine without one, the Python package ziglang, which takes three times as long.
set -eu

usage="usage: build.sh OUT aarch64|x86_64 [SANITIZERS]"
out="${1:?$usage}"
arch="${2:?$usage}"
sanitizers="${3:-}"
case "$arch" in
aarch64 | x86_64) ;;
*)
  echo "build.sh: unknown architecture '$arch': use aarch64 or x86_64" >&2
  exit 2
  ;;
esac
here="$(cd "$(dirname "$0")" && pwd)"
mkdir -p "$out/toolkit/lib64" "$out/toolkit/devlib" "$out/nnal/cxx_abi_0" "$out/nnal/cxx_abi_1" \
  "$out/driver/lib64/driver" "$out/driver/bin"
out="$(cd "$out" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# -fwrapv: integers that overflow wrap around, as on an NPU.
flags="-I$here/torch -std=c++17 -O1 -fwrapv -fPIC -fvisibility=hidden -Wall -Wextra -Werror"
strip="-s"
# What is linked into every library, and into every program.
library_objects=""
program_objects=""
if [ -n "$sanitizers" ]; then
  compiler="$arch-linux-gnu-g++"
  flags="$flags -fsanitize=$sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -D_GLIBCXX_ASSERTIONS"
  strip=""
  echo "$sanitizers" >"$out/sanitizers"
elif command -v "$arch-linux-gnu-g++" >/dev/null; then
  compiler="$arch-linux-gnu-g++"
  flags="$flags -static-libstdc++ -static-libgcc"
  # Libraries that a newer glibc has merged into one, by the names that an old one needs.
  for name in libdl.so.2 libpthread.so.0 librt.so.1; do
    "$compiler" -shared -nostdlib -Wl,-soname,"$name" -o "$work/$name" -x c /dev/null
  done
  for name in compat start; do
    # shellcheck disable=SC2086  # the flags are words
    "$compiler" $flags -fno-builtin -c -o "$work/$name.obj" "$here/glibc/$name.cpp"
  done
  library_objects="$work/compat.obj -Wl,--no-as-needed $work/libdl.so.2 $work/libpthread.so.0 $work/librt.so.1"
  program_objects="-nostartfiles -pie $work/start.obj $library_objects"
else
  compiler="python3 -m ziglang c++ -target $arch-linux-gnu.2.17"
  # exports.map is one list for all libraries, which ziglang's linker refuses without the first.
  library_objects="-Wl,--undefined-version -ldl -lrt -lpthread"
  program_objects="$library_objects"
fi

# shellcheck disable=SC2086
compile() {
  $compiler $flags "$@"
}

# library SONAME FILE SOURCE...
library() {
  soname="$1"
  file="$2"
  shift 2
  # shellcheck disable=SC2086
  compile -shared $strip -Wl,-soname,"$soname" -Wl,--version-script="$here/exports.map" \
    -o "$file" "$@" $library_objects
}

python3 "$here/gen_stubs.py" libascendcl <"$here/symbols.txt" >"$work/acl_stubs.cpp"
python3 "$here/gen_stubs.py" libatb <"$here/symbols.txt" >"$work/atb_stubs.cpp"
python3 "$here/gen_stubs.py" libhcom_opskernel_builder <"$here/symbols.txt" >"$work/hcom_stubs.cpp"
python3 "$here/torch/gen_entries.py" >"$work/torch_entries.cpp"

# What most sources include, compiled once for all of them. ziglang starts with another compiler.
precompiled=""
case "$compiler" in *g++)
  precompiled="-include $work/standard.h"
  printf '#include <%s>\n' algorithm cmath cstdint cstdio cstdlib cstring functional map memory \
    mutex string vector >"$work/standard.h"
  compile -x c++-header -c -o "$work/standard.h.gch" "$work/standard.h"
  ;;
esac

# Where most of an operator's time goes. The rest is compiled beside them.
for name in binary exponential foreach matmul softmax sum tensor ternary; do
  echo "$here/aclnn/$name.cpp"
done >"$work/fast"
# shellcheck disable=SC2086
(cd "$work" && exec xargs $compiler $flags -O3 -c <fast) &
fast=$!

# The largest first, so that no processor is left with one of them at the end.
# shellcheck disable=SC2010,SC2011,SC2086  # no name here has a space
(cd "$work" && ls -S "$here"/aclnn/*.cpp "$here"/core/*.cpp "$here"/runtime/*.cpp \
  "$here"/hccl/*.cpp "$here"/torch/*.cpp "$here/hal/open_driver.cpp" acl_stubs.cpp torch_entries.cpp |
  grep -v -x -F -f fast | xargs -n 1 -P "$(getconf _NPROCESSORS_ONLN)" $compiler $flags $precompiled -c)
wait "$fast"

# The graph engine has the older C++ ABI, for which the precompiled headers are not.
library libascendcl.so "$out/toolkit/lib64/libascendcl.so" "$here/ge/graph_engine.cpp" "$work"/*.o
mkdir -p "$out/toolkit/lib64/npusim_torch"
cp "$here"/torch/npusim_torch/*.py "$here"/torch/npusim_torch/*.ops "$out/toolkit/lib64/npusim_torch"
for name in hccl acl_op_compiler ge_runner graph fmk_parser ascend_protobuf acl_tdt_channel opapi \
  msprofiler ascend_dump ms_tools_ext mspti runtime platform nnopbase c_sec error_manager register ra \
  slice compress opskernel opt_feature aoe_executor cann_kb host_cpu_engine acl_dvpp_mpi acl_dvpp_op \
  hcom_graph_adaptor hcomm; do
  ln -sf libascendcl.so "$out/toolkit/lib64/lib$name.so"
done

# The rest is little, and nothing of it needs another part: all at once.
jobs=""
# Its functions have names that any other library may have: Initialize, Finalize.
library libhcom_opskernel_builder.so "$out/toolkit/lib64/libhcom_opskernel_builder.so" \
  "$work/hcom_stubs.cpp" "$here/core/missing.cpp" &
jobs="$jobs $!"
for abi in 0 1; do
  library libatb.so "$out/nnal/cxx_abi_$abi/libatb.so" -D_GLIBCXX_USE_CXX11_ABI=$abi \
    "$here"/atb/*.cpp "$work/atb_stubs.cpp" "$here/core/missing.cpp" "$out/toolkit/lib64/libascendcl.so" &
  jobs="$jobs $!"
done
library libascend_hal.so "$out/toolkit/devlib/libascend_hal.so" "$here/hal/stub.cpp" &
jobs="$jobs $!"
library libascend_hal.so "$out/driver/lib64/driver/libascend_hal.so" "$here/hal/driver.cpp" \
  "$here/hal/device_description.cpp" "$here/hal/usage.cpp" "$here/core/fault.cpp" &
jobs="$jobs $!"
# shellcheck disable=SC2086
compile $strip -Wl,-rpath,/usr/local/Ascend/driver/lib64/driver -o "$out/driver/bin/npu-smi" \
  "$here"/smi/*.cpp "$here/hal/open_driver.cpp" "$here/core/fault.cpp" $program_objects &
jobs="$jobs $!"
for job in $jobs; do
  wait "$job"
done
