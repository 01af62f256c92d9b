"""The page of an answer for users, and its numbers as JSON. Nothing is computed here."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from longlook.analysis import AnswerOfUsers, CellOfUsers
from longlook.core import Effect, RunFolder, find_metric, write_json, write_text
from longlook.instruments.decide.charts import change_chart, times_chart
from longlook.instruments.decide.spec import PAGE_LOAD_TIME
from longlook.instruments.decide.verdict import (
    amount,
    change,
    change_parts,
    heading,
    is_of_loads,
    level,
    not_known,
    share,
)
from longlook.pipeline import UsersAnswered
from longlook.report import asset, embedded_json, page_specification, template, vega

PAGE, ANSWER = "index.html", "answer.json"
_SHOWN = ("mean", "p50", "p75", "p95", "p99", "slowest 5 %", "slowest 1 %")
_NAMES: Mapping[str, str] = {
    "mean": "mean",
    "p50": "half of the loads (p50)",
    "p75": "p75",
    "p95": "p95",
    "p99": "p99",
    "slowest 5 %": "today’s slowest 5 %, mean",
    "slowest 1 %": "today’s slowest 1 %, mean",
}
_FULL = (PAGE_LOAD_TIME,)
"""Metrics whose block has charts; a table of each other metric stands below."""
_NEARLY_ALL_PCT = 99.95


@dataclass(frozen=True)
class PageText:
    """The head of a page, and the sentences that follow the answers."""

    command: str
    title: str
    question: str
    sentences: Sequence[str]
    unknown: Sequence[str]
    links: Sequence[tuple[str, str]]


def write_page(folder: Path, text: PageText, found: UsersAnswered, settings: UsersAnswered | None = None) -> Path:
    """Write `index.html` and `answer.json` in a folder; return the page."""
    labels = _labels(found.run)
    blocks = _blocks(found, labels)
    rows = [] if settings is None else _settings(settings, _labels(settings.run))
    names = [(block["anchor"], block["heading"]) for block in blocks]
    html = template("instruments/decide/page.html.j2").render(
        command=text.command,
        title=text.title,
        question=text.question,
        sentences=text.sentences,
        sections=[*names, *([("settings", "Settings")] if rows else []), ("unknown", "What is not known")],
        blocks=blocks,
        settings=rows,
        settings_apart=any(row["apart"] for row in rows),
        unknown=[*not_known(found), *text.unknown],
        users=found.users,
        links=text.links,
        css=asset("assets/report.css"),
        js=asset("assets/report.js"),
        vega=vega(),
        data=embedded_json({block["anchor"]: {"specs": block["specs"]} for block in blocks}),
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / PAGE, html)
    write_json(folder / ANSWER, answer_data(text, found, settings))
    return folder / PAGE


def answer_data(text: PageText, found: UsersAnswered, settings: UsersAnswered | None = None) -> dict[str, Any]:
    """Return all numbers; infinite ones, of loads that never ended, are null."""
    answers = [*found.answers, *(settings.answers if settings is not None else ())]
    return {
        "users": {"title": found.users.title, "source": found.users.source, "sampled": found.users.sampled},
        "sentences": list(text.sentences),
        "not_known": [*not_known(found), *text.unknown],
        "answers": [_plain(asdict(each)) for each in answers],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _labels(run: Path) -> dict[str, str]:
    return {arm.name: arm.label for arm in RunFolder.open(run).study.arms}


def _blocks(found: UsersAnswered, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a block for each contrast and combination: its first metric with charts, a table of each other one."""
    first = next((each.metric for each in found.answers if each.metric in _FULL), found.answers[0].metric)
    several = len({found.arms[each.contrast] for each in found.answers}) > 1
    blocks = []
    for number, answer in enumerate(each for each in found.answers if each.metric == first):
        pair = found.arms[answer.contrast]
        baseline, contender = (labels[arm] for arm in pair)
        others = [
            each
            for each in found.answers
            if each.metric != first and each.apart == answer.apart and found.arms[each.contrast] == pair
        ]
        name = heading(answer) + (f": {contender} against {baseline}" if several else "")
        blocks.append(
            {
                "anchor": f"answer-{number + 1}",
                "heading": name,
                "baseline": baseline,
                "contender": contender,
                "specs": {
                    "change": page_specification(change_chart(answer)),
                    "times": page_specification(times_chart(answer, baseline, contender)),
                },
                "sentence": _sentence(answer, baseline, contender),
                "tables": [_table(each) for each in (answer, *others) if each is answer or is_of_loads(each)],
                "cells": [_cell(cell, answer) for cell in sorted(answer.cells, key=lambda each: -each.share_pct)],
            }
        )
    return blocks


