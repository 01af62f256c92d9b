"""What a link must do, by theory, and whether what was measured is that: the certificate of the emulator.

`cases` says what is sent through which link, `theory` what must come of it, `verdicts` compares. Pure; `calibrate.py`
measures. docs/calibration.md has the method and the reason of each tolerance.
"""
