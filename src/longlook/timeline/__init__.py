"""A trial's raw artefacts → one table of rows on one clock, and a second one of events from traces of its endpoints.

`timeline.Timeline` and `events.Events` are the two tables, `normalise.trial.normalise_trial` and
`trial_events.write_events` make them, `trial_events.full_timeline` joins both for metrics. `competition.Competition` is
the link's view of several flows, `state_times` and `envelope` derive states' times and envelopes, and `export` writes
other formats. Metrics, analysis, explain and report read these.
"""
