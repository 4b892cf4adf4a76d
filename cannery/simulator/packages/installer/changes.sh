# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # a part of the installer: main.sh sets the variables
# All that changes the disk, kept in a journal so that it can be undone.

# Makes a directory and remembers, deepest first, which of its ancestors were not there.
make_directories() {
    directory=$1
    missing=
    while [ ! -d "$directory" ]; do
        missing=$missing$directory$newline
        directory=$(dirname "$directory")
    done
    made_directories=$missing$made_directories
    mkdir -p "$1" || fail "$EXIT_FAILED" "cannot create $1"
}

stage() {
    make_directories "$install_path"
    staging=$(mktemp -d "$install_path/.simulated-install.XXXXXX") ||
        fail "$EXIT_FAILED" "cannot write to $install_path"
    mkdir "$staging/tree" "$staging/replaced"
    : >"$staging/journal"
    payload | tar -xzf - -C "$staging/tree" || fail "$EXIT_FAILED" "cannot unpack to $install_path"
    for file in $templates; do
        sed "s|@INSTALL_PATH@|$install_path|g" "$staging/tree/$file" >"$staging/filled"
        cat "$staging/filled" >"$staging/tree/$file"
    done
    stage_version_cfg
    # Others get what the group has, or nothing.
    others=o-rwx
    [ "$for_all" = no ] || others=o=g
    chmod -R "$others" "$staging/tree"
}

# version.cfg belongs to several packages: this one replaces its own lines and keeps the others.
stage_version_cfg() {
    [ -n "$version_cfg" ] || return 0
    staged=$staging/tree/$version_cfg
    echo '# version: 1.0' >"$staged"
    if [ -f "$install_path/$version_cfg" ]; then
        parts=$(printf '%s' "$version_parts" | tr ' ' '|')
        grep -Ev "^#|^($parts)_(running|upgrade|installed)_version=" \
            "$install_path/$version_cfg" >>"$staged" || :
    fi
    for kind in running upgrade installed; do
        for part in $version_parts; do
            printf '%s\n' "${part}_${kind}_version=[$internal_version:$package_version]" >>"$staged"
        done
    done
}

# place SOURCE TARGET: the journal is written first, so that an interruption in between is undone.
place() {
    kept=
    if [ -e "$2" ] || [ -L "$2" ]; then
        kept=$staging/replaced/$(wc -l <"$staging/journal" | tr -d ' ')
    fi
    printf '%s %s\n' "${kept:--}" "$2" >>"$staging/journal"
    [ -z "$kept" ] || mv "$2" "$kept" || fail "$EXIT_FAILED" "cannot replace $2"
    mv "$1" "$2" || fail "$EXIT_FAILED" "cannot write $2"
}

# Moves the largest parts that are not there yet: a new tree in one rename, a known one by file.
merge() {
    (cd "$staging/tree" && find . -mindepth 1 | sed 's|^\./||' | sort) >"$staging/list"
    while read -r entry; do
        source=$staging/tree/$entry
        target=$install_path/$entry
        [ -e "$source" ] || [ -L "$source" ] || continue
        if [ -d "$source" ] && [ ! -L "$source" ] && [ -d "$target" ] && [ ! -L "$target" ]; then
            continue
        fi
        place "$source" "$target"
    done <"$staging/list"
}

write_record() {
    [ -n "$record" ] || return 0
    make_directories "$record_directory"
    printf 'Toolkit_InstallPath=%s\n' "$install_path/$record" >"$staging/record" ||
        fail "$EXIT_FAILED" 'cannot write the installation record'
    place "$staging/record" "$record_directory/ascend_cann_install.info"
}

# Takes the journal back, and writes nothing: the disk may be full.
# shellcheck disable=SC2329 # called by leave
undo() {
    lost=no
    if [ -f "$staging/journal" ]; then
        while read -r kept target; do
            if [ "$kept" = - ]; then
                rm -rf "$target"
            elif [ -e "$kept" ] || [ -L "$kept" ]; then
                rm -rf "$target"
                mv "$kept" "$target" || lost=yes
            fi
        done <"$staging/journal"
    fi
    if [ "$lost" = yes ]; then
        printf '%s\n' "What could not be put back is in $staging/replaced" >&2
    elif [ -n "$staging" ]; then
        rm -rf "$staging"
    fi
    printf '%s' "$made_directories" | while read -r directory; do
        rmdir "$directory" 2>/dev/null || :
    done
}

# shellcheck disable=SC2329 # called by a trap
leave() {
    status=$?
    trap '' HUP INT TERM
    trap - EXIT
    if [ "$status" != 0 ]; then
        undo || :
        # A command that failed by itself ended the script through set -e.
        [ "$explained" = yes ] || explain_unexpected
        log ERROR "install $package_name $package_version: failed ($status), nothing was changed"
    fi
    exit "$status"
}

# shellcheck disable=SC2329 # called by leave
explain_unexpected() {
    reason='the installation was interrupted'
    if [ "$status" -lt 128 ]; then
        reason='the installation failed, for the reason above'
        status=$EXIT_FAILED
    fi
    printf '%s: ERROR: %s; nothing was changed\n' "$package_name" "$reason" >&2
    [ -z "$log_file" ] || printf 'The log is %s\n' "$log_file" >&2
}
