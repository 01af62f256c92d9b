"""Dependencies run one way: model ← pure modules ← effects ← pipeline ← cli."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "longlook"

# A module may import from its own layer and from those above it in this list.
LAYERS: list[tuple[str, set[str]]] = [
    ("foundations", {"errors", "model"}),
    (
        "pure",
        {"codec", "units", "paths", "registry", "job", "timeline", "study", "plan", "samples", "claims"}
        | {"events", "states", "statetimes"}
        | {"network", "traces", "presets", "linkschema"}
        | {"normalise", "stats", "metrics", "stacks", "workloads", "studies", "infer", "calibration"}
        | {"batches", "virtualtime", "fingerprint", "shortage", "verification", "linkdiff", "bundleloader", "inside"}
        | {"linktool", "tcp", "draws", "flows", "contest", "envelope", "flowtables", "dispute", "survey"},
    ),
    (
        "effects",
        {"store", "tls", "content", "installing", "setup", "lab", "agent", "engines", "execute", "measure", "report"}
        | {
            "cachefolder",
            "hostfacts",
            "linkprogram",
            "traceprogram",
            "tracedecoding",
            "doctor",
            "executors",
            "guestkernel",
        }
        | {"comparison", "export", "bisection"}
        | {"guest", "calibrate", "entries", "trialcache", "measurecache", "verify", "rundiff", "trialevents"}
        | {"tracesets", "tracelogs"},
    ),
    ("pipeline", {"pipeline", "conformance"}),
    ("command line", {"present", "cli", "terminal", "__main__"}),
]

# Plug-ins declare in the pure layer and may carry out their effects (install, prepare) through these.
PLUGIN_EFFECTS = {
    "stacks": {"installing", *(f"installing_{kind}" for kind in ("debian", "go", "packaged", "python", "rust"))},
    "workloads": {"content"},
    "infer": {"traceprogram", "report"},  # infer/program.py runs the program; drawings have the report's colours
}

LIGHT = {"agent", "guest", "codec", "errors", "flows", "job", "model", "paths", "registry", "stacks", "lab"}
"""What the agent imports, on the host and in a guest; nothing of this may import a heavy library at its top."""
HEAVY = {"pandas", "numpy", "scipy", "statsmodels", "altair", "pydantic", "typer", "rich", "pyarrow", "jinja2"}


def group_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def base_of(group: str) -> str:
    """`study_schema` belongs to `study`."""
    known = {name for _, names in LAYERS for name in names}
    return group if group in known else group.split("_", maxsplit=1)[0]


def layer_of(group: str) -> int:
    for number, (_, groups) in enumerate(LAYERS):
        if base_of(group) in groups:
            return number
    pytest.fail(f"{group} is in no layer: add it to LAYERS")


def imports_of(file: Path) -> Iterator[str]:
    """Names of our own modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module == "longlook":
                yield from (alias.name for alias in node.names if not alias.name.startswith("__"))
            elif node.module.startswith("longlook."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("longlook."))


FILES = sorted(file for file in PACKAGE.rglob("*.py") if file != PACKAGE / "__init__.py")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_point_towards_the_model(file: Path) -> None:
    group = group_of(file)
    allowed = PLUGIN_EFFECTS.get(group, set())
    wrong = [name for name in imports_of(file) if layer_of(name) > layer_of(group) and name not in allowed]
    assert not wrong, f"{file.name} ({LAYERS[layer_of(group)][0]}) imports {wrong}"


def test_model_imports_nothing_of_ours() -> None:
    assert list(imports_of(PACKAGE / "model.py")) == []


@pytest.mark.parametrize(
    "file",
    [file for file in FILES if base_of(group_of(file)) in LIGHT],
    ids=lambda file: str(file.relative_to(PACKAGE)),
)
def test_the_agents_modules_are_light(file: Path) -> None:
    tree = ast.parse(file.read_text())
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name.split(".")[0] for node in top if isinstance(node, ast.Import) for alias in node.names}
    names |= {(node.module or "").split(".")[0] for node in top if isinstance(node, ast.ImportFrom)}
    assert not names & HEAVY


def test_every_plugin_file_is_registered() -> None:
    from longlook import registry

    for folder in registry.CONSTANTS:
        files = [file for file in (PACKAGE / folder).glob("*.py") if file.name != "__init__.py"]
        assert len(files) <= len(registry.load(folder)), folder
        assert files, folder
