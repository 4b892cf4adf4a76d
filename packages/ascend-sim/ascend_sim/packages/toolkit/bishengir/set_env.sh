#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The compiler of a simulated toolkit; to be sourced, by bash: its folder is found from this file.

PATH=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../../tools/bishengir/bin" && pwd):$PATH
export PATH
