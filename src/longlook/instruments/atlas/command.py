"""`longlook atlas` and `longlook claims`: arguments to calls; no logic of their own."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longlook.core import InputError, MachineError
from longlook.terminal import AsJsonLines, expand_options

if TYPE_CHECKING:
    from longlook.instruments.atlas.site.model import SiteOptions


@dataclass(frozen=True)
class ChosenStudies:
    """The studies that are run; the page shows all."""

    paper: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run the studies of a paper, e.g. kakhki2017; repeat.")
    ] = None
    live: Annotated[bool, typer.Option("--live", help="Also run studies with trials in real time.")] = False


@dataclass(frozen=True)
class Instead:
    """The actions in place of running studies."""

    adopt: Annotated[
        list[Path] | None, typer.Option(metavar="RUN", help="Take this run folder for the run of its study; repeat.")
    ] = None
    page: Annotated[bool, typer.Option("--page", help="Run nothing: build the page from what is there.")] = False
    site: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            help="Run nothing: build a site into this folder, with a page for each paper, study and dispute.",
        ),
    ] = None
    to_run: Annotated[
        bool, typer.Option("--list", help="Print what each study would run and how long that takes, and run nothing.")
    ] = False


@dataclass(frozen=True)
class SiteText:
    """The words of the site of an atlas besides its content."""

    address: Annotated[
        str, typer.Option(metavar="URL", help="With --site: the site's address, for pictures of shared links.")
    ] = ""
    contact: Annotated[
        str, typer.Option(metavar="TEXT", help="With --site: a mail address or a page to which errors are reported.")
    ] = ""
    day: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="With --site: the day as of which it is built; default: SOURCE_DATE_EPOCH, or the newest entry's.",
        ),
    ] = None
    findings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --site: the findings of its first page; default: the shipped file."),
    ] = None


@dataclass(frozen=True)
class Effort:
    """How trials are run."""

    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at once; default: one for each CPU.")] = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run again what the cache holds.")] = False


@expand_options
def atlas(
    chosen: ChosenStudies,
    instead: Instead,
    published: SiteText,
    effort: Effort,
    studies: Annotated[
        list[str] | None, typer.Argument(metavar="STUDY…", help="Studies to run; default: every one.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the atlas: begun there, or continued.")] = Path("atlas"),
    entries: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The folder of entries; default: entries in the atlas' folder."),
    ] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Run every study once, and show every published figure beside what is found today, on one page."""
    from longlook.engines import DEFAULT, make_engine
    from longlook.instruments.atlas import runs as atlas_runs
    from longlook.instruments.atlas.run import AtlasFolder
    from longlook.instruments.atlas.show import atlas_shown, site_shown, to_run_shown
    from longlook.terminal import RunDisplay, at_once, at_work, document_printer, going_on, lines_printer

    site = _site_options(instead, published)
    options = atlas_runs.AtlasOptions(
        out,
        lambda: make_engine(DEFAULT),
        tuple(studies or ()),
        tuple(chosen.paper or ()),
        live=chosen.live,
        jobs=at_once(effort.jobs),
        use_cache=not effort.no_cache,
        entries=entries,
    )
    folder = AtlasFolder(options)
    for path in instead.adopt or ():
        atlas_runs.adopt(path, out, folder.installed)
    if site is not None:
        from longlook.instruments.atlas.site.build import build_site

        with at_work("building the site of the atlas"):
            built_site = build_site(*folder.content(), site)
        lines_printer(as_json=as_json).show(site_shown(built_site))
        return
    if instead.to_run:
        document_printer(as_json=as_json).show(to_run_shown(folder.to_run(), folder.choice.left_out))
        return
    again = f"ended runs and finished trials are kept: repeat the command with --out {out}"
    printer = lines_printer(as_json=as_json)
    display = RunDisplay(printer)
    if instead.page:
        with at_work("building the page of the atlas"):
            built = folder.build()
    else:
        with going_on(lambda: again), display:
            built = folder.run(display.observer())
    printer.show(atlas_shown(built))
    if built.failed:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in built.failed.items())
        raise MachineError(f"studies that could not run: {len(built.failed)}. {reasons}", again)


def _site_options(instead: Instead, published: SiteText) -> "SiteOptions | None":
    """Return the options of the site, or None if none is asked for; InputError for options that need one."""
    from longlook.instruments.atlas.site.model import SiteOptions
    from longlook.instruments.atlas.site.write import refuse_other_folder

    if instead.site is None:
        given = {f"--{name}": value for name, value in vars(published).items() if value}
        if given:
            raise InputError(f"{' and '.join(given)} say something of a site", "add --site OUT")
        return None
    if instead.page or instead.to_run:
        raise InputError("--site builds a site and nothing else", "give --page and --list in calls of their own")
    refuse_other_folder(instead.site)
    return SiteOptions(instead.site, published.address, published.contact, published.day, published.findings)


def claims(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Run folders or entries of an atlas, of different studies.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for index.html, claims.json and figures/.")] = Path("claims"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the content of claims.json.")] = False,
) -> None:
    """Compare everything published with what the runs found: each claim, and sources that contradict each other."""
    from longlook.instruments.atlas.claims.run import survey_runs
    from longlook.instruments.atlas.show import claims_shown
    from longlook.terminal import at_work, document_printer

    with at_work(f"comparing the claims of {len(runs)} runs"):
        survey, page = survey_runs(runs, out)
    document_printer(as_json=as_json).show(claims_shown(survey, page))
