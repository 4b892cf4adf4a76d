# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034 # a part of the installer: changes.sh reads the variables
# The installer of every simulated package. pack.py puts the package's settings and the other files
# of this folder above this code, and the payload, a tar.gz of a tree relative to the install path, below it.

set -eu
umask 022
LC_ALL=C
export LC_ALL

: "${package_name:?}" "${package_version:?}" "${package_arch:?}" "${log_name:?}"
: "${needs_toolkit?}" "${needs_environment:?}" "${exclusive?}" "${home:?}" "${templates?}" "${version_cfg?}"
: "${version_parts?}" "${internal_version:?}" "${record?}" "${set_env?}"
: "${payload_size:?}" "${payload_sha256:?}" "${payload_line:?}"

EXIT_DAMAGED=1
EXIT_USAGE=2
EXIT_EULA=3
EXIT_MACHINE=4
EXIT_TOOLKIT=5
EXIT_FAILED=6
EXIT_MISSING=7

self=$0
mode=
quiet=no
for_all=no
install_path=
extract_path=
log_file=
staging=
explained=no
made_directories=
newline='
'

usage() {
    cat <<USAGE
$package_name $package_version linux-$package_arch, SIMULATED by cannery: no vendor software.
usage: sh FILE.run ACTION [options]
actions:
  --install            install the package
  --devel              install it for development (not NNAL); a simulated one has the same files
  --full               install all of it (the toolkit only)
  --upgrade            install it where another version of it is installed
  --uninstall          remove the files that this package installed
  --check              verify that this file is complete and unaltered
  --info, --list       say what the package is; list its files
  --extract=DIR        unpack the payload to DIR, install nothing (--noexec may be given with it)
  --tar ARGUMENTS      run tar with ARGUMENTS on the payload, as in --tar xvf
  --version, --help, -h
options:
  --install-path=DIR   where to (default: /usr/local/Ascend; for other users than root ~/Ascend)
  --install-for-all    let every user read and run what the group may
  --quiet, -q          accept the EULA, ask nothing
  --chip=NAMES, --nox11, --force  are accepted and change nothing
exit codes: 0 done, $EXIT_DAMAGED damaged file, $EXIT_USAGE wrong usage, $EXIT_EULA EULA refused,
  $EXIT_MACHINE wrong architecture or install path, $EXIT_TOOLKIT no toolkit of this version,
  $EXIT_FAILED the installation failed and was undone, 129/130/143 the same, by a signal,
  $EXIT_MISSING the package is not installed
USAGE
}

log() {
    [ -n "$log_file" ] || return 0
    printf '[%s] [%s] [%s] %s\n' "$log_name" "$(date +%Y%m%d-%H:%M:%S)" "$1" "$2" \
        2>/dev/null >>"$log_file" || :
}

say() {
    log INFO "$1"
    printf '%s\n' "$1"
}

# fail CODE MESSAGE
fail() {
    explained=yes
    log ERROR "$2"
    printf '%s: ERROR: %s\n' "$package_name" "$2" >&2
    [ -z "$log_file" ] || printf 'The log is %s\n' "$log_file" >&2
    exit "$1"
}

set_mode() {
    [ -z "$mode" ] || fail $EXIT_USAGE "--$mode and --$1 cannot be given together"
    mode=$1
}

parse_arguments() {
    while [ $# -gt 0 ]; do
        argument=$1
        shift
        case $argument in
            --install | --upgrade | --uninstall) set_mode "${argument#--}" ;;
            --full)
                [ "$log_name" = toolkit ] || fail $EXIT_USAGE '--full is for the toolkit only'
                set_mode install
                ;;
            --devel)
                [ "$log_name" != nnal ] || fail $EXIT_USAGE '--devel is not for NNAL'
                set_mode install
                ;;
            --check | --version | --help | --info | --list) set_mode "${argument#--}" ;;
            -h) set_mode help ;;
            --tar)
                set_mode tar
                tar_payload "$@"
                exit 0
                ;;
            --extract=?*)
                set_mode extract
                extract_path=${argument#--extract=}
                ;;
            --install-path=?*) install_path=${argument#--install-path=} ;;
            --install-for-all) for_all=yes ;;
            --quiet | -q) quiet=yes ;;
            --chip=?* | --force | --nox11 | --noexec) ;;
            *) fail $EXIT_USAGE "unknown option $argument: see --help" ;;
        esac
    done
}

payload() {
    tail -n "+$payload_line" "$self"
}

verify_payload() {
    size=$(payload | wc -c | tr -d ' ')
    [ "$size" = "$payload_size" ] ||
        fail $EXIT_DAMAGED "the file is damaged: $size bytes of payload instead of $payload_size"
    sha256=$(payload | sha256sum | cut -d ' ' -f 1)
    [ "$sha256" = "$payload_sha256" ] ||
        fail $EXIT_DAMAGED "the file is damaged: sha256 $sha256 instead of $payload_sha256"
}

