"""The recorded pages that come with Longlook are those that their script writes."""

from scripts.pages import texts


def test_the_files_are_what_the_script_writes() -> None:
    for path, text in texts().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: python -m scripts.pages"