def _table(answer: AnswerOfUsers) -> dict[str, Any]:
    rows = [
        {
            "name": _NAMES[name],
            "baseline": amount(each.baseline),
            "contender": amount(each.contender),
            **_change(each.change, answer.margin_pct),
        }
        for name in _SHOWN
        if (each := level(answer, name))
    ]
    if answer.typical is not None:
        own = {"name": "mean of the users’ own changes", "baseline": "", "contender": ""}
        rows.append({**own, **_change(answer.typical, answer.margin_pct)})
    measured = 100 - answer.unmeasured_pct
    ended = "" if answer.counts_failures else " of loads that ended"
    about = ended if measured > _NEARLY_ALL_PCT else f" of the {measured:.1f} % of the users who have it"
    return {"caption": f"{find_metric(answer.metric).label}{about}", "rows": rows}


def _change(effect: Effect | None, margin: float) -> dict[str, str]:
    """Return a change, its interval below it, and its class of colour."""
    value, interval = change_parts(effect)
    return {"change": value, "interval": interval, "state": _state(effect, margin)}


def _sentence(answer: AnswerOfUsers, baseline: str, contender: str) -> str:
    users = (
        f"Better beyond {answer.margin_pct:g} {_unit(answer)}: {share(answer.better)} of the users. "
        f"Worse: {share(answer.worse)}."
    )
    if not answer.counts_failures:
        return users
    failed = f"{share(answer.failed[0])} over {baseline}, {share(answer.failed[1])} over {contender}"
    return f"{users} Loads that failed: {failed}; in means they count as the time limit."


def _unit(answer: AnswerOfUsers) -> str:
    return "%" if answer.typical is None else answer.typical.unit


def _state(effect: Effect | None, margin: float) -> str:
    if effect is None:
        return ""
    low, high = (effect.value if bound is None else bound for bound in (effect.low, effect.high))
    return "is-better" if low > margin else "is-worse" if high < -margin else ""


def _cell(cell: CellOfUsers, answer: AnswerOfUsers) -> dict[str, str]:
    labels = [label for factor, label in cell.labels.items() if factor not in answer.apart]
    effect = None if cell.effect_pct is None else Effect(cell.effect_pct, None, None, "%")
    fails = cell.failed_pct
    failed = f"{fails[0]:.0f} and {fails[1]:.0f} % fail" if any(fails) else ""
    return {
        "name": ", ".join(labels) or cell.cell_id,
        "share": f"{cell.share_pct:.1f} %",
        "baseline": _median(cell.baseline, answer.unit),
        "contender": _median(cell.contender, answer.unit),
        "change": change(effect),
        "state": _state(effect, answer.margin_pct),
        "verdict": ", ".join(filter(None, (cell.verdict, failed))),
    }


def _median(value: float | None, unit: str) -> str:
    return "–" if value is None else amount(Effect(value, None, None, unit))


def _settings(found: UsersAnswered, labels: Mapping[str, str]) -> list[dict[str, str]]:
    rows = []
    for answer in found.answers:
        baseline, contender = found.arms[answer.contrast]
        rows.append(
            {
                "name": labels[contender],
                "against": labels[baseline],
                "apart": ", ".join(answer.apart.values()),
                "typical": change(answer.typical),
                "state": _state(answer.typical, answer.margin_pct),
                "slow": change(level(answer, "p95").change),
                "better": share(answer.better),
                "worse": share(answer.worse),
                "failed": share(answer.failed[1]),
            }
        )
    return rows
