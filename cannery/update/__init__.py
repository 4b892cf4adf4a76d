# SPDX-License-Identifier: Apache-2.0
"""Changes: new targets, newer versions, bases and the tables of makers."""
