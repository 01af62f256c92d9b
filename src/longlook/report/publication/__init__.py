"""Figures of a paper's width, tables in LaTeX and references: what a run's results need to be published.

`style` has the two looks, `fitted` a figure of a given width with letters of a given size, `latex` the tables and the
captions, `bibliography` the sources, and `write` puts them into a folder.
"""
