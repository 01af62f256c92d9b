"""Searches if no detector explains a gap: settings in a screening design, and losses by delta debugging. Pure.

`factors` are the settings that can be varied, `screening_design` has the combinations of them that run and the effect
of each setting on the gap, and `suspects` the findings that follow. `losses` are the packets that the link dropped, and
the fewest of them that matter. The pipeline runs the trials between them; `answer.is_needed` says when.
"""
