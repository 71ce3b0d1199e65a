"""Imports go down only: read from the sources, wherever in a module they stand, those for types
included.
"""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import mixable

PACKAGE = Path(mixable.__file__).parent

LAYERS = {
    "what users import": [("__init__", "__main__"), ("paper",)],
    "apps": [("cli",), ("streaming",), ("events",), ("paper.experiments", "engines"), ("plots",)],
    "estimators": [
        ("bank", "bandits", "duckdb", "mlflow"),
        ("persistence", "merging", "_verbs"),
        ("estimators", "river", "_description"),
    ],
    "model": [("model",), ("records",)],
    "experts": [
        ("paper.fresh_starts", "paper.batch"),
        ("paper.kernel_gaf",),
        ("paper.reference", "paper.structured", "paper.baselines"),
        ("experts",),
    ],
    "mathematics": [
        ("kernels",),
        ("paper.bounds", "paper.regret", "metrics", "datasets"),
        ("paper.losses", "paper.surrogates", "_classwise", "_natural"),
        ("paper.integrals",),
    ],
    # What knows nothing of the library: arguments, files, the machine.
    "tools": [
        ("_sparse",),
        ("_alone",),
        ("_validate", "_files", "_config", "_mergeable", "_spelling", "_moved", "_renamed"),
        ("_types",),
    ],
    "core": [("_core",)],
}
"""From the top down. Units of one row do not import each other. Classes that are named in a table
(`experts.table`, `persistence.HOMES`) are text, imported when somebody asks for one.
"""

ROWS = [row for rows in LAYERS.values() for row in rows]
HEIGHT = {unit: -place for place, row in enumerate(ROWS) for unit in row}


def modules():
    """The name of each module, and its file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())


def imported(module):
    """The modules of the package that a module imports."""
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("mixable"))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            if node.module.split(".")[0] == "mixable":
                for each in node.names:
                    whole = f"{node.module}.{each.name}"
                    yield whole if whole in MODULES else node.module


def unit(module):
    """The file or folder that a module is in; each of the paper's room is one of its own."""
    _, *names = module.split(".")
    return ".".join(names[: 1 + (names[:1] == ["paper"])]) or "__init__"


IMPORTS = {module: set(imported(module)) for module in MODULES}


def test_every_module_has_its_layer():
    assert {unit(module) for module in MODULES} == set(HEIGHT)


def test_imports_go_down_only():
    up = [
        f"{module} imports {other}"
        for module, others in IMPORTS.items()
        for other in others
        if unit(module) != unit(other) and HEIGHT[unit(other)] >= HEIGHT[unit(module)]
    ]
    assert not up


def test_no_module_imports_itself_by_way_of_others():
    """Packages apart: they gather what their modules have."""
    packages = {module for module, path in MODULES.items() if path.name == "__init__.py"}
    inner = {module: IMPORTS[module] - packages for module in MODULES if module not in packages}
    assert list(TopologicalSorter(inner).static_order())


# What the product runs of the paper's room, and why. The front door and the command line apart.
RUNS = {
    "mixable.experts.auto": {"integrals"},  # which points an expectation has
    "mixable.experts.compiled": {"integrals"},  # the coordinates of the classes
    "mixable.experts.gaf": {"bounds", "integrals", "losses", "surrogates"},  # from_theory
    "mixable.experts.settings": {"bounds", "losses"},  # constants of Folklore in AutoGAF
    "mixable.model.fallback": {"bounds"},  # constants of the default's fallback
    "mixable._natural": {"integrals"},  # the coordinates of the classes
    "mixable.experts.base": {"integrals"},  # the same
}
SHOW = {"__init__", "cli"}


def test_the_product_imports_from_the_room_of_the_paper_only_what_it_runs():
    found = {}
    for module, others in IMPORTS.items():
        if not unit(module).startswith("paper") and unit(module) not in SHOW:
            rooms = {unit(other).partition(".")[2] for other in others if "paper" in unit(other)}
            found |= {module: rooms} if rooms else {}
    assert found == RUNS


def test_the_room_of_the_paper_knows_no_apps_but_pictures():
    apps = {unit for row in LAYERS["apps"] for unit in row if unit != "plots"}
    up = [
        f"{module} imports {other}"
        for module, others in IMPORTS.items()
        for other in others
        if unit(module).startswith("paper") and unit(other) in apps - {"paper.experiments"}
    ]
    assert not up
