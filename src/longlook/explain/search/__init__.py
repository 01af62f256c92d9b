"""What is tried where no detector explains a gap: settings in a screening design, and losses by delta debugging. Pure.

`factors` are the settings that can be varied, `designs` the combinations of them that run, `effects` what each setting
does to the gap, and `suspects` the findings that follow. `losses` are the packets that the link dropped, and `minimal`
finds the fewest of them that matter. The pipeline runs the trials between them; `need` says when.
"""
