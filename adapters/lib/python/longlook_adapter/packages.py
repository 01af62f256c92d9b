"""A program that a Python package installed into the adapter's environment."""

from pathlib import Path

from longlook_adapter.errors import AdapterError


def installed_program(adapter: Path, relative: str, distribution: str) -> tuple[str, str]:
    """Return the path of a program and the version of its package.

    `relative` is the program's path from the environment's root or from its packages; `adapter` is the adapter's folder
    in that root.
    """
    root = adapter.resolve().parent
    programs = [*root.glob(f"lib/python3*/site-packages/{relative}"), *root.glob(relative)]
    versions = list(root.glob(f"lib/python3*/site-packages/{distribution}-*.dist-info"))
    if not programs or not versions:
        raise AdapterError(f"{distribution} is not installed in {root}")
    return str(programs[0]), versions[0].name.removeprefix(f"{distribution}-").removesuffix(".dist-info")
