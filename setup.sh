#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prepares a bare Debian machine for building images, then runs the given command.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: bash setup.sh [--venv] [--tests[=full]] [COMMAND [ARGUMENT...]]
       bash setup.sh --stop

Installs and starts the following, if it is missing:
  1. a container engine with buildx     (Debian packages; needs root)
  2. arm64 emulation                    (qemu-user-static; not on an arm64 machine)
  3. where Docker Hub cannot be reached: mmdebstrap, and cannery.toml, which allows stand-ins for
     Debian's images
  4. a virtual environment in .venv with what build.py requires (requirements.txt)
Then runs COMMAND in the current directory, with that environment first on PATH.
It can be run repeatedly: it changes nothing that works already.

  --venv         prepare only the virtual environment, for commands that need no engine
  --tests        also install what 'nox' needs: requirements-dev.txt
  --tests=full   also install what all other sessions need: requirements-dev.txt, and the programs
                 docker compose, docker-registry, iproute2, cosign, MPICH, rootlesskit, Slurm,
                 podman and its quadlet, and a browser with a Chinese font; with --venv, only requirements-dev.txt
  --stop         stop the engine, if this script has started it

Exit codes: 0 ready (or the exit code of COMMAND), 2 invalid options, 6 the machine could not be
prepared.
TEXT
}

root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
venv="$root/.venv"
settings="$root/cannery.toml"
state=/run/cannery
engine_log=/var/log/cannery-dockerd.log

say() { printf 'setup: %s\n' "$*" >&2; }
die() {
  printf 'setup: %s\n' "$*" >&2
  exit 6
}

need_root() {
  [ "$(id -u)" = 0 ] || die "$1 requires root. Run 'sudo bash setup.sh', or do this step yourself and run setup.sh again."
}

apt_install() {
  need_root "installing $*"
  command -v apt-get >/dev/null ||
    die "cannot install $*: this system has no apt-get. Install Docker Engine with buildx and qemu-user-static yourself, then run setup.sh again."
  say "installing $*"
  [ -n "${apt_updated:-}" ] || apt-get update -qq || die "apt-get update failed; see above."
  apt_updated=1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
    die "apt-get could not install: $*"
}

# The system and its release, such as "debian bookworm".
system() {
  # shellcheck source=/dev/null
  (. /etc/os-release && echo "${ID:-} ${VERSION_CODENAME:-}")
}

# Debian has buildx, the compose plugin and cosign from trixie on. The trixie source is a copy of the
# machine's own source, so that it uses the same mirror; its low priority keeps all other packages as
# they are.
add_trixie() {
  local own=/etc/apt/sources.list.d/debian.sources
  case "$(system)" in
    "debian trixie") return ;;
    "debian bookworm") ;;
    *) die "cannot install $*: setup.sh can do so on Debian 12 and 13 only. Install it yourself, then run setup.sh again." ;;
  esac
  printf 'Package: *\nPin: release n=trixie\nPin-Priority: 50\n' >/etc/apt/preferences.d/cannery-trixie
  if [ -f "$own" ]; then
    awk 'BEGIN { RS = ""; ORS = "\n\n" } !/-security/' "$own" |
      sed -E 's/^(Suites:).*/\1 trixie/' >/etc/apt/sources.list.d/cannery-trixie.sources
  else
    sed -nE 's/^(deb (\[[^]]*\] )?[^ ]+) bookworm ([a-z].*)/\1 trixie \3/p' /etc/apt/sources.list \
      >/etc/apt/sources.list.d/cannery-trixie.list
  fi
  unset apt_updated
}

ensure_engine() {
  local missing=() running buildx
  running="$(docker info --format '{{.ServerVersion}}' 2>/dev/null || true)"
  buildx="$(docker buildx version 2>/dev/null || true)"
  command -v docker >/dev/null || missing+=(docker-cli)
  [ -n "$buildx" ] || missing+=(docker-buildx)
  if [ -n "$running" ]; then
    say "engine: already running ($running)"
  else
    command -v dockerd >/dev/null || missing+=(docker.io)
  fi
  if [ "${#missing[@]}" -gt 0 ]; then
    need_root "installing ${missing[*]}"
    add_trixie "${missing[@]}"
    apt_install iptables "${missing[@]/%//trixie}"
    buildx="$(docker buildx version)"
  fi
  [ -n "$running" ] || docker info >/dev/null 2>&1 || start_engine
  say "buildx: $buildx"
}

