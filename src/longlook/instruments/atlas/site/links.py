"""Links of a site: each leads to a file of it, and to an anchor that is there. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

_ATTRIBUTES = {"a": "href", "link": "href", "img": "src", "script": "src", "form": "action", "iframe": "src"}


@dataclass
class _Page(HTMLParser):
    """The links and the anchors of a page."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)  # of these, what a browser asks for by itself
    anchors: set[str] = field(default_factory=set)
    twice: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to, and its id."""
        given = dict(attrs)
        if (name := given.get("id")) is not None:
            if name in self.anchors:
                self.twice.append(name)
            self.anchors.add(name)
        link = given.get(_ATTRIBUTES.get(tag, ""))
        if link is None and tag == "meta" and given.get("property") == "og:image":
            link = given.get("content")
        if link is not None:
            self.links.append(link)
            if tag in ("img", "script", "iframe") or (tag == "link" and given.get("rel") in ("stylesheet", "icon")):
                self.loaded.append(link)


@dataclass(frozen=True)
class Looked:
    """The links of a site. `broken` has a line for each link that leads nowhere, and for each anchor that a page has
    twice. `first_load` has the bytes of each page with its styles, scripts and pictures, which a browser asks for.
    """

    broken: tuple[str, ...]
    first_load: Mapping[str, int]


def look(content: Mapping[str, bytes], address: str = "") -> Looked:
    """Follow every link of a site. `content` are its files by path; links may begin with its `address`."""
    pages = {}
    for path, data in content.items():
        if path.endswith(".html"):
            pages[path] = _Page()
            pages[path].feed(data.decode())
    found = [f"{path}: two elements are #{name}" for path, page in pages.items() for name in page.twice]
    for path, page in pages.items():
        found += [
            f"{path}: {link} leads nowhere" for link in page.links if not _leads(path, link, address, pages, content)
        ]
    loads = {path: len(content[path]) + sum(_sizes(path, page, content)) for path, page in pages.items()}
    return Looked(tuple(found), loads)


def _leads(path: str, link: str, address: str, pages: Mapping[str, _Page], content: Mapping[str, bytes]) -> bool:
    if address and link.startswith(address):
        link, path = link.removeprefix(address), ""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return parts.scheme in ("https", "http", "mailto", "data")
    target = normpath(join(dirname(path), unquote(parts.path))) if parts.path else path
    if target not in content:
        return False
    return not parts.fragment or (target in pages and unquote(parts.fragment) in pages[target].anchors)


def _sizes(path: str, page: _Page, content: Mapping[str, bytes]) -> Iterator[int]:
    for target in {normpath(join(dirname(path), unquote(urlsplit(link).path))) for link in page.loaded}:
        yield len(content.get(target, b""))
