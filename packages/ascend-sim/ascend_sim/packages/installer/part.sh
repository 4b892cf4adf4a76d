# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # install.sh of a part; common.sh stands above it
# Installs what 'list' says, a line at a time and with a process for each step, as the vendor's do:
# what was installed before a failure stays.

: "${check:?}" "${on_error:?}"

make_folder() {
    [ -d "$1" ] && return 0
    mkdir -p "$1" || return 1
    chmod "$(others 750)" "$1"
}

give() {
    chmod "$(others "$1")" "$2" && chown -h "$owner" "$2"
}

install_file() {
    make_folder "$(dirname "$2")" || return 1
    cp --remove-destination "$1" "$2" || return 1
    give "$3" "$2"
}

# A folder without a mode of its own gets that of the umask.
install_plain() {
    mkdir -p "$(dirname "$2")" && cp "$1" "$2"
}

install_link() {
    make_folder "$(dirname "$2")" || return 1
    ln -sfn "$1" "$2"
}

# list: KIND|MODE|PATH|TARGET, where the path is below the install path.
copy_files() {
    while IFS='|' read -r kind rights path target; do
        case $kind in
            folder) make_folder "$install_path/$path" ;;
            file) install_file "$part/$path" "$install_path/$path" "$rights" ;;
            plain) install_plain "$part/$path" "$install_path/$path" ;;
            link) install_link "$target" "$install_path/$path" ;;
        esac || {
            log ERROR "cannot copy $path"
            return 1
        }
    done <list
}

# wheels: PATH|FOLDER|MODULES. pip keeps where it has a wheel from: the folder of a random name.
install_wheels() {
    while IFS='|' read -r path folder modules; do
        log INFO "pip installs $path"
        pip3 install --disable-pip-version-check --upgrade --no-deps --force-reinstall \
            "$PWD/$part/$path" -t "$install_path/$folder" >/dev/null || {
            log ERROR "install ${path##*/} failed"
            return 1
        }
        for each in $modules; do
            find "$install_path/$folder/$each" -type f -exec chmod "$(others 550)" {} \;
            find "$install_path/$folder/$each" -type d -exec chmod "$(others 550)" {} \;
        done
    done <wheels
}

# Operators' installers tell the log of an error, and go on.
tolerate() {
    [ "$on_error" = soft ] || fail "$part is not installed"
    log ERROR "$part: a step of the installation failed"
}

owner=$(id -u):$(id -g)
choose_paths
if [ "${log_directory##*/}" = cann_atb_log ]; then
    # Its --check writes to the log before there is a folder for it.
    case " $* " in
        *" --check "*) log INFO 'check' || exit 1 ;;
    esac
fi
start_log
for option in "$@"; do read_option "$option"; done
install_path=${install_path:-$default_path}
if [ "$action" = --check ]; then
    [ "$check" = yes ] || fail 'Unsupported parameters'
    log INFO 'check: nothing to do'
    exit 0
fi
copy_files || tolerate
install_wheels || tolerate
log INFO "$part is installed in $install_path"
exit 0