# ASCEND_SIM_ROOT exists for tests of root's behaviour, which must not write to the real /etc and
# /var/log; nothing else is allowed to set it.
choose_paths() {
    if [ "$(id -u)" = 0 ]; then
        install_path=${install_path:-/usr/local/Ascend}
        record_directory=${ASCEND_SIM_ROOT:-}/etc/Ascend
        log_directory=${ASCEND_SIM_ROOT:-}/var/log/ascend_seclog
    else
        home=${HOME:?is not set}
        install_path=${install_path:-$home/Ascend}
        record_directory=$home/Ascend
        log_directory=$home/var/log/ascend_seclog
    fi
    install_path=${install_path%/}
}

start_log() {
    if mkdir -p "$log_directory" && : >>"$log_directory/ascend_${log_name}_install.log"; then
        log_file=$log_directory/ascend_${log_name}_install.log
        log INFO "$mode $package_name $package_version (simulated) in $install_path: start"
    fi
}

require_machine() {
    machine=$(uname -m)
    [ "$machine" = "$package_arch" ] ||
        fail $EXIT_MACHINE "this package is for $package_arch, this machine is $machine"
}

accept_eula() {
    [ "$quiet" = no ] || return 0
    printf '%s\n' "$package_name $package_version is SIMULATED by cannery: no vendor software." \
        'Do you accept the EULA, as the package that it stands in for asks? [Y/N]'
    answer=
    read -r answer || :
    case $answer in
        Y | y) log INFO 'the EULA was accepted' ;;
        *) fail $EXIT_EULA 'the EULA was not accepted: nothing is installed (--quiet accepts it)' ;;
    esac
}

require_install_path() {
    case $install_path in
        /*) ;;
        *) fail $EXIT_MACHINE "the install path $install_path is not absolute" ;;
    esac
    case $install_path in
        *[!A-Za-z0-9_./+-]*)
            fail $EXIT_MACHINE "the install path $install_path has more than A-Z a-z 0-9 _ . / + -"
            ;;
    esac
    [ "$(id -u)" = 0 ] || return 0
    existing=$install_path
    while [ ! -d "$existing" ]; do existing=$(dirname "$existing"); done
    owner=$(stat -c %u "$existing")
    [ "$owner" = 0 ] || fail $EXIT_MACHINE "$existing must belong to root, not to user $owner"
    permissions=$(stat -c %a "$existing")
    # The last two octal digits are those of the group and of the others; the bit 2 is "may write".
    [ $((0$permissions & 022)) = 0 ] ||
        fail $EXIT_MACHINE "$existing must be writable by root alone, its mode is $permissions"
}

installed_toolkits() {
    for info in "$install_path"/ascend-toolkit/*/*-linux/ascend_toolkit_install.info \
        "$install_path"/cann-*/*-linux/ascend_toolkit_install.info; do
        [ ! -f "$info" ] || sed -n 's/^version=//p' "$info"
    done | sort -u | tr '\n' ' '
}

require_toolkit() {
    [ -n "$needs_toolkit" ] || return 0
    toolkits=$(installed_toolkits)
    why=
    case " $toolkits" in
        *" $needs_toolkit "*) ;;
        ' ') why="no CANN toolkit is installed in $install_path: install $needs_toolkit first" ;;
        *) why="CANN toolkit ${toolkits% } is installed, this package is for $needs_toolkit" ;;
    esac
    [ -z "$why" ] || fail $EXIT_TOOLKIT "$why"
    [ "$needs_environment" = yes ] || return 0
    [ -n "${ASCEND_TOOLKIT_HOME:-}" ] ||
        fail $EXIT_TOOLKIT \
            "ASCEND_TOOLKIT_HOME is not set: run . $install_path/ascend-toolkit/set_env.sh first"
}

# The operators of several chips cannot share one path (CANN installation guide, 8.5 to 9.1).
require_one_chip() {
    [ -n "$exclusive" ] && [ -f "$install_path/$exclusive" ] || return 0
    other=$(sed -n 's/^package_name=//p' "$install_path/$exclusive")
    [ "$other" = "$package_name" ] || fail $EXIT_TOOLKIT \
        "$other is in $install_path, and the operators of several chips cannot share one path"
}

install_package() {
    choose_paths
    start_log
    trap leave EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    verify_payload
    require_machine
    require_install_path
    [ "$mode" = install ] || require_installed "simulated/$package_name"
    require_toolkit
    require_one_chip
    accept_eula
    stage
    merge
    write_record
    trap '' HUP INT TERM
    rm -rf "$staging"
    say "$package_name $package_version (SIMULATED) is installed in $install_path"
    [ -z "$set_env" ] || say "set the environment with: . $install_path/$set_env"
}

parse_arguments "$@"
case $mode in
    install | upgrade) install_package ;;
    uninstall) uninstall_package ;;
    info) package_info ;;
    list) list_payload ;;
    check)
        verify_payload
        say "$self: size and sha256 are right"
        ;;
    extract) extract_payload ;;
    version) say "$package_name $package_version linux-$package_arch (simulated)" ;;
    help) usage ;;
    '')
        usage >&2
        exit $EXIT_USAGE
        ;;
esac
exit 0
