"""`page`: one HTML page and its images, as a browser loads it and as plain clients fetch the same set."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from longlook.core import ORDERS, Content, InputError, Parameter, Scalar, WorkloadKind
from longlook.provision import PNG_OVERHEAD_BYTES, Writer, make_content, png

MAX_OBJECTS = 10_000
MAX_OBJECT_BYTES = 1 << 30


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """Return index.html and `objects` distinct PNG images of exactly `object_bytes` bytes each.

    Images stand in the page, and are asked for, in the order of that number. Raise InputError for a parameter out of
    bounds.
    """
    objects, object_bytes = int(parameters["objects"]), int(parameters["object_bytes"])
    order = int(parameters.get("order", 0))
    if object_bytes < PNG_OVERHEAD_BYTES:
        raise InputError(
            f"workload page: object_bytes = {object_bytes} is too small for an image",
            f"the smallest PNG here has {PNG_OVERHEAD_BYTES} bytes",
        )
    if not 1 <= objects <= MAX_OBJECTS or object_bytes > MAX_OBJECT_BYTES:
        raise InputError(
            f"workload page: objects = {objects}, object_bytes = {object_bytes}",
            f"1 to {MAX_OBJECTS} objects of at most {MAX_OBJECT_BYTES} bytes",
        )
    resolved = {"objects": objects, "object_bytes": object_bytes, **({"order": order} if order else {})}
    return make_content("page", resolved, lambda to: write_page(to, [object_bytes] * objects, order))


def write_page(to: Writer, sizes: Sequence[int], order: int) -> tuple[tuple[str, ...], ...]:
    """Write a page and its images, each of its size in bytes, and return what is asked for in each phase."""
    images = tuple(map(image_path, range(len(sizes))))
    in_order = tuple(images[number] for number in permutation(len(sizes), order))
    to.add("/index.html", html(in_order))
    for number, (path, size) in enumerate(zip(images, sizes, strict=True)):
        to.add(path, png(number, size))
    return ("/index.html",), in_order


def image_path(number: int) -> str:
    """Return the path of an image by its number, from 0."""
    return f"/i/{number:03d}.png"


def permutation(count: int, order: int) -> list[int]:
    """Return the numbers from 0 to below `count` in one of ORDERS orders: 0 is their own, others are shuffled."""
    if not order:
        return list(range(count))
    return sorted(range(count), key=lambda number: hashlib.sha256(f"order {order}/{number}".encode()).digest())


def html(images: tuple[str, ...]) -> Iterator[bytes]:
    """Yield the page, with image sizes, so that nothing is laid out twice, and an icon, so that none is requested."""
    yield b'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Longlook</title>\n'
    yield b'<link rel="icon" href="data:,">\n'
    for path in images:
        yield f'<img src="{path}" width="16" height="16" alt="">\n'.encode()
    yield b"</html>\n"


WORKLOAD = WorkloadKind(
    name="page",
    summary="an HTML page with images: objects × object_bytes",
    parameters={
        "objects": Parameter("count", "number of images beside the page", minimum=1, maximum=MAX_OBJECTS),
        "object_bytes": Parameter("size", "bytes of each image", minimum=PNG_OVERHEAD_BYTES, maximum=MAX_OBJECT_BYTES),
        "order": Parameter(
            "count",
            "in which of so many fixed orders images are asked for; 0 is that of their names",
            default=0,
            minimum=0,
            maximum=ORDERS - 1,
            omitted_at_default=True,
        ),
    },
    prepare=prepare,
)
