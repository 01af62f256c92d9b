"""Answers on disk: `answers.json` has all of each, `findings.parquet` a row for each intervention."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from longlook.core import InputError, codec, files, write_json
from longlook.explain import Answer, Explained, Judged, LedgerClass

FOLDER = "explain"
"""The folder of a run folder that holds its explanations."""

ANSWERS, FINDINGS = "answers.json", "findings.parquet"

_DTYPES = {
    "study": "str",
    "cell": "str",
    "contrast": "str",
    "cause": "str",
    "arm": "str",
    "role": "str",
    "found_by": "str",  # detector, screening or delta debugging
    "verdict": "str",
    "strength_ms": "float64",
    "seen_in": "int64",
    "kind": "str",  # cure or transplant; empty: nothing could be tested
    "intervention": "str",
    "target": "str",
    "touches": "str",  # mechanism, occasion or program
    "concluded": "str",  # by this intervention alone
    "rounds": "int64",
    "share_pct": "float64",
    "ci_low_pct": "float64",
    "ci_high_pct": "float64",
    "winners_pct": "float64",
    "closed": "float64",
    "closed_unit": "str",
    "p_adjusted": "float64",
    "reason": "str",
}


def write_answers(folder: Path, answer: Answer) -> None:
    """Add an answer to a run's; it replaces an earlier answer about the same contrast and cell."""
    folder.mkdir(parents=True, exist_ok=True)
    others = [item for item in read_answers(folder) if _about(item) != _about(answer)]
    answers = sorted([*others, answer], key=_about)
    write_json(folder / ANSWERS, codec.encode(tuple(answers)))
    findings_table(answers).to_parquet(folder / FINDINGS, index=False)


def read_answers(folder: Path) -> list[Answer]:
    """Return the answers of a run, perhaps none; InputError if the file is damaged."""
    path = folder / ANSWERS
    if not path.exists():
        return []
    try:
        answers = [codec.decode(Answer, item) for item in files.read_json(path)]
        for name in (name for answer in answers for classes in (answer.ledger_ms or {}).values() for name in classes):
            LedgerClass(name)  # ValueError for a class of another Longlook, which no page could draw
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} is damaged: {error}", "remove it: longlook explain writes it again") from error
    return answers


def _about(answer: Answer) -> tuple[str, str]:
    return answer.contrast, answer.cell_id


def findings_table(answers: Sequence[Answer]) -> pd.DataFrame:
    """Return a row for each intervention of each finding; a finding that could not be tested has one row."""
    rows = [row for answer in answers for item in answer.findings for row in _rows(answer, item)]
    return pd.DataFrame(rows, columns=list(_DTYPES)).astype(_DTYPES)


def _rows(answer: Answer, item: Explained) -> Iterator[dict[str, Any]]:
    common = {
        "study": answer.study,
        "cell": answer.cell_id,
        "contrast": answer.contrast,
        "cause": item.cause,
        "arm": item.arm,
        "role": item.role,
        "found_by": str(item.found_by),
        "verdict": str(item.conclusion),
        "strength_ms": item.strength_ms,
        "seen_in": item.seen_in,
    }
    tested = [("cure", made) for made in item.cures] + [("transplant", made) for made in item.transplants]
    for kind, made in tested:
        yield {**common, "kind": kind, **_judged(made)}
    if not tested:
        nothing = dict.fromkeys(("share_pct", "ci_low_pct", "ci_high_pct", "winners_pct", "closed", "p_adjusted"))
        texts = dict.fromkeys(("kind", "intervention", "target", "touches", "concluded", "closed_unit"), "")
        yield {**common, **texts, **nothing, "rounds": 0, "reason": "; ".join(item.untestable)}


def _judged(made: Judged) -> dict[str, Any]:
    share = made.share
    return {
        "intervention": made.change,
        "target": made.target,
        "touches": str(made.touches),
        "concluded": str(made.conclusion),
        "rounds": made.rounds,
        "share_pct": None if share is None else share.share_pct,
        "ci_low_pct": None if share is None else share.ci_low_pct,
        "ci_high_pct": None if share is None else share.ci_high_pct,
        "winners_pct": made.winners_pct,
        "closed": made.closed,
        "closed_unit": made.unit,
        "p_adjusted": made.p_adjusted,
        "reason": made.failed,
    }
