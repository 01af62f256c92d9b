"""One trial again with operations on single packets, as an experiment on what these packets did. Pure."""

from dataclasses import replace

from longlook.core import codec
from longlook.core.model import Trial
from longlook.network.surgery import surgery_text, with_surgery


def with_operations(trial: Trial, up: str, down: str) -> Trial:
    """Return the trial with operations on packets of each direction, beside those that it has already.

    `up` and `down` are texts as of `network.surgery.up` and `network.surgery.down`; `off` adds nothing, and with both
    off the trial stays what it is. Otherwise it gets an id of its own, and keeps the link's seed and the programs'
    randomness: until its first consequence, both trials are the same to the nanosecond in virtual time. Raise
    SettingError, with the setting's key, if a text is wrong or contradicts the operations that are there.
    """
    link = with_surgery(trial.link, up, down)
    if link == trial.link:
        return trial
    texts = [surgery_text(up), surgery_text(down)]
    return replace(
        trial,
        id=codec.content_hash([trial.id, "surgery", texts]),
        link=link,
        randomness_of=trial.randomness_of or trial.id,
    )