start_engine() {
  need_root "starting the engine"
  if [ -d /run/systemd/system ]; then
    say "starting the engine with systemd"
    systemctl start docker
  else
    say "starting dockerd; its log is $engine_log"
    mkdir -p "$state"
    setsid nohup dockerd >"$engine_log" 2>&1 </dev/null &
    echo "$!" >"$state/dockerd.pid"
  fi
  for _ in $(seq 60); do
    docker info >/dev/null 2>&1 && return
    sleep 0.5
  done
  tail -n 20 "$engine_log" >&2 || true
  die "the engine did not answer within 30 s; the end of its log is above."
}

stop_engine() {
  local pid
  pid="$(cat "$state/dockerd.pid" 2>/dev/null || true)"
  if [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null; then
    say "no engine that setup.sh has started is running"
    return
  fi
  say "stopping dockerd ($pid)"
  kill "$pid"
  for _ in $(seq 60); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.5
  done
  rm -f "$state/dockerd.pid"
}

ensure_emulation() {
  case "$(uname -m)" in aarch64 | arm64) return ;; esac
  if [ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
    say "arm64 emulation: already registered"
    return
  fi
  [ -e /usr/lib/binfmt.d/qemu-aarch64.conf ] || apt_install qemu-user-static
  need_root "registering qemu-aarch64"
  [ -e /proc/sys/fs/binfmt_misc/register ] ||
    mount binfmt_misc -t binfmt_misc /proc/sys/fs/binfmt_misc ||
    die "cannot mount binfmt_misc: the kernel does not support it, so this machine cannot emulate arm64."
  [ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] ||
    cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register
  say "arm64 emulation: registered"
}

# Docker Hub has the bases. It answers 401 to who has not logged in.
reaches_hub() {
  timeout 10 python3 - 2>/dev/null <<'PYTHON'
import urllib.error, urllib.request
try:
    urllib.request.urlopen("https://registry-1.docker.io/v2/", timeout=5)
except urllib.error.HTTPError:
    pass
PYTHON
}

# build.py then makes bases with tools/standin-base, while the software device is compiled.
allow_stand_ins() {
  install_mmdebstrap
  if [ ! -e "$settings" ]; then
    say "Docker Hub cannot be reached: cannery.toml allows stand-ins for Debian's images"
    cat >"$settings" <<'TEXT'
# Written by setup.sh, because Docker Hub could not be reached. Remove it once it can be, or name a
# mirror of it below [mirrors]; see docs/build.md.
[stand-ins]
"docker.io/library/debian" = "tools/standin-base"
TEXT
  else
    say "Docker Hub cannot be reached, and cannery.toml allows no stand-ins for Debian's images"
  fi
}

install_mmdebstrap() {
  local missing=()
  command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
  command -v arch-test >/dev/null || missing+=(arch-test)
  # Ubuntu has the keys of Debian's releases apart.
  [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
  [ "${#missing[@]}" = 0 ] || ! command -v apt-get >/dev/null || apt_install "${missing[@]}"
}

ensure_test_tools() {
  command -v apt-get >/dev/null || return 0
  install_mmdebstrap
  command -v ip >/dev/null || apt_install iproute2
  command -v mpicxx >/dev/null || apt_install libmpich-dev mpich
  # An engine without root's rights looks for it.
  command -v rootlesskit-docker-proxy >/dev/null || apt_install rootlesskit
  docker compose version >/dev/null 2>&1 ||
    ! can_install docker-compose "of Compose files" || apt_install_newer docker-compose
  command -v cosign >/dev/null ||
    ! can_install cosign "of signatures, which are most of tests/publish" || apt_install_newer cosign
  command -v docker-registry >/dev/null || install_registry
  command -v chromium >/dev/null || command -v google-chrome >/dev/null ||
    ! can_install chromium "of the page in a browser" || apt_install chromium
  command -v slurmctld >/dev/null || apt_install slurmctld slurmd slurm-client
  command -v podman >/dev/null || apt_install podman
  [ -e /usr/libexec/podman/quadlet ] || [ -e /usr/local/libexec/podman/quadlet ] ||
    ! can_install "podman's quadlet" "of its units" || install_quadlet
  [ -e /usr/share/fonts/truetype/wqy ] || apt_install fonts-wqy-microhei
  # The Node of the Python package playwright is linked with it, and Debian's compiler brings it.
  /sbin/ldconfig -p | grep -q 'libatomic\.so\.1 ' || apt_install libatomic1
}

# Only Debian has the package $1; Ubuntu has none, or a snap. tests/programs.py skips the tests $2.
can_install() {
  [[ "$(system)" == "debian "* ]] && return
  say "$1 is not installed, and only Debian has a package of it; without it, tests $2 are skipped"
  return 1
}

# Installs packages that Debian has from 13 on.
apt_install_newer() {
  need_root "installing $*"
  add_trixie "$@"
  if [ -e /etc/apt/preferences.d/cannery-trixie ]; then
    set -- "${@/%//trixie}"
  fi
  apt_install "$@"
}

# Only the program, because podman of Debian 13 needs a newer libc than Debian 12 has.
install_quadlet() {
  local folder
  need_root "installing podman's quadlet"
  add_trixie podman
  [ -n "${apt_updated:-}" ] || apt-get update -qq || die "apt-get update failed; see above."
  apt_updated=1
  folder="$(mktemp -d)"
  chmod 755 "$folder"
  (cd "$folder" && apt-get download -qq podman/trixie && dpkg-deb -x podman_*.deb .) ||
    die "podman's quadlet could not be downloaded; see above."
  install -D "$folder/usr/libexec/podman/quadlet" /usr/local/libexec/podman/quadlet
  rm -r "$folder"
}

# The package would start a registry that listens on all addresses; the tests start their own one.
install_registry() {
  if [ ! -e /etc/systemd/system/docker-registry.service ] && [ -d /run/systemd/system ]; then
    need_root "installing docker-registry"
    systemctl mask --quiet docker-registry
  fi
  apt_install docker-registry
}

require_python() {
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "python3 must be 3.11 or newer; 'python3 -V' says: $(python3 -V 2>&1)."
  python3 -c 'import ensurepip' 2>/dev/null || apt_install python3-venv
}

minor_of() {
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

# requirements-dev.txt has all of requirements.txt.
ensure_venv() {
  local wanted="requirements${with_tests:+-dev}.txt" stamp="$venv/.requirements" there minor clear=()
  minor="$(minor_of python3)"
  if [ -e "$venv/pyvenv.cfg" ] && [ "$(minor_of "$venv/bin/python")" != "$minor" ]; then
    say "python environment: .venv is not of Python $minor, which python3 is; making it again"
    clear=(--clear)
  else
    for there in "$wanted" requirements-dev.txt; do
      if cmp -s "$root/$there" "$stamp"; then
        say "python environment: up to date"
        return
      fi
    done
  fi
  say "python environment: installing $wanted into .venv"
  python3 -m venv "${clear[@]}" "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
    -r "$root/$wanted" || die "pip could not install $wanted; see above."
  cp "$root/$wanted" "$stamp"
}

only_venv="" with_tests="" all_tests=""
while [ "$#" -gt 0 ]; do
  case "$1" in
    -h | --help)
      usage
      exit 0
      ;;
    --stop)
      stop_engine
      exit 0
      ;;
    --venv) only_venv=1 ;;
    --tests) with_tests=1 ;;
    --tests=full) with_tests=1 all_tests=1 ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) break ;;
  esac
  shift
done

require_python
ensure_venv &
installing=$!
trap 'kill "$installing" 2>/dev/null || true' EXIT
if [ -z "$only_venv" ]; then
  { grep -qs '^\[stand-ins\]' "$settings" || reaches_hub; } &
  asking=$!
  ensure_engine
  ensure_emulation
  wait "$asking" || allow_stand_ins
  [ -z "$all_tests" ] || ensure_test_tools
fi
wait "$installing"
trap - EXIT
say "ready"
if [ "$#" -gt 0 ]; then
  PATH="$venv/bin:$PATH" VIRTUAL_ENV="$venv" exec "$@"
fi
