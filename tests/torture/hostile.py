"""Programs that misbehave, in virtual or in real time: they have an outcome, and the other arm is measured."""

import random
from collections.abc import Mapping

import pandas as pd

from longlook.core.model import Outcome
from tests.faults.test_outcomes import CLIENT_FAULTS, SERVER_FAULTS
from tests.torture.place import Place

FAULTS: Mapping[tuple[str, str], Outcome] = {
    **{("server", fault): outcome for fault, outcome, _ in SERVER_FAULTS},
    **{("client", fault): outcome for fault, outcome, _ in CLIENT_FAULTS},
    ("client", "eats_memory"): Outcome.FAILED,
    ("client", "bombs_busily"): Outcome.FAILED,
    ("client", "attacks_others"): Outcome.OK,
    ("server", "attacks_others"): Outcome.OK,
    ("client", "looks_for_marks"): Outcome.OK,
    ("server", "looks_for_marks"): Outcome.OK,
    ("server", "forges_for_others"): Outcome.OK,
    ("server", "hinders_the_laboratory"): Outcome.OK,
    ("client", "finds_writable"): Outcome.OK,
    ("client", "prints_a_page"): Outcome.FAILED,
    ("client", "has_no_time"): Outcome.FAILED,
    ("server", "prints_an_object"): Outcome.FAILED,
    ("client", "leaves_daemon"): Outcome.OK,
    ("server", "leaves_daemon"): Outcome.OK,
    ("server", "ignores_sigterm"): Outcome.OK,
}
"""Each deed of the rogue (tests/plugins/programs/rogue.py) by role, and the outcome that it must have."""

ONLY_IN_GUESTS = {"eats_memory"}
"""What a guest's own memory bounds."""

_IN_VIRTUAL_TIME = {"needs_jitter": Outcome.FAILED}
_BYTES = 50 << 20


def hostile_program(place: Place, draw: random.Random) -> None:
    """Run a study of which one arm misbehaves."""
    role, fault = draw.choice(list(FAULTS))
    engine = "virtual" if fault in ONLY_IN_GUESTS else draw.choice(["virtual", "live"])
    client = draw.choice(["rogue", "rogue-session"]) if role == "client" else "rogue"
    place.note(f"{role} {fault}", engine, client)
    study = place.study(fault, 2, "10s", client, role, seed=draw.randrange(2**31), retries=1)
    out = place.path / "out"
    patient = {"LONGLOOK_SPIN_TIMEOUT_S": "60"}
    place.command("run", str(study), "--engine", engine, "--out", str(out), extra=patient).expect(0)
    expected = _IN_VIRTUAL_TIME.get(fault, FAULTS[role, fault]) if engine == "virtual" else FAULTS[role, fault]
    found = pd.read_parquet(out / "samples.parquet").drop_duplicates("trial_id", keep="last")
    outcomes = {arm: set(rows["outcome"]) for arm, rows in found.groupby("arm")}
    accepted = {"usual": {"ok"}, "rogue": {str(expected)}}
    if engine == "live":  # of a busy machine the guard may reject any trial
        outcomes = {arm: seen - {"invalid"} or {"invalid"} for arm, seen in outcomes.items()}
        accepted = {arm: {*allowed, "invalid"} for arm, allowed in accepted.items()}
    assert all(outcomes[arm] <= accepted[arm] for arm in accepted), f"outcomes {outcomes}"
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    assert size < _BYTES, f"{size} bytes in the run folder"
    place.expect_clean()
