# The image's ENV, for login shells: 'su -' and ssh start without it, 'bash -l' resets PATH.
cannery_prepend() {
    eval "cannery_old=\${$1-}"
    case ":$cannery_old:" in
        *":$2:"*) ;;
        *) eval "export $1=\"\$2\${cannery_old:+:\$cannery_old}\"" ;;
    esac
}
export ASCEND_TOOLKIT_HOME="${ASCEND_TOOLKIT_HOME-/usr/local/Ascend/ascend-toolkit/latest}"
export ASCEND_HOME_PATH="${ASCEND_HOME_PATH-/usr/local/Ascend/ascend-toolkit/latest}"
export ASCEND_AICPU_PATH="${ASCEND_AICPU_PATH-/usr/local/Ascend/ascend-toolkit/latest}"
export ASCEND_OPP_PATH="${ASCEND_OPP_PATH-/usr/local/Ascend/ascend-toolkit/latest/opp}"
export TOOLCHAIN_HOME="${TOOLCHAIN_HOME-/usr/local/Ascend/ascend-toolkit/latest/toolkit}"
cannery_prepend PYTHONPATH "/usr/local/share/cannery/python"
cannery_prepend PYTHONPATH "/usr/local/Ascend/ascend-toolkit/latest/opp/built-in/op_impl/ai_core/tbe"
cannery_prepend PYTHONPATH "/usr/local/Ascend/ascend-toolkit/latest/python/site-packages"
cannery_prepend PATH "/usr/local/Ascend/ascend-toolkit/latest/tools/ccec_compiler/bin"
cannery_prepend PATH "/usr/local/Ascend/ascend-toolkit/latest/compiler/ccec_compiler/bin"
cannery_prepend PATH "/usr/local/Ascend/ascend-toolkit/latest/bin"
cannery_prepend LD_LIBRARY_PATH "/usr/local/Ascend/driver/lib64/driver"
cannery_prepend LD_LIBRARY_PATH "/usr/local/Ascend/driver/lib64/common"
cannery_prepend LD_LIBRARY_PATH "/usr/local/Ascend/driver/lib64"
cannery_prepend LD_LIBRARY_PATH "/usr/local/Ascend/ascend-toolkit/latest/opp/built-in/op_impl/ai_core/tbe/op_tiling/lib/linux/aarch64"
cannery_prepend LD_LIBRARY_PATH "/usr/local/Ascend/ascend-toolkit/latest/lib64/plugin/nnengine"
cannery_prepend LD_LIBRARY_PATH "/usr/local/Ascend/ascend-toolkit/latest/lib64/plugin/opskernel"
cannery_prepend LD_LIBRARY_PATH "/usr/local/Ascend/ascend-toolkit/latest/lib64"
cannery_prepend LD_LIBRARY_PATH "/usr/local/Ascend/ascend-toolkit/latest/tools/aml/lib64/plugin"
cannery_prepend LD_LIBRARY_PATH "/usr/local/Ascend/ascend-toolkit/latest/tools/aml/lib64"
export PIP_CONSTRAINT="${PIP_CONSTRAINT-/usr/local/share/cannery/constraints.txt}"
export UV_CONSTRAINT="${UV_CONSTRAINT-/usr/local/share/cannery/constraints.txt}"
unset -f cannery_prepend
unset cannery_old
