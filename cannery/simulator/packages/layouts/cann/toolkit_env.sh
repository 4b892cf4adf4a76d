# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # a part of templates/toolkit_set_env.sh

ascend_version=@VERSION@
ascend_home=$ascend_install/cann-$ascend_version
ascend_tbe=$ascend_home/opp/built-in/op_impl/ai_core/tbe

# Takes out what was set before by this script, or by that of another version.
for ascend_name in PATH LD_LIBRARY_PATH PYTHONPATH CMAKE_PREFIX_PATH; do
    ascend_without "$ascend_name" "$ascend_install/cann[/_-]*"
    export "$ascend_name=$ascend_value"
done

ascend_prepend PATH "$ascend_home/tools/msobjdump"
ascend_prepend PATH "$ascend_home/tools/show_kernel_debug_data"
ascend_prepend PATH "$ascend_home/tools/ascend_system_advisor/asys"
ascend_prepend PATH "$ascend_home/tools/profiler/bin"
ascend_prepend PATH "$ascend_home/tools/ccec_compiler/bin"
ascend_prepend PATH "$ascend_home/bin"
# The driver is mounted there, wherever CANN is installed.
ascend_prepend LD_LIBRARY_PATH /usr/local/Ascend/driver/lib64/driver
ascend_prepend LD_LIBRARY_PATH /usr/local/Ascend/driver/lib64/common
ascend_prepend LD_LIBRARY_PATH /usr/local/Ascend/driver/lib64
# Those of 8.5 alone: v9.0.0 of hicann/runtime has them no more.
case $ascend_version in
    8.*)
        ascend_prepend LD_LIBRARY_PATH "$ascend_home/tools/aml/lib64/plugin"
        ascend_prepend LD_LIBRARY_PATH "$ascend_home/tools/aml/lib64"
        ;;
esac
ascend_prepend LD_LIBRARY_PATH "$ascend_tbe/op_tiling/lib/linux/$(uname -m)"
ascend_prepend LD_LIBRARY_PATH "$ascend_home/lib64/plugin/nnengine"
ascend_prepend LD_LIBRARY_PATH "$ascend_home/lib64/plugin/opskernel"
ascend_prepend LD_LIBRARY_PATH "$ascend_home/lib64"
ascend_prepend PYTHONPATH "$ascend_tbe"
ascend_prepend PYTHONPATH "$ascend_home/python/site-packages"
ascend_prepend CMAKE_PREFIX_PATH "$ascend_home/lib64/cmake"
ascend_prepend CMAKE_PREFIX_PATH "$ascend_home/toolkit/tools/tikicpulib/lib/cmake"

# Where no driver is mounted, programs are linked with the toolkit's stand-in for its library.
ascend_devlib=$ascend_home/devlib
ascend_rest=$LD_LIBRARY_PATH:
while [ -n "$ascend_rest" ]; do
    ascend_element=${ascend_rest%%:*}
    ascend_rest=${ascend_rest#*:}
    case $ascend_element in
        *driver*) [ ! -e "$ascend_element/libascend_hal.so" ] || ascend_devlib= ;;
    esac
done
export LD_LIBRARY_PATH="$LD_LIBRARY_PATH${ascend_devlib:+:$ascend_devlib}"
unset ascend_name ascend_devlib ascend_version
