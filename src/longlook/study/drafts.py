"""The text of a study of one's own: from a few answers, or as changes of a study that exists. Pure."""

from dataclasses import dataclass

from longlook.study.toml_text import as_toml

_HEAD = """# Check it:   longlook study check {file}
# Run it:     longlook run {file}
# Keys:       docs/reference/study-keys.md; `longlook study schema > study.schema.json` is for editors,
#             which check this file if its first line is: #:schema ./study.schema.json
"""


@dataclass(frozen=True)
class Answers:
    """The answers that make a new study: its comparison and its paths, each value as a study file would have it."""

    question: str = "Does HTTP/3 load a page earlier than HTTP/2?"
    stack: str = "quic-go"
    rates: tuple[str, ...] = ("10Mbit", "50Mbit")
    rtt: str = "36ms"
    losses: tuple[str, ...] = ("0%", "1%")
    size: str = "100KB"


def new_study(file: str, answers: Answers) -> str:
    """Return a study of QUIC against TCP with the same congestion control on both sides."""
    document = {
        "schema": 1,
        "title": answers.question.rstrip("?"),
        "question": answers.question,
        "rounds": 10,
        "metrics": ["page_load_time", "time_to_first_byte"],
        "contrasts": [["h2", "h3"]],
        "factors": [
            {"name": "rate", "sets": "network.rate", "levels": list(answers.rates)},
            {"name": "loss", "sets": "network.loss", "levels": list(answers.losses)},
        ],
        "defaults": {"server": answers.stack, "client": answers.stack},
        "arms": {
            "h2": {"label": "HTTP/2 over TCP", "protocol": "h2", "connection": "cold", "congestion_control": "cubic"},
            "h3": {"label": "HTTP/3 over QUIC", "protocol": "h3", "connection": "cold"},
        },
        "workload": {"kind": "page", "objects": 1, "object": answers.size},
        "network": {"rtt": answers.rtt, "queue": "1bdp"},
    }
    return _HEAD.format(file=file) + as_toml(document)


def changed_study(file: str, of: str, title: str) -> str:
    """Return a study that starts from all tables of another one; what it states itself takes their place."""
    document = {"schema": 1, "extends": of, "title": title}
    more = """
# Everything else is as in {of}: longlook study show {of}
# A table that stands here takes the place of the values of the same keys, for example:
# rounds = 20
# [network]
# rtt = "100ms"
"""
    return _HEAD.format(file=file) + as_toml(document) + more.format(of=of)
