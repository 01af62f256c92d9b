"""From study files to a plan: a file is read, checked and resolved into a list of trials. Pure, but for reading files.

A TOML file goes in; a `core.model.Study`, and from it a `core.model.Plan`, come out. Others import:

- `files.find_study` and `files.list_studies` read study files; `files.parse_study` takes a document without a file.
- `plan.make_plan` gives the trials in the order in which they run.
- `plan.with_operations` is one trial again with operations on single packets, and the same randomness.
- `contrast_filter.with_contrasts` leaves out the arms that no chosen contrast has, and `contrast_filter.levels_of`
  is the rest of `--only`.
- `catalogue.installed` is what a study may name; `arms.arm_differences` lists the settings in which its arms differ.
- `virtual_time.check_virtual` refuses what virtual time cannot measure, `check_remote` what a client elsewhere cannot.
- `releases.releases` dates the arms of a trend.
- `processors` reads what computing costs an endpoint, and prints it; `tcp.SETTINGS` are those of the kernel's TCP.
- `settings` and `flow_groups` refuse what no study file could set; `arm_settings` reads all that applies to an arm.
- `around` draws what rounds vary about a cell, and names the columns of it; `laws` has what can be drawn and how.
- `cells` names cells, `resolve` makes settings of a cell, `schema` has the tables of a study file.
"""
