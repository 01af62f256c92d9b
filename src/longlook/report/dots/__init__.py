"""The dot plot of a figure with `kind = "dots"`: every arm's median in every cell. `section.make_dots` makes it."""
