"""Process 1 of a guest: it sets the guest up, runs the requested jobs in a laboratory, and switches the guest off.

The working directory of the guest's kernel on the host is the exchange directory, the one place that the guest can
write to. `request.json` in it lists the jobs, and each job's folder is copied into it, named by the job's number, as
soon as the job is finished. Everything else is the host's root, read-only under a layer in memory.

`error.json` in the exchange directory gives the reason of a failure: a `machine` or an `input` error, or a `bug` whose
traceback is on the console. Starting a guest costs each trial its imports, so this module imports little.
"""

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from longlook.core import InputError, Job, LonglookError, ModulePlace, codec, load_only
from longlook.lab import limits
from longlook.lab.linux import system, view
from longlook.lab.linux.program_view import RoomSize
from longlook.lab.timing import BOOT_BEAT_NS, Timing

REQUEST, ERROR = "request.json", "error.json"
ENGINE = "virtual"

_EXCHANGE_ON_HOST = Path("/proc/self/cwd")  # of the kernel, as long as the guest has mounted no /proc of its own
_STAGE = Path("/tmp")  # noqa: S108  # of the guest: the only folder that every host has
HOME = Path("/run/longlook")
PRIVATE = HOME / "private"  # programs under test cannot enter it
EXCHANGE = PRIVATE / "exchange"
_SCRATCH = HOME / "scratch"
OUTLETS = HOME / "drain"  # as long as "trial": programs in Go depend on the length of their environment
"""The folder of programs' standard error and TLS secrets. It is bounded; the trial's folder is not."""
_CACHE = HOME / "cache"
_OUTLETS_SIZE = RoomSize(limits.OUTLETS_IN_GUEST_BYTES, 16_384)  # files and folders: four of each flow
_SESSIONS_SIZE = RoomSize(limits.KEPT_IN_GUEST_BYTES, 2 * limits.KEPT_FILES)  # more than one trial may bring
_DROP_CACHES = Path("/proc/sys/vm/drop_caches")
_HIDE_OTHERS = "hidepid=2"  # programs see no process of another user
_SETTINGS: Mapping[str, str] = {
    "net/core/rmem_max": "16777216",  # as QUIC stacks ask for, and as doctor advises on a host
    "net/core/wmem_max": "16777216",
    "user/max_user_namespaces": "0",  # in one of its own, a program could mount file systems
    "kernel/io_uring_disabled": "2",
}


@dataclass(frozen=True)
class GuestRequest:
    """The request to a guest: jobs to run one after another, and the environment to run them in."""

    jobs: tuple[Job, ...]
    environment: Mapping[str, str]
    exact: bool
    host_folders: tuple[str, ...] = ()  # folders of the host that the guest's own file systems would hide
    closed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # as `view.closed_folders` returns them
    plugins: tuple[ModulePlace, ...] = ()  # the stacks of the jobs


@dataclass(frozen=True)
class GuestError:
    """The error that ended a guest (`error.json`): a `machine` or an `input` error, or a `bug`."""

    kind: str
    message: str
    hint: str | None


def main() -> None:
    """Run the requested jobs as pid 1; does not return."""
    run_as_init(_run_jobs)


def run_as_init(work: Callable[[GuestRequest], None]) -> None:
    """Be pid 1 of a guest: set it up, do the work, report an error in `error.json`, switch off. Does not return."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that Python handles: the kernel spares pid 1 all others
    try:
        work(_set_up())
    except LonglookError as error:
        _report_error("input" if isinstance(error, InputError) else "machine", error.message, error.hint)
    except BaseException as error:
        traceback.print_exc()
        _report_error("bug", f"{type(error).__name__}: {error}", None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.sync()
        system.power_off()


def _report_error(kind: str, message: str, hint: str | None) -> None:
    with suppress(OSError):  # the disk is full, which the host notices by itself
        (EXCHANGE / ERROR).write_text(json.dumps(codec.encode(GuestError(kind, message, hint))))


def _set_up() -> GuestRequest:
    """Read the request, move into the guest's own root and environment, and return the request."""
    request = codec.decode(GuestRequest, json.loads((_EXCHANGE_ON_HOST / REQUEST).read_text()))
    new = _make_root()
    view.show(request.host_folders, new, _STAGE)
    view.lead_through(request.closed, new)
    view.protect(request.host_folders, new)
    home = new / HOME.relative_to("/")
    for name in ("www", "tls", "scratch", OUTLETS.name, "cache", "private"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / PRIVATE.name).chmod(0o700)
    exchange = new / EXCHANGE.relative_to("/")
    exchange.mkdir()
    system.mount("exchange", str(exchange), "hostfs", 0, str(_EXCHANGE_ON_HOST))
    os.chroot(new)
    os.chdir("/")
    system.mount(request.environment["LONGLOOK_CACHE"], str(_CACHE), None, system.MS_BIND)
    for place, size in ((_SCRATCH, _SESSIONS_SIZE), (OUTLETS, _OUTLETS_SIZE)):
        system.mount("room", str(place), "tmpfs", system.MS_NOSUID | system.MS_NODEV, size.options("0755"))
    for name in list(os.environ):
        if name not in request.environment:
            del os.environ[name]
    os.environ.update(request.environment)
    for setting, value in ((Path("/proc/sys", key), value) for key, value in _SETTINGS.items()):
        if setting.exists():  # the kernel may have been built without io_uring
            setting.write_text(value)
    return request


