# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034 # a part of install.sh, of packages and of their parts
# What both kinds of install.sh share: options, the log, and others' rights.

: "${title:?}" "${log_name:?}" "${log_directory:?}"

action=
quiet=no
for_all=no
install_path=

# ASCEND_SIM_ROOT is for tests, which must not write to the real /etc and /var/log.
choose_paths() {
    root=${ASCEND_SIM_ROOT:-}
    default_path=/usr/local/Ascend
    if [ "$(id -u)" != 0 ]; then
        root=${HOME:?is not set}
        default_path=$HOME/Ascend
    fi
    log_directory=$root/var/log/$log_directory
    log_file=$log_directory/$log_name.log
}

start_log() {
    mkdir -p "$log_directory"
    chmod 750 "$log_directory"
    touch "$log_file"
    chmod 640 "$log_file"
}

# log LEVEL MESSAGE
log() {
    line="[$title] [$(date '+%Y-%m-%d %H:%M:%S')] [$1]: $2"
    printf '%s\n' "$line" >>"$log_file" || return 1
    [ "$1" = INFO ] || printf '%s\n' "$line"
}

# fail MESSAGE
fail() {
    log ERROR "$1"
    printf 'The log is %s\n' "$log_file"
    exit 1
}

read_option() {
    case $1 in
        --install | --devel | --full | --run | --upgrade | --check)
            [ -z "$action" ] || fail "$action and $1 cannot be given together"
            action=$1
            ;;
        --install-path=?*) install_path=${1#*=} ;;
        --install-for-all) for_all=yes ;;
        --quiet | -q) quiet=yes ;;
        --chip=?* | --force | --version=?*) ;;
        *) fail "unknown option $1" ;;
    esac
}

# others MODE: others get what the group has, or nothing.
others() {
    mode=${1%?}
    if [ "$for_all" = yes ]; then printf '%s%s' "$mode" "${mode#?}"; else printf '%s0' "$mode"; fi
}
