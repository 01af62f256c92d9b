"""Sentences that give a cause: which name the change that showed it, and which do not."""

from pathlib import Path

import pytest
from scripts import causal

NAMES = frozenset({"paced", "2000 vs 430", "server_knobs.max_window", "max_window", "queue"})


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("QUIC is faster because its streams do not wait.", "because"),
        ("**The queue decides**: QUIC gains 7 %.", "decides"),
        ("The gain of version 37 must have had another cause.", "must have had"),
        ("The receiver is therefore late.", "therefore"),
        ("The reason is bursts that meet the step.", "The reason is"),
        ("The handshake is the main cause.", "is the main cause"),
        ("The rule matters more than the protocol.", "matters more than"),
        ("Threads explain 5 s of it, and a queue explains the rest.", "explains"),
        ("`quic` decides it.", "decides"),  # names a transport, and no change
        ("`kakhki2017-fig6a` decides it.", "decides"),  # a study changes nothing by itself
        ("The paper's reading is wrong, because windows differ.", "because"),  # a source that says nothing
    ],
)
def test_a_cause_without_a_change_is_found(sentence: str, word: str) -> None:
    assert causal.cause_given(sentence, NAMES) == word


@pytest.mark.parametrize(
    "sentence",
    [
        "DCTCP gets little because of its bursts (`paced`).",
        'The window decides ("2000 vs 430").',
        "It is slower because of its window (`server_knobs.max_window = 107`).",
        "The queue (factor `queue`) decides.",
        "With 2000 packets instead of 430 it is faster, so the window is the cause.",
        "The number is the main cause: one program, and nothing else changed, goes from 52 to 71 %.",
        "The controller is the cause, *confirmed both ways*.",
        "It may be slower because of threads (*not tested*).",
        "The cause is not known.",
        "These runs cannot tell whether the queue was the cause.",
        "Because of [tail loss](../reference/causes.md#tail_loss) it waits.",
        "Kakhki et al. write that QUIC is ahead because of its acknowledgements.",
        "The paper: QUIC's rate falls because receivers handle every packet.",
        "QUIC's rate falls because of the receiver's work (Zhang et al., WWW 2024).",
        "Does QUIC gain because its streams do not wait?",
        "Ten rounds decide nothing, and Verizon's LTE decides all of its cells.",
        "Ten rounds do not decide it, and the client decides to move.",
        "`fairness-causes` leaves a part open.",
    ],
)
def test_a_cause_with_its_change_or_its_source_passes(sentence: str) -> None:
    assert causal.cause_given(sentence, NAMES) is None


def test_sentences_end_where_another_begins() -> None:
    text = "Yu et al. found it (fig. 8c). **It holds.** 10 KB gain 3.5 %. Is it so? No."
    assert list(causal.sentences(text)) == [
        "Yu et al. found it (fig. 8c).", "**It holds.**", "10 KB gain 3.5 %.", "Is it so?", "No."
    ]  # fmt: skip


def test_pages_studies_and_disputes_are_read_with_their_lines(tmp_path: Path) -> None:
    pages, studies, disputes = (
        tmp_path / place for place in ("docs/results", "src/longlook/studies", "src/longlook/disputes")
    )
    for folder in (pages, studies, disputes):
        folder.mkdir(parents=True)
    (tmp_path / "README.md").write_text("> Because: no early data.\n\n    decides --here\n")
    (pages / "a.md").write_text("Fine.\n<!-- from x: because\n of y -->\nIt holds. The loss decides. `nobody` knows.\n")
    (studies / "b.toml").write_text(
        'title = "Where the rate decides"\nsource = "A, 2017: because of loss"\nquestion = "Is it because of loss?"\n'
        'notes = """\nOne. \\\nTwo is faster, because \\\nit is late.\n- Three decides nothing."""\n'
    )
    (disputes / "c.toml").write_text(
        'notes = "Fair."\n[[positions]]\nsays = "It is because of loss."\n'
        '[[evidence]]\ncontrol = { why = "the clock decides" }\n'
    )
    found = [(each.path, each.line, each.word) for each in causal.unnamed(tmp_path)]
    assert found == [
        ("docs/results/a.md", 4, "decides"),
        ("src/longlook/studies/b.toml", 1, "decides"),
        ("src/longlook/studies/b.toml", 6, "because"),
        ("src/longlook/disputes/c.toml", 5, "decides"),
    ]


def test_this_checkout_names_what_showed_each_cause(capsys: pytest.CaptureFixture[str]) -> None:
    causal.main(["--check"])
    assert capsys.readouterr().out == ""


def test_a_sentence_without_a_change_fails_the_check(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causal, "unnamed", lambda: iter([causal.Unnamed("a.md", 3, "decides", "Loss decides.")]))
    causal.main([])
    assert capsys.readouterr().out == "a.md:3: “decides”: Loss decides.\n"
    with pytest.raises(SystemExit, match="1 sentences give a cause and do not name what was changed"):
        causal.main(["--check"])


def test_names_are_those_of_arms_contrasts_factors_settings_and_knobs() -> None:
    names = causal.known_names()
    assert {"quic-long-queue", "larger window: 2000 vs 430", "connections", "server_knobs.max_window"} <= names
    assert {"max_window", "initial_ssthresh"} <= names
    assert names.isdisjoint({"quic", "tcp", "kakhki2017-fig6a"})
