#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs Python and a prebuilt compiler for ARCH: this machine's own, or that for the other architecture.
# Usage: install-tools.sh ARCH
#   If the secret 'apt' of the build names a mirror, it stands for the server of each source. /etc/apt stays
#   as it is, so that no cache has its address.
set -eu
arch="${1:?say --build-arg ARCH=aarch64 or x86_64}"
case "$(uname -m)-$arch" in
  "$arch-$arch") compiler=g++ ;;
  *-x86_64) compiler=g++-x86-64-linux-gnu ;;
  *) compiler="g++-$arch-linux-gnu" ;;
esac
secret=/run/secrets/apt
mirror=""
[ ! -s "$secret" ] || mirror="$(sed -n 's/^Cannery::Mirror "\(.*\)";$/\1/p' "$secret")"
if [ -n "$mirror" ]; then
  mkdir -p /tmp/apt/sources.list.d
  touch /tmp/apt/sources.list
  cp -R /etc/apt/sources.list* /tmp/apt/
  find /tmp/apt -type f -exec sed -E -i "s#https?://[^/[:space:]]+/#${mirror%/}/#g" {} +
  echo 'Dir::Etc { sourcelist "/tmp/apt/sources.list"; sourceparts "/tmp/apt/sources.list.d"; };' >/tmp/apt.conf
  export APT_CONFIG=/tmp/apt.conf
fi
apt-get update
apt-get install --yes --no-install-recommends python3 "$compiler"
rm -rf /var/lib/apt/lists/* /tmp/apt /tmp/apt.conf
