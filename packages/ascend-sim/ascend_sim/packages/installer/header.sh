# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh # the packer puts the settings of the archive above this code
# The header of every package, outer or inner: it verifies the archive, unpacks it into a folder of a
# random name, and starts install.sh there. It behaves as the vendor's makeself: after --check, too.

: "${label:?}" "${filesizes:?}" "${SHA:?}" "${skip:?}"

self=$0
check=no
execute=yes
keep=no
folder=
quiet=no

usage() {
    cat <<USAGE
$label, SIMULATED by cannery: no vendor software.
usage: sh FILE.run [options] [options of install.sh]
  --help | -h             print this
  --info, --list          say what the archive is; list its files
  --check                 verify the archive, then start install.sh --check
  --quiet | -q            say nothing of the archive
  --noexec                do not start install.sh
  --keep                  do not remove the folder of a random name
  --extract=DIR, --target DIR   unpack into DIR, which is kept
  --tar ARGUMENTS         run tar with ARGUMENTS on the archive, as in --tar xvf
  --nox11, --noprogress, --nodiskspace, --accept   are accepted and change nothing
USAGE
}

fail() {
    printf '%s: ERROR: %s\n' "$self" "$1" >&2
    exit 1
}

payload() {
    tail -n "+$((skip + 1))" "$self"
}

verify() {
    size=$(payload | wc -c | tr -d ' ')
    [ "$size" = "$filesizes" ] ||
        fail "the file is damaged: $size bytes of payload instead of $filesizes"
    sha256=$(payload | sha256sum | cut -d ' ' -f 1)
    [ "$sha256" = "$SHA" ] ||
        fail "the file is damaged: sha256 $sha256 instead of $SHA"
    [ "$quiet" = yes ] || echo "$label: size and sha256 are right"
}

# The first arguments of tar are its letters, which end in f.
run_tar() {
    [ $# -gt 0 ] || fail '--tar needs the arguments of tar, as in --tar xvf'
    letters=$1
    shift
    payload | gzip -cd | tar "$letters" - "$@"
}

# All that is not an option of this header is for install.sh, with --quiet and --check.
number=$#
while [ "$number" -gt 0 ]; do
    argument=$1
    shift
    number=$((number - 1))
    case $argument in
        --help | -h)
            usage
            exit 0
            ;;
        --info)
            echo "Identification: $label, SIMULATED by cannery"
            echo "Payload: $filesizes bytes, a tar.gz, sha256 $SHA"
            exit 0
            ;;
        --list)
            payload | gzip -cd | tar -tvf -
            exit
            ;;
        --tar)
            run_tar "$@"
            exit
            ;;
        --noexec) execute=no ;;
        --keep) keep=yes ;;
        --extract=?*) folder=${argument#*=} ;;
        --target)
            [ "$number" -gt 0 ] || fail '--target needs a folder'
            folder=$1
            shift
            number=$((number - 1))
            ;;
        --nox11 | --noprogress | --nodiskspace | --accept) ;;
        *)
            case $argument in
                --check) check=yes ;;
                --quiet | -q) quiet=yes ;;
            esac
            set -- "$@" "$argument"
            ;;
    esac
done

verify
if [ -n "$folder" ]; then
    keep=yes
    mkdir -p "$folder" || fail "cannot create $folder"
else
    above=${TMPDIR:-${HOME:-}}
    [ -d "$above" ] || above=$PWD
    folder=$above/selfgz$$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    mkdir "$folder" || fail "cannot create $folder"
fi
[ "$keep" = yes ] || trap 'rm -rf "$folder"' EXIT
trap 'exit 130' HUP INT TERM
payload | gzip -cd | tar -xf - -C "$folder" || fail "cannot unpack to $folder"
[ "$execute" = yes ] || exit 0
[ "$check" = no ] || [ "$quiet" = yes ] || echo "$label: starting install.sh --check"
cd "$folder" || exit 1
status=0
sh ./install.sh "$@" || status=$?
cd / || exit 1
exit "$status"
