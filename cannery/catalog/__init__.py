# SPDX-License-Identifier: Apache-2.0
"""The catalogue: the table of all images and the page.

entries reads the files that the catalogue is made from and holds everything about each target;
commands has the texts for people to copy. readme makes the table. page makes one self-contained
HTML file, from the data of its script (data), its rows of choices (facets) and its strings.
"""
