"""Published claims and conflicting findings, judged by our values (docs/guide/claims.md).

`judge.judge` judges the claims of a study by its estimates, and `kinds.kind_of` says how much of a reproduced one was
found again; `welch.welch_verdict` returns the verdict of the papers' own test, which stands beside.
`dispute.list_disputes` reads disputes, `dispute_judge` judges them by values and `dispute_flips` finds what flips
their answers. `survey.Survey` holds what several runs give for the claims page, `atlas.Atlas` the contents of the
atlas, whose studies belong to `papers`; `settings_changes` compares the settings of studies.
"""
