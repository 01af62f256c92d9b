"""Writes the recorded pages that come with Longlook: `python -m scripts.pages`.

No real site was recorded. Sizes, kinds and dependences are made up after what such pages have; names are reserved for
examples (RFC 2606). The files are dedicated to the public domain (CC0 1.0).
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import gcd
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "src" / "longlook" / "workloads" / "pages"
START = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
BYTES_PER_MS = 2_500
FIRST_BYTE_MS = 45
MIME = {
    "html": "text/html",
    "css": "text/css",
    "script": "application/javascript",
    "json": "application/json",
    "image": "image/webp",
    "font": "font/woff2",
}


@dataclass(frozen=True)
class Made:
    """An entry of a page that is being made; times are ms since the navigation."""

    url: str
    start_ms: float
    end_ms: float
    entry: dict[str, Any]


@dataclass
class Page:
    """A page that is being made. `initiators`: whether the tool records what named an object, as Chrome does."""

    name: str
    title: str
    initiators: bool
    made: list[Made] = field(default_factory=list)

    def add(
        self, url: str, kind: str, size: int, after: Made | None = None, *, delay_ms: float = 6, **changes: Any
    ) -> Made:
        """Add an object that is asked for some time after another has arrived."""
        start = (after.end_ms if after else 0) + delay_ms
        receive = round(size / BYTES_PER_MS, 3)
        end = start + FIRST_BYTE_MS + receive
        entry: dict[str, Any] = {
            "pageref": "page_1",
            "startedDateTime": f"{(START + timedelta(milliseconds=start)).isoformat(timespec='milliseconds')}",
            "time": round(FIRST_BYTE_MS + receive, 3),
            "request": message(method="GET", url=url, queryString=[], bodySize=0),
            "response": message(
                status=200,
                statusText="",
                content={"size": size, "mimeType": MIME.get(kind, "application/octet-stream")},
                redirectURL="",
                bodySize=size,
            ),
            "cache": {},
            "timings": {
                "blocked": -1,
                "dns": -1,
                "connect": -1,
                "ssl": -1,
                "send": 0,
                "wait": FIRST_BYTE_MS,
                "receive": receive,
            },
        }
        if self.initiators and after is not None:
            entry["_initiator"] = {"type": "script" if ".js" in after.url else "parser", "url": after.url}
        entry["response"] |= changes.pop("response", {})
        entry |= changes
        self.made.append(Made(url, start, end, entry))
        return self.made[-1]

    def har(self) -> dict[str, Any]:
        """Return the archive, its entries in the order of their starts."""
        ordered = sorted(self.made, key=lambda made: made.start_ms)
        loaded = max(made.end_ms for made in ordered if "late" not in made.url)
        page = {
            "startedDateTime": START.isoformat(timespec="milliseconds"),
            "id": "page_1",
            "title": self.title,
            "pageTimings": {"onContentLoad": -1, "onLoad": round(loaded + 20, 3)},
        }
        return {
            "log": {
                "version": "1.2",
                "creator": {"name": "Longlook scripts/pages.py", "version": "1"},
                "pages": [page],
                "entries": [made.entry for made in ordered],
                "comment": "Made up; dedicated to the public domain (CC0 1.0).",
            }
        }


def message(**fields: Any) -> dict[str, Any]:
    """Return what requests and responses share, with further fields."""
    return {"httpVersion": "h2", "cookies": [], "headers": [], "headersSize": -1, **fields}


def spread(count: int, least: int, most: int) -> list[int]:
    """Return sizes between two bounds, evenly spread in their logarithm and mixed in their order."""
    sizes = [round(least * (most / least) ** (number / max(count - 1, 1))) for number in range(count)]
    step = next(step for step in range(count * 3 // 8 + 1, count * 2) if gcd(step, count) == 1)
    return [sizes[number * step % count] for number in range(count)]


def news() -> Page:
    """Return a front page: many pictures, advertisements and counters of other origins; recorded with initiators."""
    page = Page("news", "The Daily Example", initiators=True)
    own, static, pictures = "https://www.news.example", "https://static.news.example", "https://img.news.example"
    document = page.add(f"{own}/", "html", 68_400, delay_ms=0)
    sheets = [
        page.add(f"{static}/{name}.css", "css", size, document) for name, size in (("base", 41_800), ("front", 17_900))
    ]
    page.add(f"{own}/logo.svg", "image", 3_100, document)
    for number, size in enumerate(spread(4, 21_000, 34_000)):
        page.add(f"https://fonts.example.net/f{number}.woff2", "font", size, sheets[0])
    scripts = [
        page.add(f"{static}/{n}.js", "script", s, document)
        for n, s in (("vendor", 118_000), ("app", 63_500), ("menu", 8_200))
    ]
    consent = page.add("https://consent.example.org/c.js", "script", 54_000, document)
    tags = page.add("https://tags.example.net/t.js", "script", 44_700, document)
    for number, size in enumerate(spread(24, 6_500, 142_000)):
        page.add(f"{pictures}/front/{number}.webp", "image", size, document, delay_ms=8 + number * 0.2)
    teasers = page.add(f"{own}/api/teasers.json", "json", 22_300, scripts[1])
    page.add(f"{own}/api/weather.json", "json", 1_900, scripts[1])
    page.add(f"{own}/api/user.json", "json", 640, scripts[1])
    for number, size in enumerate(spread(18, 4_200, 61_000)):
        page.add(f"{pictures}/teaser/{number}.webp", "image", size, teasers, delay_ms=9 + number * 0.2)
    page.add("https://consent.example.org/state.json", "json", 820, consent)
    auction = page.add("https://ads.example.com/a.js", "script", 92_000, tags)
    audience = page.add("https://metrics.example.com/m.js", "script", 30_500, tags)
    for slot in range(4):
        frame = page.add(f"https://ads.example.com/slot/{slot}.html", "html", 5_400 + 700 * slot, auction, delay_ms=30)
        script = page.add(f"https://cdn.ads.example.com/creative/{slot}.js", "script", 17_000 + 2_000 * slot, frame)
        page.add(f"https://cdn.ads.example.com/creative/{slot}.webp", "image", 38_000 + 9_000 * slot, script)
    for number in range(6):
        page.add(f"https://metrics.example.com/p{number}.gif", "image", 43, audience)
    moved = {"status": 302, "redirectURL": "https://sync.example.org/id.gif", "bodySize": 0}
    sync = page.add("https://metrics.example.com/sync", "other", 0, audience, response=moved)
    page.add("https://sync.example.org/id.gif", "image", 43, sync, delay_ms=1)
    video = page.add(f"{static}/player.js", "script", 76_000, scripts[0])
    page.add(f"{pictures}/poster.webp", "image", 88_000, video)
    page.add("data:image/gif;base64,R0lGODlhAQABAAAAACw=", "image", 43, document)
    page.add(
        "wss://live.news.example/ticker", "other", 0, scripts[1], response={"status": 101}, _resourceType="websocket"
    )
    aborted = {"status": 0, "bodySize": -1, "_error": "net::ERR_ABORTED"}
    page.add("https://ads.example.com/late-bid.json", "json", 0, auction, response=aborted)
    page.add("https://metrics.example.com/late.gif", "image", 43, audience, delay_ms=4_000)
    return page


def shop() -> Page:
    """Return a list of articles: pictures of one size, a search service, payment; recorded with initiators."""
    page = Page("shop", "Example Shop: kettles", initiators=True)
    own, pictures = "https://www.shop.example", "https://media.shop.example"
    document = page.add(f"{own}/kettles", "html", 46_200, delay_ms=0)
    sheet = page.add(f"{own}/shop.css", "css", 58_300, document)
    for number in range(2):
        page.add(f"{own}/font{number}.woff2", "font", 31_200, sheet)
    shell = page.add(f"{own}/shell.js", "script", 146_000, document)
    page.add(f"{own}/icons.svg", "image", 12_700, document)
    for number, size in enumerate(spread(12, 15_000, 27_000)):
        page.add(f"{pictures}/list/{number}.webp", "image", size, document, delay_ms=8 + number * 0.2)
    results = page.add("https://search.example.net/q.json", "json", 34_800, shell)
    for number, size in enumerate(spread(16, 14_000, 26_000)):
        page.add(f"{pictures}/more/{number}.webp", "image", size, results, delay_ms=9 + number * 0.2)
    for name, size in (("cart", 27_000), ("reviews", 41_500), ("recommend", 22_400)):
        script = page.add(f"{own}/{name}.js", "script", size, shell)
        page.add(f"{own}/api/{name}.json", "json", size // 9, script)
    pay = page.add("https://pay.example.org/button.js", "script", 62_000, document)
    page.add("https://pay.example.org/frame.html", "html", 9_800, pay)
    count = page.add("https://metrics.example.com/m.js", "script", 30_500, document)
    for number in range(3):
        page.add(f"https://metrics.example.com/p{number}.gif", "image", 43, count)
    return page


def docs() -> Page:
    """Return a page of documentation: little of two origins; recorded without initiators, as Firefox does."""
    page = Page("docs", "Example: reference", initiators=False)
    own = "https://docs.example.org"
    document = page.add(f"{own}/reference/", "html", 31_600, delay_ms=0)
    sheet = page.add(f"{own}/theme.css", "css", 24_900, document)
    page.add(f"{own}/print.css", "css", 2_300, document)
    search = page.add(f"{own}/search.js", "script", 18_400, document)
    page.add(f"{own}/highlight.js", "script", 35_700, document)
    page.add(f"{own}/logo.svg", "image", 5_200, document)
    for number, size in enumerate((14_800, 37_200, 22_600)):
        page.add(f"{own}/figures/{number}.png", "image", size, document)
    for number in range(3):
        page.add(f"https://fonts.example.net/text{number}.woff2", "font", 26_300, sheet, delay_ms=12)
    page.add(f"{own}/search-index.json", "json", 88_000, search, delay_ms=25)
    return page


def texts() -> dict[Path, str]:
    """Return every file with its text."""
    return {
        FOLDER / f"{page.name}.har": json.dumps(page.har(), separators=(",", ":")) + "\n"
        for page in (news(), shop(), docs())
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8")
