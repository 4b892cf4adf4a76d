# SPDX-License-Identifier: Apache-2.0
"""Turns results into text and JSON. No decisions are made here."""
