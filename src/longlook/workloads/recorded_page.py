"""`recorded_page`: a page of many objects, with the sizes, the order and the dependences of a recorded load."""

import json
from collections.abc import Iterator, Mapping, Sequence

from longlook.core import Content, Parameter, Scalar, WorkloadKind
from longlook.provision import RecordedPage, Writer, make_content, noise, png, store

_DOCUMENT = "/index.html"
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
    return make_content(store.WORKLOAD, dict(parameters), lambda to: _write(to, page))


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
    },
    prepare=prepare,
)
