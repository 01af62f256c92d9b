"""`mixed_page`: one HTML page and images of several sizes, as a browser loads it and as plain clients fetch them."""

import re
from collections.abc import Mapping
from dataclasses import replace

from longlook.core import ORDERS, Content, InputError, Parameter, Scalar, WorkloadKind, parse_priority, units
from longlook.provision import PNG_OVERHEAD_BYTES, make_content
from longlook.workloads.page import MAX_OBJECT_BYTES, MAX_OBJECTS, image_path, write_page

_GROUP = re.compile(r"\s*(?:(?P<count>\d{1,5})\s*x\s*)?(?P<size>[0-9.]+\s*[A-Za-z]+)\s*")
_PRIORITIES = "priorities"
_PRIORITIES_FORM = 'one of RFC 9218 for each group of images, between semicolons, such as "u=5, i; u=1"'
_FORM = 'numbers and sizes between commas, such as "20 x 5KB, 3 x 100KB, 1MB"'


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """Return index.html and distinct PNG images of exactly the sizes of `images`, asked for in that order.

    Raise InputError for a text that is none, or an image out of bounds.
    """
    groups, order = image_groups(str(parameters["images"])), int(parameters.get("order", 0))
    sizes = [size for group in groups for size in group]
    text = ",".join(map(str, sizes))
    resolved: dict[str, Scalar] = {"images": text, **({"order": order} if order else {})}
    content = make_content("mixed_page", resolved, lambda to: write_page(to, sizes, order))
    fields = _fields(str(parameters.get(_PRIORITIES, "")), groups)
    return replace(content, priorities={image_path(number): field for number, field in enumerate(fields)})


def _fields(priorities: str, groups: list[list[int]]) -> list[str]:
    """Return the value of the header field `priority` of each image; nothing if none is set."""
    if not priorities:
        return []
    fields = [parse_priority(text).field for text in priorities.split(";")]
    if len(fields) != len(groups):
        raise InputError(
            f"workload mixed_page: priorities: {len(fields)} for {len(groups)} groups of images", _PRIORITIES_FORM
        )
    return [field for field, group in zip(fields, groups, strict=True) for _ in group]


def image_groups(images: str) -> list[list[int]]:
    """Return the bytes of each image of a text such as `20 x 5KB, 1MB`, group by group. Raise InputError with what is
    allowed.
    """
    groups: list[list[int]] = []
    for text in images.split(","):
        found = _GROUP.fullmatch(text)
        try:
            size = units.parse_size(found["size"]) if found else None
        except units.UnitError as error:
            raise InputError(f"workload mixed_page: images: {error}", _FORM) from error
        if found is None or size is None:
            raise InputError(f"workload mixed_page: images: {text.strip()!r} is no number of images of a size", _FORM)
        if not PNG_OVERHEAD_BYTES <= size <= MAX_OBJECT_BYTES:
            bounds = f"an image has {PNG_OVERHEAD_BYTES} to {MAX_OBJECT_BYTES} bytes"
            raise InputError(f"workload mixed_page: images: {text.strip()!r} is out of bounds", bounds)
        groups.append([size] * int(found["count"] or 1))
    if not 1 <= (count := sum(map(len, groups))) <= MAX_OBJECTS:
        raise InputError(f"workload mixed_page: images: {count} images", f"1 to {MAX_OBJECTS} images")
    return groups


WORKLOAD = WorkloadKind(
    name="mixed_page",
    summary="an HTML page with images of several sizes",
    parameters={
        "images": Parameter("text", _FORM),
        _PRIORITIES: Parameter("text", f"priorities with which they are asked for: {_PRIORITIES_FORM}", optional=True),
        "order": Parameter(
            "count",
            "in which of so many fixed orders images are asked for; 0 is the one in which they stand",
            default=0,
            minimum=0,
            maximum=ORDERS - 1,
            omitted_at_default=True,
        ),
    },
    prepare=prepare,
)
