"""`longlook compare` and `longlook bisect`: two stacks or versions against a gate, without a study file.

Two sides and some networks go in; a study is made of them and run, and the answer of the gate comes out, also as JUnit
XML, Markdown and JSON. Only `cli` uses this package: `spec.ComparisonSpec` is what is compared, `run.run_comparison`
and `run.run_bisection` do it, and `output` writes the answer for other programs.

`cli` also imports `candidates` (what can be bisected) and `bisection`, for what a version was found to be, `explain`,
for why it was worse, and `servers`, for servers beside a reference (`longlook calibrate --servers`).
"""
