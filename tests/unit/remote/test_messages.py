"""Messages: bytes that arrive as they left, or an error that says which side is of another version."""

import json

import pytest

from longlook.core.errors import InputError
from longlook.remote.entries import Entry
from longlook.remote.messages import (
    Answer,
    Done,
    Missing,
    Refused,
    Request,
    Unable,
    Worker,
    Wrong,
    read_answer,
    read_request,
    write_answer,
    write_request,
)

WORKER = Worker("node7", 12, "AMD EPYC", "Linux 6.1", "0.1.0", "tcp://10.0.0.7:4000")
REQUEST = Request((), {"processor family": "x86_64"}, {}, {"kernel": "k"}, (Entry("tls", "0" * 64),))


def test_a_request_arrives_with_its_blobs() -> None:
    blobs = {"a": b"\0one", "b": b"", "c": b"three"}
    assert read_request(write_request(REQUEST, blobs)) == (REQUEST, blobs)


@pytest.mark.parametrize(
    "answer",
    [
        Missing(WORKER, ("0" * 64,)),
        Refused(WORKER, {"Python": ("3.11", "3.12")}),
        Unable(WORKER, "the disk is full", None),
        Wrong(WORKER, "a damaged trace", "restore it"),
        Done(WORKER, 1.5),
    ],
)
def test_an_answer_arrives(answer: Answer) -> None:
    assert read_answer(write_answer(answer, b"folders")) == (answer, b"folders")
    assert read_answer(write_answer(answer)) == (answer, b"")


@pytest.mark.parametrize("cut", [0, 4, 8, 20, -1])
def test_a_cut_message_is_damaged(cut: int) -> None:
    with pytest.raises(InputError, match="damaged"):
        read_answer(write_answer(Done(WORKER, 1.0), b"folders")[:cut])


def of_head(**changes: object) -> bytes:
    head = {"format": 1, "kind": "done", "body": {}, "parts": {}} | changes
    text = json.dumps(head).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("head", "error"),
    [
        ({"format": 2}, "has the format 2, and this version reads 1"),
        ({"kind": "nonsense"}, "answered 'nonsense', which this version does not know"),
        ({"body": {"worker": 3}}, "does not fit"),
        ({"parts": {"folders": -1}}, "damaged"),
        ({"parts": {"folders": 1 << 40}}, "damaged"),
        ({"parts": [1]}, "damaged"),
    ],
)
def test_a_message_of_another_version_is_named(head: dict[str, object], error: str) -> None:
    with pytest.raises(InputError, match=error) as raised:
        read_answer(of_head(**head))
    assert "same Longlook" in str(raised.value.hint)


def test_a_worker_is_named_by_its_address_or_its_process() -> None:
    assert str(WORKER) == "node7 (tcp://10.0.0.7:4000)"
    assert str(Worker("node7", 12, "", "", "")) == "node7 (process 12)"
