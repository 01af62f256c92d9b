"""Drawings of state machines.

`drawing.draw` returns a machine as SVG, `diff_drawing.draw_diff` two machines as one. `wording` has their numbers and
names for terminals too. `picture` holds boxes and arrows, `layout.place` places them, `svg` draws them.
"""
