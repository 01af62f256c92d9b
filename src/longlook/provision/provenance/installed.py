"""Everything that Longlook has downloaded on this machine: of the programs that are installed."""

from concurrent.futures import ThreadPoolExecutor

from longlook.core.provenance import Made
from longlook.core.stack import Stack
from longlook.provision import decoder, encoder, players
from longlook.provision.catalogue import is_installed, selected
from longlook.provision.provenance.made import of_checkout, of_kernel, of_part, of_wheels
from longlook.provision.provenance.videos import of_decoder, of_encoder, of_players

_AT_ONCE = 8


def all_made() -> list[Made]:
    """Return what every installed program is made of: stacks, the guest kernel, what makes and plays videos, our own.

    Nothing is installed for it. Raise MachineError where the programs of the wheel are missing.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # each answer takes reading a disk or starting a program
        stacks = [made for made in pool.map(lambda each: _of_installed(*each), selected(())) if made is not None]
    kernel = of_kernel()
    videos = [*([of_encoder()] if encoder.is_fetched() else []), *of_players(_players_here())]
    videos += [of_decoder()] if decoder.is_fetched() else []
    own = [made for made in of_wheels() if made.sha256]
    return [*stacks, *([kernel] if kernel else []), *videos, *own, of_checkout()]


def _players_here() -> list[str]:
    return list(players.PLAYERS) if players.are_fetched() else []


def _of_installed(stack: Stack, version: str) -> Made | None:
    if stack.remote:  # on another machine, which may be away: nothing of it was downloaded here
        return None
    return of_part(stack, version, stack.install(version)) if is_installed(stack, version) else None
