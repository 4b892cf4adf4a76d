# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Usage: sh -c THIS probe PROGRAM. Runs PROGRAM with the image's Python; without one, tells what
# sh can find out. Lines for build.py begin with "cannery-"; all others are somebody else's.
set -f
search=$PATH:/usr/local/bin:/usr/bin:/usr/local/sbin:/usr/sbin:/sbin:/bin
program=$1

try() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 5))' >/dev/null 2>&1 || return 0
    exec "$1" -c "$program"
}

for name in python3 python; do
    path=$(command -v "$name" 2>/dev/null) && try "$path"
done
set +f
for path in /usr/local/python3*/bin/python3 /usr/bin/python3.* /opt/conda/bin/python3 \
    /root/miniconda3/bin/python3 /root/anaconda3/bin/python3 /home/*/*conda*/bin/python3; do
    [ -x "$path" ] && try "$path"
done

say() { printf 'cannery-sh: %s\t%s\n' "$1" "$2"; }

say machine "$(uname -m 2>/dev/null)"
for name in bash sh sshd ssh npu-smi atc git; do
    old=$PATH PATH=$search
    path=$(command -v "$name" 2>/dev/null) && say "program $name" "$path"
    PATH=$old
done
env | while IFS= read -r line; do say environment "$line"; done
while IFS= read -r line; do say os "$line"; done </etc/os-release 2>/dev/null
while IFS= read -r line; do say user "$line"; done </etc/passwd 2>/dev/null
for path in /usr/local/Ascend/driver/* /usr/local/dcmi/*; do
    [ -e "$path" ] && say driver "$path"
done
for path in /usr/local/Ascend/*/*/*-linux/ascend_*_install.info \
    /usr/local/Ascend/cann-*/*-linux/ascend_*_install.info \
    /usr/local/Ascend/*/*/opp_kernel/version.info; do
    [ -f "$path" ] || continue
    # ascend-toolkit/latest is a link to a release, or a folder of links.
    real=$(readlink -f "$path" 2>/dev/null || echo "$path")
    say "home $real" "$path"
    while IFS= read -r line; do say "info $real" "$line"; done <"$real"
done
for path in /usr/local/Ascend/*/*/opp/built-in/op_impl/ai_core/tbe/kernel/ascend* \
    /usr/local/Ascend/cann-*/opp/built-in/op_impl/ai_core/tbe/kernel/ascend*; do
    [ -d "$path" ] && say operators "$path"
done
for path in /etc/bash.bashrc /etc/bashrc /etc/profile.d/*.sh /root/.bashrc /root/.profile; do
    [ -f "$path" ] || continue
    while IFS= read -r line; do
        case $line in
            \#*) ;;
            *set_env.sh* | *ASCEND_* | */usr/local/Ascend*) say "shell $path" "$line" ;;
        esac
    done <"$path"
done
say end 1
