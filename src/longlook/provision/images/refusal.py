"""The errors of images: one sentence, and what to do."""

from longlook.core import InputError

_HINTS = {
    "hostile": "use an image from a source that you trust; nothing of it was kept",
    "large": "build the image with less in it; docs/guide/images.md has the bounds",
    "damaged": "save it again: docker save IMAGE -o FILE.tar",
}


def refusal(image: str, problem: str, kind: str) -> InputError:
    """Return the error for an image that is `hostile`, too `large` or `damaged`: what is wrong, without a subject."""
    return InputError(f"the image {image} {problem}", _HINTS[kind])
