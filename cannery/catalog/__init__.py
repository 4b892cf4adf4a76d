# SPDX-License-Identifier: Apache-2.0
"""The catalogue: which images there are, what is in each, where it is, on what it was checked.

gather: reads what it is made from. entries: everything known of each target. commands: what people
copy. readme: the table in README.md. page: one HTML file that needs nothing else, with its strings
in both languages, its facets to choose by, and its figure.
"""
