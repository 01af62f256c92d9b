"""The certificate of the link emulator: does the emulated link do what theory demands?

`virtual.calibrate(say, out)` measures in a guest in virtual time and returns a `Calibration`; `live.calibrate_live`
measures this host in real time and returns a `LiveCalibration`. Both keep their tables and raw times.
`certificate.certificate` returns the entry of a run's manifest on the calibration of its link, or None. Inside,
`catalogue.CASES` has the packets and links of all cases, `measure` and `host` send and record the packets,
`laws.checks` compares them with theory, and `verdicts.verdicts` makes the table. `pipeline` and `report` use the entry
points; docs/explanation/calibration.md has the method and the reason of each tolerance.
"""
