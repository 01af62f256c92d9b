"""`--only contrast=NAME`: a study with some of its contrasts, since not every reader wants a whole ladder. Pure.

`--only FACTOR=LEVEL` leaves out cells and is a matter of the plan; a contrast leaves out arms, and with them whatever
the study concludes about these.
"""

from collections.abc import Sequence
from dataclasses import replace

from longlook.core import Contrast, InputError, Study, nearest

CONTRAST = "contrast"
"""The word before `=` that chooses contrasts; so no factor has this name."""


def levels_of(only: Sequence[str]) -> tuple[str, ...]:
    """Return the filters that choose levels of factors, in their order."""
    return tuple(text for text in only if not _is_contrast(text))


def with_contrasts(study: Study, only: Sequence[str]) -> Study:
    """Return the study with the contrasts that `only` names, or the whole study if it names none.

    A contrast is named by its name or by its family's name; several are alternatives. Their arms stay, the arm with
    which metrics compare (`analysis.reference`), and claims and hypotheses about them. InputError for an unknown name.
    """
    wanted = [text.partition("=")[2] for text in only if _is_contrast(text)]
    if not wanted:
        return study
    for name in wanted:
        _check(study, name)
    contrasts = tuple(item for item in study.contrasts if item.name in wanted or item.family in wanted)
    named = {arm for contrast in contrasts for arm in (contrast.baseline, contrast.contender)}
    if study.analysis.reference is not None:
        named.add(study.analysis.reference)
    kept = {contrast.name for contrast in contrasts}
    return replace(
        study,
        arms=tuple(arm for arm in study.arms if arm.name in named),
        contrasts=contrasts,
        claims=tuple(
            claim
            for claim in study.claims
            if (claim.contrast in kept if claim.expected is None else claim.expected.arm in named)
        ),
        hypotheses=tuple(each for each in study.hypotheses if each.contrast in kept),
    )


def _is_contrast(text: str) -> bool:
    return text.partition("=")[0] == CONTRAST


def _check(study: Study, name: str) -> None:
    known = list(dict.fromkeys(name for item in study.contrasts for name in _names(item)))
    if name not in known:
        message = f"--only {CONTRAST}={name}: study {study.id} has no such contrast{nearest(name, known)}"
        raise InputError(message, f"its contrasts: {'; '.join(known)}")


def _names(contrast: Contrast) -> tuple[str, ...]:
    return (contrast.family, contrast.name) if contrast.family else (contrast.name,)
