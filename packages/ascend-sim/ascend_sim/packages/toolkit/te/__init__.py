# SPDX-License-Identifier: Apache-2.0
"""Simulated: imports what the vendor's operator compiler needs of Python, and compiles nothing."""

import absl.logging
import attr
import cffi
import cloudpickle
import decorator
import google.protobuf.descriptor
import numpy
import psutil
import requests
import scipy
import sympy
import tornado
import yaml

import tbe

__all__ = ["tbe"]
