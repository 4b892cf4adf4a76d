# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of matrix.yaml, compat.yaml and publish.yaml, for editors.

samples/ has a small file of each kind, and each is read as the real one is. recorder: notes the
keys that the readers ask for. emit: turns the notes into a JSON schema. files: the three schemas.
"""
