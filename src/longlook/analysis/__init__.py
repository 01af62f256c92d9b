"""Timelines → samples → estimates → verdicts about published claims.

`measure.measure_all` measures every attempt of a run, `samples.samples_table` makes the table of samples,
`stats.estimate` and `stats.arm_levels` estimate contrasts and arms, `claims.judge.judge` compares published claims with
the estimates. `results_digest.results_digest` identifies the results of a run. The pipeline and the conformance suite
use these.
"""
