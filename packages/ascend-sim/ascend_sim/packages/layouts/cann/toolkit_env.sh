# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The environment of a simulated CANN toolkit @VERSION@; to be sourced, by bash: as the vendor's, it
# finds its folder through BASH_SOURCE.

# Takes the folders of this toolkit, and of others beside it, out of a variable.
ascend_remove() {
    local folder kept=
    while read -r folder; do
        case $folder in
            '' | "$2"/cann[/_-]*) ;;
            *) kept+=${kept:+:}$folder ;;
        esac
    done <<<"${!1//:/$'\n'}"
    export "$1=$kept"
}

ascend_prepend() {
    export "$1=$2${!1:+:${!1}}"
}

ascend_join() {
    local folder joined=
    for folder in "${@:2}"; do joined+=${joined:+:}$1/$folder; done
    printf '%s' "$joined"
}

# Whether a driver is on this host: in a folder of LD_LIBRARY_PATH, where the record of its
# installation says, or among the loader's.
ascend_has_driver() {
    local folder place=
    while read -r folder; do
        case $folder in
            *driver*) [ -z "$(find "$folder" -name libascend_hal.so 2>/dev/null)" ] || return 0 ;;
        esac
    done <<<"${LD_LIBRARY_PATH//:/$'\n'}"
    if [ -f /etc/ascend_install.info ]; then
        place=$(grep -iw driver_install_path_param /etc/ascend_install.info | cut -d= -f2-)
        [ -z "$(find "$place/driver" -name libascend_hal.so 2>/dev/null)" ] || return 0
    fi
    command -v ldconfig >/dev/null && ldconfig -p | grep -q libascend_hal.so
}

ascend_set() {
    local home name tbe version=@VERSION@ driver=/usr/local/Ascend/driver/lib64
    local aml=()
    home=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
    tbe=opp/built-in/op_impl/ai_core/tbe
    for name in PATH LD_LIBRARY_PATH PYTHONPATH; do ascend_remove "$name" "$(dirname "$home")"; done
    case :$PATH: in *:/sbin:*) ;; *) export PATH="$PATH:/sbin" ;; esac
    ascend_has_driver || name=devlib
    # Those of 8.5 alone: v9.0.0 of hicann/runtime has them no more.
    case $version in 8.*) aml=(tools/aml/lib64 tools/aml/lib64/plugin) ;; esac
    ascend_prepend PATH "$(ascend_join "$home" bin tools/ccec_compiler/bin tools/profiler/bin \
        tools/ascend_system_advisor/asys tools/show_kernel_debug_data tools/msobjdump)"
    ascend_prepend LD_LIBRARY_PATH "$(ascend_join "$home" lib64 lib64/plugin/opskernel \
        lib64/plugin/nnengine "$tbe/op_tiling/lib/linux/$(arch)" "${aml[@]}"):$driver:$driver/common:$driver/driver"
    # As the vendor's: an empty element where PYTHONPATH was empty.
    export PYTHONPATH="$home/python/site-packages:$home/$tbe:$PYTHONPATH"
    # Where no driver is found, programs are linked with the toolkit's stand-in for its library.
    [ "$name" != devlib ] || export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$home/devlib"
    export ASCEND_OPP_PATH="$home/opp" ASCEND_AICPU_PATH="$home" TOOLCHAIN_HOME="$home/toolkit"
    export ASCEND_HOME_PATH="$home" ASCEND_TOOLKIT_HOME="$home"
    ascend_prepend CMAKE_PREFIX_PATH "$home/lib64/cmake"
    ascend_prepend CMAKE_PREFIX_PATH "$home/toolkit/tools/tikicpulib/lib/cmake"
}

ascend_set
unset -f ascend_set ascend_has_driver ascend_join ascend_prepend ascend_remove
