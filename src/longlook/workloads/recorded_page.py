"""`recorded_page`: a page of many objects, with the sizes, the order and the dependences of a recorded load."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from longlook.core import Content, InputError, Parameter, Scalar, WorkloadKind
from longlook.provision import RecordedPage, Writer, make_content, noise, png, store

_DOCUMENT = "/index.html"
_PRIORITIES = "priorities"
_BY_KIND: Mapping[str, Mapping[str, str]] = {
    "chromium": {
        "html": "u=0, i", "css": "u=0", "font": "u=0", "script": "u=1", "json": "u=1, i", "image": "i", "media": "i",
    },
    "firefox": {"html": "u=0, i", "css": "u=2", "script": "u=2", "json": "u=4", "image": "u=5, i", "media": "u=5, i"},
}  # fmt: skip
"""Browser → kind of object → its header field `priority` (RFC 9218), as Chromium 156 and Firefox 153 sent them.

A server of aioquic recorded them: of a document with style sheet, font, script that blocks, `fetch` and picture.
Chromium sends `u=2, i` for the first large pictures. Media is taken to be as pictures are; other kinds have none.
"""
_HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Longlook</title>
<link rel="icon" href="data:,">
<body>
"""
_LATER_PHASES = """<script>
(function (phases) {
  function after(images, then) {
    var left = images.length;
    function done() { if (!--left) then(); }
    images.forEach(function (image) {
      if (image.complete) done(); else image.onload = image.onerror = done;
    });
  }
  function next() {
    var numbers = phases.shift();
    if (numbers) after(numbers.map(ask), next);
  }
  function ask(number) {
    var image = document.createElement("img");
    image.width = image.height = 16;
    image.alt = "";
    image.src = "/o/" + String(number).padStart(3, "0") + ".png";
    return document.body.appendChild(image);
  }
  after(Array.from(document.images), next);
})(%s);
</script>
"""
_END = "\n</html>\n"


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """Return the document of a recorded page, and its other objects as images of the recorded sizes.

    The objects of a phase are asked for at once, when all of the phase before have arrived. Raise InputError if the
    page is in no store.
    """
    page = store.load(str(parameters[store.PARAMETER]))
    served = {name: value for name, value in parameters.items() if name != _PRIORITIES}
    content = make_content(store.WORKLOAD, served, lambda to: _write(to, page))
    return replace(content, priorities=_priorities(page, str(parameters.get(_PRIORITIES, ""))))


def _priorities(page: RecordedPage, browser: str) -> dict[str, str]:
    """Return path → header field of each object whose kind has one; nothing if no browser is named."""
    if not browser:
        return {}
    if browser not in _BY_KIND:
        raise InputError(
            f"workload {store.WORKLOAD}: priorities: {browser!r} is none that is known", f"known: {', '.join(_BY_KIND)}"
        )
    fields = [_BY_KIND[browser].get(item.kind) for item in page.objects]
    paths = [_DOCUMENT, *map(_path, range(1, len(fields)))]
    return {path: field for path, field in zip(paths, fields, strict=True) if field is not None}


def _write(to: Writer, page: RecordedPage) -> tuple[tuple[str, ...], ...]:
    numbers = {item.entry: number for number, item in enumerate(page.objects)}
    document, *others = page.objects
    phases = [[numbers[item.entry] for item in phase] for phase in page.phases[1:]]
    to.add(_DOCUMENT, html(phases, document.size_bytes))
    for item in others:
        number = numbers[item.entry]
        to.add(_path(number), png(number, item.size_bytes))
    return ((_DOCUMENT,), *(tuple(map(_path, phase)) for phase in phases))


def html(phases: Sequence[Sequence[int]], size_bytes: int) -> Iterator[bytes]:
    """Yield a document that asks for images by number, phase by phase, and is as large as recorded, or as it must be.

    The first phase stands in the document, later ones are asked for by a script, before the load event.
    """
    first, later = (phases[0], phases[1:]) if phases else ((), ())
    images = "".join(f'<img src="{_path(number)}" width="16" height="16" alt="">\n' for number in first)
    script = _LATER_PHASES % json.dumps(later, separators=(",", ":")) if later else ""
    text = f"{_HEAD}{images}{script}"
    padding_bytes = max(size_bytes - len(text) - len("<!---->") - len(_END), 0)
    padding = b"".join(noise("recorded page", (padding_bytes + 1) // 2)).hex()[:padding_bytes]
    yield f"{text}<!--{padding}-->{_END}".encode()


def _path(number: int) -> str:
    return f"/o/{number:03d}.png"


WORKLOAD = WorkloadKind(
    name=store.WORKLOAD,
    summary="a page with the sizes, the order and the dependences of a recorded load (a HAR)",
    parameters={
        store.PARAMETER: Parameter("text", "a page that comes with Longlook, or the path of an HTTP Archive"),
        _PRIORITIES: Parameter(
            "text", f"priorities of requests (RFC 9218) as a browser's, by kind: {' or '.join(_BY_KIND)}", optional=True
        ),
    },
    prepare=prepare,
)
