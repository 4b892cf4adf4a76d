# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The environment of a simulated NNAL (ATB) @VERSION@; to be sourced, by bash: as the vendor's, it
# finds its folder through BASH_SOURCE, and reads ZSH_VERSION even if that is not set.
# --cxx_abi=0|1 says which C++ ABI torch was built with; without it, torch itself is asked, and
# where that cannot be imported, 1 is taken without a word.

atb_script=${BASH_SOURCE[0]}
[ -z "$ZSH_VERSION" ] || atb_script=$0
if [ "${atb_script##*/}" = set_env.sh ]; then
    atb_abi=
    for atb_argument in "$@"; do
        case $atb_argument in --cxx_abi=[01]) atb_abi=${atb_argument#--cxx_abi=} ;; esac
    done
    if [ -z "$atb_abi" ]; then
        atb_abi=1
        [ "$(python3 -c 'import torch; print(torch.compiled_with_cxx11_abi())' 2>/dev/null)" != False ] || atb_abi=0
    fi
    ATB_HOME_PATH=$(cd "$(dirname "$atb_script")" && pwd)/@FOLDER@cxx_abi_$atb_abi
    export ATB_HOME_PATH
    # These folders are named even where they do not exist.
    export LD_LIBRARY_PATH="$ATB_HOME_PATH/lib:$ATB_HOME_PATH/examples:$ATB_HOME_PATH/tests/atbopstest:$LD_LIBRARY_PATH"
    export PATH="$ATB_HOME_PATH/bin:$PATH"
@VARIABLES@
    unset atb_abi atb_argument
else
    echo 'atb: this file must be called set_env.sh' >&2
fi
unset atb_script
