"""Timelines → samples → estimates → verdicts about published claims.

`measure.measure_all` measures every attempt of a run, `samples.samples_table` makes the table of samples,
`stats.estimate` and `stats.arm_levels` estimate contrasts and arms, `claims.judge.judge` compares published claims with
the estimates. `results_digest.results_digest` identifies the results of a run. The pipeline and the conformance suite
use these.

Later packages also import `bottleneck` (was a host too slow?), `congestion_check` (did a sender do what it declares?),
`measure_cache` and `statistics_cache` (what is not computed again), and from `stats` the modules `cells` (a contrast's
values), `libraries` (scipy and statsmodels, imported where they are used), `procedures` and `sequential` (the tests on
arrays), `verdicts` (their verdict), `stopping` (which cells need more rounds, and sides of a gate) and `shares` (the
interval of a share).

`pipeline` also imports `effects`: what measures settings and knobs.
"""
