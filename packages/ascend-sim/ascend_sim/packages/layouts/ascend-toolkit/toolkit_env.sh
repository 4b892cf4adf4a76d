# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The environment of a simulated CANN toolkit @VERSION@; to be sourced. As the vendor's, it puts its
# folders before what a variable has, and leaves an empty element where that was empty.

export ASCEND_TOOLKIT_HOME='@INSTALL_PATH@/ascend-toolkit/latest'
export ASCEND_HOME_PATH="$ASCEND_TOOLKIT_HOME"
export ASCEND_AICPU_PATH="$ASCEND_TOOLKIT_HOME"
export ASCEND_OPP_PATH="$ASCEND_TOOLKIT_HOME/opp"
export TOOLCHAIN_HOME="$ASCEND_TOOLKIT_HOME/toolkit"

ascend_tbe=$ASCEND_OPP_PATH/built-in/op_impl/ai_core/tbe
LD_LIBRARY_PATH=$ascend_tbe/op_tiling/lib/linux/$(arch):$LD_LIBRARY_PATH
for ascend_folder in lib64/plugin/nnengine lib64/plugin/opskernel lib64 tools/aml/lib64/plugin \
    tools/aml/lib64; do
    LD_LIBRARY_PATH=$ASCEND_TOOLKIT_HOME/$ascend_folder:$LD_LIBRARY_PATH
done
export LD_LIBRARY_PATH
export PYTHONPATH="$ASCEND_TOOLKIT_HOME/python/site-packages:$ascend_tbe:$PYTHONPATH"
for ascend_folder in tools/ccec_compiler/bin compiler/ccec_compiler/bin bin; do
    PATH=$ASCEND_TOOLKIT_HOME/$ascend_folder:$PATH
done
export PATH
unset ascend_tbe ascend_folder
