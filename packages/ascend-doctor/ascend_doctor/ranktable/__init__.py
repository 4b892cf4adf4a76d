# SPDX-License-Identifier: Apache-2.0
"""Rank tables: which card has which rank and address, as HCCL reads it from RANK_TABLE_FILE.

Source: CANN's HCCL documentation, rank tables of Atlas A2 (version 1.0) and of A3 SuperPoDs (1.2);
Ascend/mind-cluster, hccl.json; for the order of keys of version 1.0, hccl_tools.py of MindFormers.
"""
