"""The claims of a study, judged by its values (docs/guide/claims.md).

`judge.judge` judges claims by the estimates of a run. `welch.welch_verdict` returns the verdict of the papers' own
test, which stands beside.
"""
