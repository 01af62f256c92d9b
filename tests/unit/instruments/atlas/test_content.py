from dataclasses import replace

import pytest

from longlook.core.results import Agreement
from longlook.instruments.atlas.claims.entries import make_entry
from longlook.instruments.atlas.claims.entry import Entry
from longlook.instruments.atlas.content import judged, summary_row
from longlook.study.files import find_study
from tests.data.atlas import made_up_run

EFFECTS = "kakhki2017-fig10"


@pytest.fixture(scope="module")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Entry:
    return make_entry(made_up_run(tmp_path_factory.mktemp("runs") / EFFECTS, find_study(EFFECTS)), [])


def test_claims_are_those_of_the_study_today_if_only_claims_and_words_differ(entry: Entry) -> None:
    """A claim about a wrong cell is corrected without a new run: the entry has the right cell, too."""
    study = entry.study
    first, *others = study.claims
    cell = next(cell for cell in entry.cells.values() if dict(cell) != dict(first.cell))
    corrected = replace(study, title="anew", claims=(replace(first, id="corrected", cell=cell), *others))
    found = judged(corrected, entry)
    assert [item.claim.id for item in found] == ["corrected", *(claim.id for claim in others)]
    estimate = found[0].estimate
    assert estimate is not None and dict(estimate.cell) == dict(cell)
    assert Agreement.NOT_RUN not in [item.result for item in found]


def test_a_claim_that_is_newer_than_an_entry_of_another_study_is_not_run(entry: Entry) -> None:
    study = find_study(EFFECTS)
    first, *_ = study.claims
    newer = replace(study, rounds=study.rounds + 1, claims=(*study.claims, replace(first, id="new")))
    found = judged(newer, entry)
    assert [item.claim.id for item in found] == [claim.id for claim in newer.claims]
    assert found[-1].result is Agreement.NOT_RUN and Agreement.NOT_RUN not in [item.result for item in found[:-1]]
    assert summary_row(newer, entry, entry.plan_hash).counts[Agreement.NOT_RUN] == 1


def test_a_claim_counts_as_the_study_says_today(entry: Entry) -> None:
    study = find_study(EFFECTS)
    renamed = replace(study, claims=tuple(replace(claim, counts_as="one") for claim in study.claims))
    assert {item.claim.statement for item in judged(renamed, entry)} == {"one"}
    assert len({item.claim.statement for item in judged(study, entry)}) == len(study.claims)
