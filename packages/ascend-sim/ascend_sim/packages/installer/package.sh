# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # install.sh of a package; common.sh stands above it
# Checks the machine and the place, starts the packages of the parts, and says what was installed.

: "${package_name:?}" "${package_version:?}" "${package_arch:?}" "${parts?}" "${packages?}"
: "${needs_toolkit?}" "${exclusive?}" "${templates?}" "${version_cfg?}" "${version_parts?}"
: "${internal_version:?}" "${record?}" "${set_env?}"

usage() {
    cat <<USAGE
$package_name $package_version linux-$package_arch, SIMULATED by cannery: no vendor software.
usage: sh FILE.run ACTION [options]
  --install, --run, --upgrade   install the package
  --devel, --full               the same, which the toolkit alone knows; operators know --devel
  --check                       start the --check of each part
  --install-path=DIR            where to (default: $default_path)
  --install-for-all             let every user read and run what the group may
  --quiet                       accept the EULA, ask nothing
  --chip=NAMES, --force         are accepted and change nothing
USAGE
}

require_action() {
    if [ -z "$action" ]; then
        usage
        exit 1
    fi
    case $action-$log_name in
        --full-*toolkit_install | --devel-*toolkit_install | --devel-*ops_install) ;;
        --devel-*kernels_install) ;;
        --full-* | --devel-*) fail "$action is not for this package" ;;
    esac
}

require_machine() {
    machine=$(uname -m)
    [ "$machine" = "$package_arch" ] ||
        fail "this package is for $package_arch, this machine is $machine"
}

accept_eula() {
    [ "$quiet" = no ] || return 0
    printf '%s\n' "$package_name $package_version is SIMULATED by cannery: no vendor software." \
        'Do you accept the EULA, as the package that it stands in for asks? [Y/N]'
    answer=
    read -r answer || :
    case $answer in
        Y | y) log INFO 'the EULA was accepted' ;;
        *) fail 'the EULA was not accepted: nothing is installed (--quiet accepts it)' ;;
    esac
}

# For root, each folder above the installation must be root's, with a mode of at least 755.
require_install_path() {
    case $install_path in
        /*) ;;
        *) fail "the install path $install_path is not absolute" ;;
    esac
    case $install_path in
        *[!A-Za-z0-9_./+-]*)
            fail "the install path $install_path has more than A-Z a-z 0-9 _ . / + -"
            ;;
    esac
    [ "$(id -u)" = 0 ] || return 0
    existing=$install_path
    while [ "$existing" != / ] && [ "$existing" != "${ASCEND_SIM_ROOT:-}" ]; do
        if [ -d "$existing" ]; then
            owner=$(stat -c %U "$existing")
            [ "$owner" = root ] || fail "$existing must belong to root, not to $owner"
            mode=$(stat -c %a "$existing" | tail -c 4)
            [ "$mode" -ge 755 ] || fail "$existing must have at least mode 755, its mode is $mode"
        fi
        existing=$(dirname "$existing")
    done
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
    case " $toolkits" in
        *" $needs_toolkit "*) ;;
        ' ') fail "no CANN toolkit is installed in $install_path: install $needs_toolkit first" ;;
        *) fail "CANN toolkit ${toolkits% } is installed, this package is for $needs_toolkit" ;;
    esac
    [ "$parts" = atb ] || return 0
    [ -n "${ASCEND_TOOLKIT_HOME:-}" ] && [ -d "${ASCEND_HOME_PATH:-}" ] || fail \
        "ASCEND_TOOLKIT_HOME is not set: run . $install_path/ascend-toolkit/set_env.sh first"
}

# The operators of several chips cannot share one path (CANN installation guide, 8.5 to 9.1).
require_one_chip() {
    [ -n "$exclusive" ] && [ -f "$install_path/$exclusive" ] || return 0
    other=$(sed -n 's/^package_name=//p' "$install_path/$exclusive")
    [ "$other" = "$package_name" ] || fail \
        "$other is in $install_path, and the operators of several chips cannot share one path"
}

# Each part is a package of its own, which is unpacked, verified and installed by itself.
run_parts() {
    for part in $packages; do
        set -- --quiet "--install-path=$install_path" "$action"
        [ "$for_all" = no ] || set -- "$@" --install-for-all
        sh "run_package/$part" "$@" || fail "the part $part failed"
    done
}

fill_templates() {
    for file in $templates; do
        [ -f "$install_path/$file" ] || continue
        sed "s|@INSTALL_PATH@|$install_path|g" "$install_path/$file" >filled
        cat filled >"$install_path/$file"
    done
}

# version.cfg belongs to several packages: this one replaces its own lines and keeps the others.
write_version_cfg() {
    [ -n "$version_cfg" ] || return 0
    file=$install_path/$version_cfg
    echo '# version: 1.0' >cfg
    if [ -f "$file" ]; then
        listed=$(printf '%s' "$version_parts" | tr ' ' '|')
        grep -Ev "^#|^($listed)_(running|upgrade|installed)_version=" "$file" >>cfg || :
    fi
    for kind in running upgrade installed; do
        for part in $version_parts; do
            printf '%s\n' "${part}_${kind}_version=[$internal_version:$package_version]" >>cfg
        done
    done
    cat cfg >"$file"
    chmod "$(others 640)" "$file"
}

write_record() {
    [ -n "$record" ] || return 0
    folder=${ASCEND_SIM_ROOT:-}/etc/Ascend
    [ "$(id -u)" = 0 ] || folder=$HOME/Ascend
    mkdir -p "$folder"
    printf 'Toolkit_InstallPath=%s\n' "$install_path/$record" >"$folder/ascend_cann_install.info"
}

choose_paths
start_log
for option in "$@"; do read_option "$option"; done
install_path=${install_path:-$default_path}
install_path=${install_path%/}
require_action
if [ "$action" = --check ]; then
    run_parts
    exit 0
fi
log INFO "$action $package_name $package_version (simulated) in $install_path: start"
require_machine
require_install_path
require_toolkit
require_one_chip
accept_eula
run_parts
fill_templates
write_version_cfg
write_record
log INFO "$package_name $package_version (SIMULATED) is installed"
echo "$package_name $package_version (SIMULATED) is installed in $install_path"
[ -z "$set_env" ] || echo "set the environment with: . $install_path/$set_env"
exit 0
