"""The certificate of the link emulator: does the emulated link do what theory demands?

`virtual.calibrate(say, out)` measures in a guest in virtual time and returns a `Calibration`; `live.calibrate_live`
measures this host in real time and returns a `LiveCalibration`. Both keep their tables and raw times. Inside, a
`passages.Passage` is packets and the link that they pass, and a `laws.Law` is what theory demands of them: one class,
with its own check. `queues` has the laws of bottlenecks, and `catalogue.CASES` has every case. `measure` and `host`
send and record the packets, and `verdicts.verdicts` makes the table. `core.calibration` knows where a certificate is
kept: a run notes it without any of this code. docs/explanation/trust.md has the method and the reason of each
tolerance.
"""
