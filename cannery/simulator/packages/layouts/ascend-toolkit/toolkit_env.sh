# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # a part of templates/toolkit_set_env.sh

ascend_home=$ascend_install/ascend-toolkit/latest
ascend_tbe=$ascend_home/opp/built-in/op_impl/ai_core/tbe

# The driver's folders are not set here: the driver is mounted, and the image names its paths.
ascend_prepend LD_LIBRARY_PATH "$ascend_tbe/op_tiling/lib/linux/$(uname -m)"
ascend_prepend LD_LIBRARY_PATH "$ascend_home/lib64/plugin/nnengine"
ascend_prepend LD_LIBRARY_PATH "$ascend_home/lib64/plugin/opskernel"
ascend_prepend LD_LIBRARY_PATH "$ascend_home/lib64"
ascend_prepend LD_LIBRARY_PATH "$ascend_home/tools/aml/lib64/plugin"
ascend_prepend LD_LIBRARY_PATH "$ascend_home/tools/aml/lib64"
ascend_prepend PYTHONPATH "$ascend_tbe"
ascend_prepend PYTHONPATH "$ascend_home/python/site-packages"
ascend_prepend PATH "$ascend_home/tools/ccec_compiler/bin"
ascend_prepend PATH "$ascend_home/compiler/ccec_compiler/bin"
ascend_prepend PATH "$ascend_home/bin"
