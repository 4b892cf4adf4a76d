# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # a part of the installer: main.sh sets the variables
# Removes what the package installed. An interrupted removal is completed by another one.

# require_installed FILE: which is in the install path if the package is there.
require_installed() {
    [ -f "$install_path/$1" ] ||
        fail "$EXIT_MISSING" "$package_name $package_version is not installed in $install_path"
}

uninstall_package() {
    choose_paths
    start_log
    verify_payload
    require_installed "$home/SIMULATED"
    staging=$(mktemp -d "$install_path/.simulated-removal.XXXXXX") ||
        fail "$EXIT_FAILED" "cannot write to $install_path"
    trap 'rm -rf "$staging"' EXIT
    mkdir "$staging/tree"
    payload | tar -xzf - -C "$staging/tree" || fail "$EXIT_FAILED" "cannot unpack to $install_path"
    remove_version_cfg
    (cd "$staging/tree" && find . -mindepth 1 | sed 's|^\./||' | sort -r) >"$staging/list"
    while read -r entry; do remove "$staging/tree/$entry" "$install_path/$entry"; done \
        <"$staging/list"
    remove_record
    say "$package_name $package_version (SIMULATED) is no longer installed in $install_path"
}

# remove SOURCE TARGET: a link may lead to another version by now, a folder have other files.
remove() {
    if [ -L "$1" ]; then
        [ "$(readlink "$1")" != "$(readlink "$2")" ] || rm -f "$2"
    elif [ -d "$1" ]; then
        rmdir "$2" 2>/dev/null || :
    else
        rm -f "$2"
    fi
}

remove_version_cfg() {
    file=$install_path/$version_cfg
    [ -n "$version_cfg" ] && [ -f "$file" ] || return 0
    parts=$(printf '%s' "$version_parts" | tr ' ' '|')
    kept=$(grep -Ev "^($parts)_(running|upgrade|installed)_version=" "$file" || :)
    printf '%s\n' "$kept" >"$file"
    case $kept in *_version=*) ;; *) rm -f "$file" ;; esac
}

remove_record() {
    file=$record_directory/ascend_cann_install.info
    [ -n "$record" ] && [ -f "$file" ] || return 0
    ! grep -qxF "Toolkit_InstallPath=$install_path/$record" "$file" || rm -f "$file"
}
