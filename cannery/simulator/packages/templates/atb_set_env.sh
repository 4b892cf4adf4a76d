# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The environment of a simulated NNAL (ATB) @VERSION@; to be sourced, by sh or bash.
# --cxx_abi=0|1 says which C++ ABI torch was built with; without it, torch itself is asked.
# In dash `.` passes no arguments: there, use `set -- --cxx_abi=1` before it.

atb_abi=
for atb_argument in "$@"; do
    case $atb_argument in
        --cxx_abi=*) atb_abi=${atb_argument#--cxx_abi=} ;;
    esac
done

if [ -z "$atb_abi" ]; then
    # Without autoload, because torch_npu cannot be imported where no driver is mounted.
    atb_abi=$(TORCH_DEVICE_BACKEND_AUTOLOAD=0 python3 -c \
        'import torch; print(int(torch.compiled_with_cxx11_abi()))' 2>/dev/null) || atb_abi=
    if [ -z "$atb_abi" ]; then
        echo 'set_env.sh: torch cannot be asked for its C++ ABI, 1 is assumed;' \
            'say --cxx_abi=0 or --cxx_abi=1' >&2
        atb_abi=1
    fi
fi

atb_prepend() {
    eval "atb_value=\${$1:-}"
    export "$1=$2${atb_value:+:$atb_value}"
}

case $atb_abi in
    0 | 1)
        export ATB_HOME_PATH="@INSTALL_PATH@/nnal/atb/latest/atb/cxx_abi_$atb_abi"
        atb_prepend LD_LIBRARY_PATH "$ATB_HOME_PATH/tests/atbopstest"
        atb_prepend LD_LIBRARY_PATH "$ATB_HOME_PATH/examples"
        atb_prepend LD_LIBRARY_PATH "$ATB_HOME_PATH/lib"
        atb_prepend PATH "$ATB_HOME_PATH/bin"
        @LAYOUT@
        ;;
    *) echo "set_env.sh: --cxx_abi=$atb_abi is neither 0 nor 1; nothing was set" >&2 ;;
esac

unset -f atb_prepend
unset atb_abi atb_argument atb_value
