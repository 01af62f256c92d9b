"""How the programs under test of a laboratory are confined, in both engines (docs/explanation/lab.md)."""

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from longlook.core import OwnRoot
from longlook.lab import limits
from longlook.lab.host_paths import python_paths
from longlook.lab.linux import isolation, limit_groups, system
from longlook.lab.linux.confine import Confinement
from longlook.lab.linux.folders import raise_if_unreadable
from longlook.lab.linux.guest_rooms import GuestRooms, Rooms
from longlook.lab.linux.limit_groups import LimitGroup
from longlook.lab.linux.program_view import ProgramView, RoomSize
from longlook.lab.linux.root_view import RootView
from longlook.lab.linux.users import FIRST_USER, Users

SMALL_BUFFER_BYTES = 2 << 20
"""If the host's limit of UDP buffers is below this, programs keep the capability that raises it."""

_HOME_SIZE = RoomSize(limits.KEPT_BYTES, limits.KEPT_FILES)
_ROOM_SIZE = RoomSize(limits.ROOM_BYTES, limits.KEPT_FILES)
_PLUGINS = ("LONGLOOK_PLUGINS", "LONGLOOK_ADAPTERS", "LD_LIBRARY_PATH", "PYTHONPATH")


class Sandbox:
    """Confines the programs of one laboratory; `home` is an existing folder, at whose path each sees a home of its own.

    In a guest (`virtual`) the kernel is the programs' own, and its files are already a view: there they lose their
    privileges, and have temporary files of their own. `private` is a folder that they cannot enter, `first_user` the
    first of the laboratory's block of users, `marker` its name.
    """

    def __init__(self, home: Path, private: Path, marker: str, first_user: int = FIRST_USER, *, virtual: bool) -> None:
        self._home, self._virtual = home, virtual
        self._stage = private / "stage"
        self._stage.mkdir()
        self._guest_rooms = GuestRooms(home, self._stage)
        self._rooms: dict[str, Rooms] = {}
        self._users = Users(first_user)
        self._capabilities = () if virtual or not _needs_large_buffers() else (system.CAP_NET_ADMIN,)
        self._paths = () if virtual else tuple(python_paths())
        self._groups = limit_groups.Controllers({}, 1) if virtual else limit_groups.own_controllers()
        self._group_names = (f"{limit_groups.prefix(marker)}{number}" for number in itertools.count(1))
        home.chmod(0o1777 if virtual else 0o711)
        if virtual:
            system.allow_no_new_privileges()

    def prepare(self, names: Iterable[str]) -> None:
        """Make what the programs of a guest's next trial need that would influence it; give up what was not needed."""
        while self._rooms:
            self._rooms.popitem()[1].close()
        if self._virtual:
            wanted = list(names)
            size = RoomSize(limits.ROOMS_IN_GUEST_BYTES // max(1, len(wanted)), limits.KEPT_FILES)
            self._rooms = {name: self._guest_rooms.make((), self._users.of(name), size) for name in wanted}

    def of_trial(
        self, name: str, needed: Iterable[str], writable: Sequence[Path], root: OwnRoot | None = None
    ) -> Confinement:
        """Return how a program of a trial is started; `writable` exist, and become the program's own.

        Programs of other names are other users; one may have a `root` of its own. `needed` are the paths of the trial
        that the program reads. Raise MachineError for one that it could not read.
        """
        longest_file = limits.KEPT_IN_GUEST_BYTES if self._virtual else limits.KEPT_BYTES
        return self._of(name, needed, writable, longest_file, root)

    def of_session(self, name: str, needed: Iterable[str], writable: Sequence[Path]) -> Confinement:
        """Return how a session client is started: its files grow over many trials, so none of them has a limit."""
        return self._of(name, needed, writable, None)

    def _of(
        self,
        name: str,
        needed: Iterable[str],
        writable: Sequence[Path],
        longest_file: int | None,
        root: OwnRoot | None = None,
    ) -> Confinement:
        paths = tuple(needed)
        user = self._users.of(name)
        if user is not None:
            raise_if_unreadable(paths, "programs under test")
        confinement = Confinement(
            user=user,
            limits=limits.of_each_process(longest_file),
            capabilities=self._capabilities,
            view=None if self._virtual else self._view(paths, root, has_user=user is not None),
            rooms=self._rooms_of(name, writable, root) if self._virtual else None,
            writable=tuple(writable),
            make_group=self._make_group,
        )
        confinement.give(*writable)
        return confinement

    def _view(self, paths: Sequence[str], root: OwnRoot | None, *, has_user: bool) -> ProgramView | RootView:
        if root is not None:
            return RootView(root, self._stage, _ROOM_SIZE)
        return ProgramView(
            needed=(*self._paths, *_with_neighbours(paths), *_plugins()),
            home=self._home,
            home_size=_HOME_SIZE,
            room_size=_ROOM_SIZE,
            hidden=() if has_user else (str(Path.home()),),
        )

    def _rooms_of(self, name: str, writable: Sequence[Path], root: OwnRoot | None) -> Rooms:
        prepared = self._rooms.pop(name, None)
        if prepared is not None and root is None:
            return prepared
        if prepared is not None:
            prepared.close()
        return self._guest_rooms.make(writable, self._users.of(name), _ROOM_SIZE, root)

    def _make_group(self) -> LimitGroup | None:
        return self._groups.make(next(self._group_names), limits.MOST_TASKS, limits.MEMORY_BYTES)


def _needs_large_buffers() -> bool:
    largest = int(Path("/proc/sys/net/core/rmem_max").read_text()) if _sees_buffers() else SMALL_BUFFER_BYTES
    return largest < SMALL_BUFFER_BYTES and isolation.has_full_privilege() and system.in_initial_user_namespace()


def _sees_buffers() -> bool:
    return Path("/proc/sys/net/core/rmem_max").exists()


def _with_neighbours(paths: Sequence[str]) -> Iterator[str]:
    """Yield the paths, and for a program its folder too, since its libraries are there; never a temporary folder."""
    for path in paths:
        yield path
        folder = Path(path).parent
        if os.access(path, os.X_OK) and not Path(path).is_dir() and not _is_shared(folder):
            yield str(folder)


def _is_shared(folder: Path) -> bool:
    return bool(folder.stat().st_mode & 0o002) or folder in (Path.home(), Path("/"))


def _plugins() -> Iterator[str]:
    for name in _PLUGINS:
        yield from (str(Path(entry).absolute()) for entry in os.environ.get(name, "").split(":") if entry)
