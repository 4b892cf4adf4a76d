# SPDX-License-Identifier: Apache-2.0
"""The catalogue: the table of all images and the page.

gather reads the files that the catalogue is made from. entries holds everything about each target,
and commands the texts for people to copy. readme makes the table. page makes one self-contained
HTML file, from the data of its script (data), its rows of choices (facets) and its strings.
"""
