"""The page of a bundle for a stranger: what it is, and how to check it. Pure."""

from longlook.core import Study
from longlook.instruments.bundle.layout import PROGRAMS, About


def readme(study: Study, about: About) -> str:
    """Return the README of a bundle."""
    results = f", with the results digest `{about.results[:16]}`" if about.results else ""
    raw = (
        "`trials/` has every raw file of each trial."
        if about.artefacts
        else "`trials/` has the `run.json` of each trial, with the SHA-256 of each raw file. These are not here."
    )
    programs = f"`{PROGRAMS}/` has the programs; `--use-programs` runs them. " if about.programs else ""
    exact = (
        f"{about.exact} of {about.trials} trials are exact: the same programs give the same bytes on any machine."
        if about.exact
        else "None of its trials repeats to the byte, so that only the files can be checked."
    )
    return f"""# {study.title}

{study.question}

This is a run of the study `{about.study}` by Longlook {about.longlook}: {about.trials} trials{results}.
`report/index.html` is the report; `samples.parquet` and `estimates.parquet` have the numbers.
`manifest.json` has the programs by digest.
{raw}

    sha256sum -c SHA256SUMS                  # every file is as it was
    longlook verify BUNDLE                   # runs a part of the trials again, and compares every byte
    longlook run FOLDER --out OUT            # runs the study again; FOLDER is this bundle, unpacked

{exact}
{programs}Longlook of this version: `pip install 'longlook=={about.longlook}'`, then `longlook doctor`.
"""
