"""The order of the stages: the one place that knows which stage follows which.

A study goes in, and a run folder with its report comes out; a finished run folder goes in, and its analysis or another
page comes out. Only `terminal`, instruments and `cli` use this package. Others import:

- `run.run_study` runs a study from its plan to its report. `options.RunOptions` is how, and an `options.Observer` is
  called with what happens.
- `explain.explain_run` says of a run folder why arms lost, by trials of its own.
- `sample.sample_study` runs a study and returns its samples, without a report.
- `analyse.analyse` repeats every stage after the engine, from files alone, and returns an `analyse.Result`.
- `preview.preview` returns what `run_study` would do, and does none of it.
- `provide.provide` installs and generates what the trials of a plan need.
- `evidence` decides what commands do where a run's files are not as they were sealed.
- `hars.export_hars` writes the page loads of a run folder for other tools.
- `sbom.bill_of_materials` says what the programs of a run are made of.
"""