def _make_root() -> Path:
    """Mount the host's root under a layer in memory, with the guest's own file systems in it; return its path."""
    system.mount("stage", str(_STAGE), "tmpfs", 0)
    upper, work, new = (_STAGE / name for name in ("upper", "work", "new"))
    for folder in (upper, work, new):
        folder.mkdir()
    system.mount("root", str(new), "overlay", 0, f"lowerdir=/,upperdir={upper},workdir={work}")
    for name, kind in (("proc", "proc"), ("sys", "sysfs"), ("dev", "devtmpfs"), ("run", "tmpfs"), ("tmp", "tmpfs")):
        (new / name).mkdir(exist_ok=True)
        system.mount(name, str(new / name), kind, 0, _HIDE_OTHERS if kind == "proc" else None)
    for name, kind in (("pts", "devpts"), ("shm", "tmpfs")):
        (new / "dev" / name).mkdir()
        system.mount(name, str(new / "dev" / name), kind, 0)
    (new / "tmp").chmod(0o1777)
    (new / "run").chmod(0o755)  # an option of its mount would be one more word that programs read as they start
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        (new / "dev" / name).symlink_to(f"/proc/self/fd/{number}")
    (new / "dev" / "fd").symlink_to("/proc/self/fd")
    return new


def _run_jobs(request: GuestRequest) -> None:
    from longlook.lab.laboratory import Laboratory
    from longlook.lab.trace_folders import bounded_traces

    load_only("stacks", request.plugins)  # before any trial's time begins
    timing = Timing(ENGINE, virtual=True, exact=request.exact)
    laboratory = Laboratory(_SCRATCH, PRIVATE, "guest", timing, outlets=OUTLETS, exchange=EXCHANGE)
    finish_imports()
    timing.align(BOOT_BEAT_NS)
    for number, job in enumerate(request.jobs):
        os.write(1, b"longlook: trial %d\n" % number)  # so that attacks have a trial (engines.virtual.break_out)
        folder = HOME / "trial"
        folder.mkdir()
        www, tls = (job.content.root, HOME / "www"), (str(Path(job.identity.key).parent), HOME / "tls")
        with bounded_traces(folder) if job.trial.capture.qlog else nullcontext():
            with _bind_mounted(*www), _bind_mounted(*tls):
                laboratory.run(_with_guest_paths(job, folder))
            _DROP_CACHES.write_text("2")  # each file of the host that is remembered is one that the kernel has open
            copy_to_host(folder, EXCHANGE / str(number))
        shutil.rmtree(folder)
    laboratory.close()


def finish_imports() -> None:
    """Load the modules of a bundle that are imported, but load when something of them is first asked for.

    So the virtual time of a trial does not depend on what else the guest has done. Such modules may import others.
    """
    known = 0
    while known < len(sys.modules):
        known = len(sys.modules)
        for module in list(sys.modules.values()):
            hasattr(module, "")


@contextmanager
def _bind_mounted(source: str, target: Path) -> Iterator[None]:
    system.mount(source, str(target), None, system.MS_BIND)
    try:
        yield
    finally:
        system.unmount(str(target))


def _with_guest_paths(job: Job, folder: Path) -> Job:
    """Return the job with the guest's own paths, which are the same on every host.

    Every file that it leaves names them, and programs see the same arguments and the same path of their own file.
    """
    tls = HOME / "tls"
    identity = replace(
        job.identity, **{name: str(tls / Path(getattr(job.identity, name)).name) for name in _IDENTITY_FILES}
    )
    programs = {role: replace(program, path=_in_cache(program.path)) for role, program in job.programs.items()}
    content = replace(job.content, root=str(HOME / "www"))
    return replace(job, folder=str(folder), programs=programs, identity=identity, content=content)


def _in_cache(path: str) -> str:
    """Return where a guest sees a program: one of the cache below `_CACHE`, any other where the host has it."""
    cache = Path(os.environ["LONGLOOK_CACHE"])
    return str(_CACHE / Path(path).relative_to(cache)) if Path(path).is_relative_to(cache) else path


_IDENTITY_FILES = ("ca", "certificate", "key")


def copy_to_host(folder: Path, target: Path) -> None:
    """Copy a folder to `target` in the exchange directory, under that name only once it is complete."""
    partial = target.with_name(f"{target.name}.partial")
    shutil.copytree(folder, partial)
    os.sync()
    partial.rename(target)


if __name__ == "__main__":
    main()
