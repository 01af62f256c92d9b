"""`longlook explain TRACE…`: traces of transfers that are no trials of ours → where their time went
(docs/guide/your-trace.md).

`reading.read_trace` makes a `Recording` of each trace: what one end sent, received and logged of one connection.
`sender` and `receiver` cut its time into classes, `signs` has the suspected causes, `answer` puts an answer together,
`picture` draws it. Nothing here knows the link: every statement is made from the ends that were recorded, and says so.
`rebuild` repeats the transfer in trials of its own (`longlook reproduce`).
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.transfer import command as command
    from longlook.instruments.transfer.picture import write_picture as write_picture
    from longlook.instruments.transfer.run import TransferRequest as TransferRequest
    from longlook.instruments.transfer.run import explain_transfer as explain_transfer
    from longlook.instruments.transfer.show import answers_of_traces as answers_of_traces
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "picture": "write_picture",
            "run": "TransferRequest explain_transfer",
            "show": "answers_of_traces",
        },
        "command",
    )
