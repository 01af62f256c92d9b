"""The engine of made-up results, as one whose results a cache may keep."""

from longlook.engines.fake import FakeEngine


class CachedEngine(FakeEngine):
    """Made-up results that a cache may keep."""

    def setting(self) -> dict[str, str]:  # type: ignore[override]
        return {"engine": self.name}
