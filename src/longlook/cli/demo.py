"""`longlook demo`: installs what the study `demo` needs and runs it, first without its browser, then whole."""

import os
from dataclasses import replace

from longlook.cli.run import RunFolderOptions, RunRequest, RunSize, run_and_show
from longlook.cli.stacks import setup
from longlook.terminal import AsJson, EngineOptions, StudyChanges, lines_printer

STUDY, PLAIN = "demo", "client=quic-go"
PARTS = ("kernel", "quic-go", "quic-go@0.65.0+knobs")
BROWSER = "chromium"


def demo(as_json: AsJson = False) -> None:
    """Show the laboratory: install what is missing, race QUIC and TCP, first with a plain client, then with Chromium.

    Chromium is installed by root alone. Without it the demo ends with the plain client.
    """
    from longlook.core import registry

    printer = lines_printer(as_json=as_json)
    setup(list(PARTS), as_json=as_json)
    _run((PLAIN,), as_json=as_json)
    browser = registry.stack(BROWSER)
    if not browser.is_installed(browser.default_version) and os.geteuid() != 0:
        text = "without Chromium the demo ends here. With it (sudo apt-get install chromium) go on: longlook run demo"
        printer.report(text, event="note", text=text)
        return
    setup([BROWSER], as_json=as_json)
    _run((), as_json=as_json)


def _run(only: tuple[str, ...], *, as_json: bool) -> None:
    from longlook.terminal import fail_without_trials

    request = RunRequest.from_options(
        STUDY, EngineOptions(), StudyChanges(only=list(only)), RunSize(), RunFolderOptions()
    )
    options = replace(request.options, command=("longlook", "run", STUDY, *(f"--only={each}" for each in only)))
    result = run_and_show(replace(request, options=options), lines_printer(as_json=as_json))
    fail_without_trials(result)
