"""Timelines → samples → estimates → verdicts about published claims.

`measure.measure_all` measures every attempt of a run, `samples.samples_table` makes the table of samples,
`stats.estimate` and `stats.arm_levels` estimate contrasts and arms, `claims.judge.judge` compares published claims with
the estimates. `results_digest.results_digest` identifies the results of a run. The pipeline and the conformance suite
use these.

Later packages also import `bottleneck` (was a host too slow?), `trace_checks` (did a sender do what it declares?),
and `measure_cache` and `statistics_cache` (results that are not computed again).
From `stats` they import `cells` (a contrast's values), `libraries` (scipy and statsmodels, imported at their first
use), `procedures` and `sequential` (the tests on arrays). They also import `verdicts` (their verdict) and `stopping`
(which cells need more rounds, and sides of a gate).

`pipeline` also imports `effects`, which says how settings and knobs are measured.
"""
