# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154,SC2329 # the layout's lines set and use more
# The environment of a simulated CANN toolkit @VERSION@; to be sourced, by sh or bash.

ascend_install='@INSTALL_PATH@'

# ascend_without NAME PATTERN: ascend_value is the list of folders in the variable NAME, without
# those that match and without empty ones, which would stand for the working directory.
ascend_without() {
    eval "ascend_rest=\${$1:-}:"
    ascend_value=
    while [ -n "$ascend_rest" ]; do
        ascend_element=${ascend_rest%%:*}
        ascend_rest=${ascend_rest#*:}
        # shellcheck disable=SC2254 # a pattern
        case $ascend_element in
            '' | $2) ;;
            *) ascend_value=$ascend_value${ascend_value:+:}$ascend_element ;;
        esac
    done
}

ascend_prepend() {
    ascend_without "$1" ''
    export "$1=$2${ascend_value:+:$ascend_value}"
}

@LAYOUT@

export ASCEND_TOOLKIT_HOME="$ascend_home"
export ASCEND_HOME_PATH="$ascend_home"
export ASCEND_AICPU_PATH="$ascend_home"
export ASCEND_OPP_PATH="$ascend_home/opp"
export TOOLCHAIN_HOME="$ascend_home/toolkit"

unset -f ascend_prepend ascend_without
unset ascend_install ascend_home ascend_tbe ascend_value ascend_rest ascend_element
