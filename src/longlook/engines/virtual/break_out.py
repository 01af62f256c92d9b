"""Reads the guest kernel's messages about programs that attack it, and decides the outcome of their trials. Pure."""

import re
from dataclasses import replace

from longlook.core import Outcome, Run

_ATTACK = re.compile(r"longlook: (.{1,16})\[\d+\] was ended by the kernel: (.*)")
_TRIAL = re.compile(r"longlook: trial (\d+)")
"""The line that `lab.guest` prints when a trial begins."""


def attacks(console: str) -> dict[int, str]:
    """Return the reasons by the number of the trial in the guest; of several attacks in a trial the first."""
    found: dict[int, str] = {}
    number = 0
    for line in console.splitlines():
        if trial := _TRIAL.fullmatch(line):
            number = int(trial[1])
        elif attack := _ATTACK.fullmatch(line):
            found.setdefault(number, f"the guest's kernel ended the program {attack[1]}: {attack[2]}")
    return found


def judged(run: Run, attack: str | None) -> Run:
    """Return the run as it counts: one with an attack has failed, whatever came of it, and is not exact."""
    return run if attack is None else replace(run, outcome=Outcome.FAILED, reason=attack, hint=None, exact=False)
