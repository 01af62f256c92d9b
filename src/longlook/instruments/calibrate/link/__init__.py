"""The certificate of the link emulator: does the emulated link do what theory demands?

`virtual.calibrate(say, out)` measures in a guest in virtual time and returns a `Calibration`; `live.calibrate_live`
measures this host in real time and returns a `LiveCalibration`. Both keep their tables and raw times. Inside,
`catalogue.CASES` has the packets and links of all cases, `measure` and `host` send and record the packets,
`laws.checks` compares them with theory, and `verdicts.verdicts` makes the table. `core.calibration` knows where a
certificate is kept: a run notes it without any of this code. docs/explanation/calibration.md has the method and the
reason of each tolerance.
"""
