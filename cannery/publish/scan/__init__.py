# SPDX-License-Identifier: Apache-2.0
"""Compares the packages of an image with advisories about vulnerabilities."""
