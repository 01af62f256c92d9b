"""`longlook claims`: published claims and conflicting findings, judged by several runs (docs/guide/claims.md).

`run.survey_runs` makes a `survey.Survey` of run folders and of entries of an atlas, and `page.write_claims_page` draws
it. `entry.Entry` is a run without its trials, and `entries` makes it of a run folder. `dispute.list_disputes` reads
disputes, `dispute_points` takes their values from runs, `dispute_judge` judges them, and `dispute_flips` finds what
flips their answers. `analysis.claims.judge` judges the claims of one study.
"""
