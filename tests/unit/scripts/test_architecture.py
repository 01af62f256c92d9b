"""The drawing of the packages shows the imports that there are, the same each time."""

import re
from pathlib import Path

import pytest
from scripts import architecture


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A package of four: roof imports walls and ground, walls import ground, the shed imports ground alone."""
    source = tmp_path / "house"
    files = {
        "__init__.py": "import house.roof\n",
        "ground/__init__.py": "import json\n\n\n",
        "walls/__init__.py": "",
        "walls/brick.py": "from house.ground import soil\n",
        "walls/window.py": "def look():\n    from house import ground\n    from house.walls import brick\n",
        "roof/__init__.py": "import house.walls.brick as brick\nfrom house.ground import soil\n",
        "shed/__init__.py": "from house.ground import soil\n",
        "furniture/chair.toml": "legs = 4\n",
    }
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    return source


def test_packages_their_size_and_their_imports_are_read_from_the_source(house: Path) -> None:
    packages = architecture.read_packages(house)
    assert {name: (one.lines, one.files) for name, one in packages.items()} == {
        "ground": (3, 1),
        "roof": (2, 1),
        "shed": (1, 1),
        "walls": (4, 3),
    }
    assert {name: dict(one.imports) for name, one in packages.items()} == {
        "ground": {},
        "roof": {"ground": 1, "walls": 1},
        "shed": {"ground": 1},
        "walls": {"ground": 2},
    }


def test_an_import_that_others_imply_is_no_arrow(house: Path) -> None:
    assert architecture.drawn_arrows(architecture.read_packages(house)) == {
        "ground": (),
        "roof": ("walls",),
        "shed": ("ground",),
        "walls": ("ground",),
    }


def test_the_drawing_names_every_package_and_import_and_repeats_to_the_byte(house: Path) -> None:
    drawing = architecture.draw(architecture.read_packages(house))
    assert re.findall(r'font-weight="700">(\w+)</text>', drawing) == ["ground", "roof", "shed", "walls"]
    assert re.findall(r"<title>(\w+ → \w+): (\d+)", drawing) == [
        ("roof → walls", "1"),
        ("shed → ground", "1"),
        ("walls → ground", "2"),
    ]
    assert "Every other package imports ground." in drawing
    assert drawing == architecture.draw(architecture.read_packages(house))


def test_an_importing_package_stands_above_what_it_imports(house: Path) -> None:
    drawing = architecture.draw(architecture.read_packages(house))
    names = re.findall(r'y="([\d.]+)" fill="#\w+" font-size="15" font-weight="700">(\w+)<', drawing)
    top = {name: float(y) for y, name in names}
    assert top["roof"] < top["walls"] < top["ground"]
    assert top["shed"] < top["ground"]


def test_a_circle_is_named(house: Path) -> None:
    (house / "ground" / "cellar.py").write_text("import house.roof\n")
    with pytest.raises(SystemExit, match="ground → roof → ground"):
        architecture.main(["--source", str(house), "--out", str(house / "x.svg")])
    assert not (house / "x.svg").exists()


def test_check_fails_where_the_drawing_is_out_of_date(house: Path) -> None:
    arguments = ["--source", str(house), "--out", str(house / "x.svg")]
    with pytest.raises(SystemExit, match="make architecture"):
        architecture.main([*arguments, "--check"])
    architecture.main(arguments)
    architecture.main([*arguments, "--check"])
    (house / "shed" / "__init__.py").write_text("")
    with pytest.raises(SystemExit, match="make architecture"):
        architecture.main([*arguments, "--check"])
