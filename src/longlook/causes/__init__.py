"""Causes of a slower load: each file defines one `CAUSE`, or a family, `CAUSES` (CONTRIBUTING.md, "Add a cause").

Nothing lists the files. In a family each cause has its constants, `NAME_sign`, `NAME_changes`, their helpers and
`NAME = Cause(…)`, in this order.
"""
