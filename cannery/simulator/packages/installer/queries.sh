# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # a part of the installer: main.sh sets the variables
# What a package says of itself, and its payload without an installation.

package_info() {
    cat <<INFO
Identification: $package_name $package_version linux-$package_arch, SIMULATED by cannery
Installed on: ${needs_toolkit:+CANN toolkit $needs_toolkit}
Payload: $payload_size bytes, a tar.gz, sha256 $payload_sha256
INFO
}

list_payload() {
    verify_payload
    payload | tar -tvzf -
}

# tar_payload ARGUMENTS: the first ones are tar's letters, which end in f.
tar_payload() {
    [ $# -gt 0 ] || fail "$EXIT_USAGE" '--tar needs the arguments of tar, as in --tar xvf'
    letters=$1
    shift
    verify_payload
    payload | gzip -dc | tar "$letters" - "$@" || fail "$EXIT_FAILED" "tar $letters failed"
}

extract_payload() {
    verify_payload
    mkdir -p "$extract_path" || fail "$EXIT_FAILED" "cannot create $extract_path"
    payload | tar -xzf - -C "$extract_path" || fail "$EXIT_FAILED" "cannot unpack to $extract_path"
}
