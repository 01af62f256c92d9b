"""The words around the answers of a decision and of a run."""

from longlook.core import RunFolder
from longlook.instruments.decide.page import PageText
from longlook.instruments.decide.run import CPU_STUDY, MAIN, SETTINGS, Decided
from longlook.instruments.decide.verdict import Advised, advise, heading, level, main_answers, paragraph, share
from longlook.instruments.decide.verdict import amount as said
from longlook.pipeline import UsersAnswered
from longlook.terminal import quoted

_WHOLE = (
    "Neither the time of an application behind the server, nor pages that other hosts serve, nor caches of browsers."
)


def decision_text(decided: Decided) -> PageText:
    """Return the words of a decision."""
    spec, found = decided.spec, decided.main
    advised: list[Advised] = [advise(answer) for answer in main_answers(found)]
    cpu = decided.folder / CPU_STUDY
    unknown = [
        _WHOLE,
        "The server’s CPU seconds for a gigabyte, which virtual time does not measure: "
        f"longlook run {quoted(cpu)} measures them in real time.",
    ]
    if not spec.paints:
        unknown.append("The largest visible object: the client shows nothing; --client chromium measures it.")
    if decided.settings is None:
        unknown.append("What settings of the server are worth: leave out --no-settings.")
    pages = ", ".join(spec.pages)
    return PageText(
        "decide",
        f"Should {spec.server} speak HTTP/3 to {spec.users.title}?",
        f"Pages {pages}, client {spec.client}, {len(spec.networks)} networks, {spec.rounds} rounds.",
        paragraph(found, advised),
        unknown,
        [
            ("report of HTTP/3 against HTTP/2", f"{MAIN}/report/index.html"),
            *([("report of the settings", f"{SETTINGS}/report/index.html")] if decided.settings is not None else []),
            ("all numbers", "answer.json"),
        ],
    )


def population_text(folder: RunFolder, found: UsersAnswered) -> PageText:
    """Return the words of a run's answers over users."""
    first = found.answers[0].metric
    sentences = []
    for answer in (each for each in found.answers if each.metric == first):
        mean = level(answer, "mean")
        sentences.append(
            f"{heading(answer)}, {answer.contrast}: better for {share(answer.better)} of the users, worse for "
            f"{share(answer.worse)}; the mean goes from {said(mean.baseline)} to {said(mean.contender)}."
        )
    study = folder.study
    unknown = [f"{name}: no cell has a value of both arms." for name in found.without]
    return PageText(
        "population",
        f"{study.title}: {found.users.title}",
        study.question,
        sentences,
        unknown,
        [("report of the run", "../report/index.html"), ("all numbers", "answer.json")],
    )
