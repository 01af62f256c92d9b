"""What the page says beside the results: method, validity and manifest, as lists of term and text."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from longlook.core.model import Outcome, Study
from longlook.report import wording
from longlook.report.content import ReportContent

CORRECTIONS = {
    "holm": "Holm, which bounds the chance of any false verdict",
    "fdr_bh": "Benjamini-Hochberg, which bounds the share of false verdicts",
    "none": "none",
}


@dataclass(frozen=True)
class Validity:
    """Attempts of the whole run by outcome, how many trials were tried again, and every reason with its count."""

    attempts: int
    trials: int
    retried: int
    counts: Mapping[str, int]
    reasons: tuple[tuple[str, str, int], ...]  # outcome, reason, count


def validity(content: ReportContent) -> Validity:
    """Counted from the samples, which hold every attempt."""
    attempts = content.samples.drop_duplicates(["trial_id", "attempt"])
    counts = Counter(attempts["outcome"].astype(str))
    bad = attempts[attempts["outcome"].astype(str) != str(Outcome.OK)]
    reasons = Counter(
        (str(outcome), "no reason given" if pd.isna(reason) else str(reason))
        for outcome, reason in zip(bad["outcome"], bad["reason"], strict=True)
    )
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return Validity(
        attempts=len(attempts),
        trials=int(attempts["trial_id"].nunique()),
        retried=int((attempts.groupby("trial_id").size() > 1).sum()) if len(attempts) else 0,
        counts={str(outcome): counts[str(outcome)] for outcome in Outcome},
        reasons=tuple((outcome, reason, count) for (outcome, reason), count in ranked),
    )


def method(study: Study) -> list[tuple[str, str]]:
    """How verdicts are reached, from the study's settings."""
    analysis = study.analysis
    margin = f"±{analysis.equivalence_margin_pct:g}{wording.NBSP}%"
    confidence = wording.percent(analysis.confidence)
    return [
        (
            "Round",
            "Every arm once, back to back, in random order, over a link with the same random numbers. The round is the "
            f"unit of comparison; this study has {study.rounds} per cell.",
        ),
        (
            "Effect",
            "The mean over rounds of the log ratio of contender to baseline, shown as a percentage; where lower is "
            "better, the share by which the contender is smaller. + % always means that the contender is better.",
        ),
        ("Interval", f"{confidence} Student interval of that mean, from the rounds in which both arms have a value."),
        (
            "Significance",
            f"The paired t-test of the log ratios, at {analysis.alpha:g} after correction. Welch’s test, which the IMC "
            "2017 paper used, and Mann-Whitney’s stand beside it as checks.",
        ),
        (
            "Correction",
            f"Across the cells of a contrast, or of all contrasts of its family: "
            f"{CORRECTIONS.get(analysis.correction, analysis.correction)}.",
        ),
        (
            "Equivalence",
            f"Two one-sided t-tests against a margin of {margin}. Equivalent is evidence of no difference that "
            "matters; inconclusive is a lack of evidence.",
        ),
        (
            "Verdict",
            f"The first that holds: fewer than {analysis.min_rounds} complete rounds are ? inconclusive; ≈ equivalent; "
            "▲ better or ▼ worse where significant; else ? inconclusive.",
        ),
        (
            "Outcomes",
            "A trial that failed, timed out or was not supported is counted and shown, never dropped. Invalid attempts "
            f"are repeated up to {study.retries_when_invalid} times and stay on record.",
        ),
    ]


def manifest_facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Everything simple that the manifest says, nested keys joined by a dot; programs and releases are listed apart."""
    facts = []
    for key, value in manifest.items():
        if key in ("programs", "command", "releases"):
            continue
        facts.extend(_flat(key, value))
    return facts


def _flat(key: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [fact for name, item in value.items() for fact in _flat(f"{key}.{name}", item)]
    if isinstance(value, list | tuple):
        return [(_term(key), ", ".join(map(str, value)))]
    if key.endswith("_unix_s") and isinstance(value, int | float):
        moment = datetime.fromtimestamp(value, UTC)
        return [(_term(key.removesuffix("_unix_s")), f"{moment:%Y-%m-%d %H:%M:%S} UTC")]
    if key.endswith("_kib") and isinstance(value, int | float):
        return [(_term(key.removesuffix("_kib")), f"{value / 1024**2:.1f}{wording.NBSP}GiB")]
    return [(_term(key), wording.DASH if value is None else str(value))]


def _term(key: str) -> str:
    return key.removeprefix("host.").replace("_", " ")


def programs(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Programs and their digests."""
    found = manifest.get("programs")
    return [(str(name), str(digest)) for name, digest in found.items()] if isinstance(found, Mapping) else []


def slug(text: str, taken: set[str]) -> str:
    """A file name of a contrast: its letters and digits, with a digest when another contrast already has them."""
    base = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower()).strip("-")[:60]
    name = base or "contrast"
    if name in taken:
        name = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
    taken.add(name)
    return name
