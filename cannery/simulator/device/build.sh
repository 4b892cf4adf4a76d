#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Cross-compiles the software Ascend device: sh build.sh OUT ARCH, ARCH aarch64 or x86_64.
# Needs python3 with the package ziglang.
set -eu

out="${1:?usage: build.sh OUT aarch64|x86_64}"
arch="${2:?usage: build.sh OUT aarch64|x86_64}"
case "$arch" in
aarch64 | x86_64) ;;
*)
  echo "build.sh: unknown architecture '$arch': use aarch64 or x86_64" >&2
  exit 2
  ;;
esac
here="$(cd "$(dirname "$0")" && pwd)"
mkdir -p "$out/toolkit/lib64" "$out/toolkit/devlib" "$out/nnal/lib" \
  "$out/driver/lib64/driver" "$out/driver/bin"
out="$(cd "$out" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

flags="-target $arch-linux-gnu.2.17 -I$here/torch -std=c++17 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror"

# shellcheck disable=SC2086  # the flags are words
compile() {
  python3 -m ziglang c++ $flags "$@"
}

# library SONAME FILE SOURCE...
library() {
  soname="$1"
  file="$2"
  shift 2
  compile -shared -s -Wl,-soname,"$soname" -Wl,--version-script="$here/exports.map" \
    -o "$file" "$@"
}

python3 "$here/gen_stubs.py" libascendcl <"$here/symbols.txt" >"$work/acl_stubs.cpp"
python3 "$here/gen_stubs.py" libatb <"$here/symbols.txt" >"$work/atb_stubs.cpp"
python3 "$here/torch/gen_entries.py" >"$work/torch_entries.cpp"

# shellcheck disable=SC2086
(cd "$work" && printf '%s\n' "$here"/core/*.cpp "$here"/runtime/*.cpp "$here"/aclnn/*.cpp \
  "$here"/hccl/*.cpp "$here"/torch/*.cpp "$here/hal/open_driver.cpp" acl_stubs.cpp \
  torch_entries.cpp |
  xargs -n 1 -P "$(getconf _NPROCESSORS_ONLN)" python3 -m ziglang c++ $flags -c)

library libascendcl.so "$out/toolkit/lib64/libascendcl.so" "$work"/*.o \
  -ldl -lrt -lpthread
mkdir -p "$out/toolkit/lib64/npusim_torch"
cp "$here"/torch/npusim_torch/*.py "$here"/torch/npusim_torch/*.ops "$out/toolkit/lib64/npusim_torch"
for name in hccl acl_op_compiler ge_runner graph acl_tdt_channel opapi msprofiler ascend_dump \
  ms_tools_ext mspti; do
  ln -sf libascendcl.so "$out/toolkit/lib64/lib$name.so"
done

library libatb.so "$out/nnal/lib/libatb.so" "$work/atb_stubs.cpp" "$here/core/missing.cpp"
library libascend_hal.so "$out/toolkit/devlib/libascend_hal.so" "$here/hal/stub.cpp"
library libascend_hal.so "$out/driver/lib64/driver/libascend_hal.so" "$here/hal/driver.cpp" \
  "$here/hal/device_description.cpp" "$here/hal/usage.cpp" "$here/core/fault.cpp" -ldl
compile -s -Wl,-rpath,/usr/local/Ascend/driver/lib64/driver -o "$out/driver/bin/npu-smi" \
  "$here"/smi/*.cpp "$here/hal/open_driver.cpp" \
  "$here/core/fault.cpp" -ldl
