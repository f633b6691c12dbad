"""Promises that no single module can keep: light imports, errors of ours, documented names, pinned versions."""

from __future__ import annotations

import ast
import builtins
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import chronorule
import chronorule.errors

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src" / "chronorule").rglob("*.py"))
SCRIPTS = sorted(path for folder in ("benchmarks", "examples", "tools") for path in (ROOT / folder).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

HEAVY = ("numba", "scipy", "pyarrow", "torch", "ray", "matplotlib", "pandas", "polars", "duckdb", "starlette")
LONGEST_MODULE = 600  # lines; CONTRIBUTING.md, "rooms are small"
LONGEST_KERNEL = 900  # kernels that call each other have to share a file


def name_of(path: Path) -> str:
    """How a file is called in the name of a test."""
    return path.relative_to(ROOT).as_posix()


def last_name(node: ast.expr | None) -> str:
    """`ValueError` of `ValueError(...)`, `builtins.ValueError` or `ValueError`; empty for anything else."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    """All calls of a function or method of that name."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and last_name(node) == name)


# What a fresh interpreter loads


def test_import_of_the_package_loads_no_heavy_library() -> None:
    """Somebody who asks for help or parses a rule does not wait for a compiler (design 12)."""
    program = "import json, sys, chronorule; print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "chronorule" in loaded
    assert loaded.isdisjoint(HEAVY), f"loaded by `import chronorule`: {sorted(loaded.intersection(HEAVY))}"


# The public face


def test_every_public_name_exists() -> None:
    assert chronorule.__all__, "chronorule.__all__ names what users may rely on"
    assert len(set(chronorule.__all__)) == len(chronorule.__all__)
    assert set(chronorule.__all__) <= set(dir(chronorule))
    missing = [name for name in chronorule.__all__ if not hasattr(chronorule, name)]
    assert not missing


def test_every_public_name_is_documented() -> None:
    """In code type on a page of docs/ other than the design, which names more than there is."""
    pages = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name != "design.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    code = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, flags=re.DOTALL))
    documented = set(re.findall(r"\w+", code))
    missing = [name for name in chronorule.__all__ if name not in documented]
    assert not missing, f"no page of docs/ shows {missing}"


def test_unknown_public_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(chronorule, "no_such_name")  # noqa: B009  (the name must stay a string for the type checker)


# Modules


@pytest.mark.parametrize("path", SOURCES + SCRIPTS + TESTS, ids=name_of)
def test_module_says_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring, f"{name_of(path)} has no docstring"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_module_is_a_room_one_can_live_in(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    longest = LONGEST_KERNEL if "kernels" in path.parts else LONGEST_MODULE
    assert lines <= longest, f"{name_of(path)} has {lines} lines: split it by idea"


# Errors

OWN_ERRORS = {
    name
    for name, thing in vars(chronorule.errors).items()
    if isinstance(thing, type) and issubclass(thing, chronorule.errors.ChronoruleError)
}
BUILTIN_ERRORS = {
    name for name, thing in vars(builtins).items() if isinstance(thing, type) and issubclass(thing, BaseException)
}
PROTOCOL_ERRORS = {
    ("__getattr__", "AttributeError"),
    ("__getitem__", "IndexError"),
    ("__next__", "StopIteration"),
    ("_interrupt", "KeyboardInterrupt"),  # what Ctrl-C does where nobody listens to it
}


def foreign_raises(text: str, command_line: bool = False) -> list[str]:
    """Raises of a class outside `chronorule.errors`; Python's own protocols and the command line's exits may."""
    found = []

    def visit(node: ast.AST, function: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.Raise):
            name = last_name(node.exc)
            of_click = command_line and node.exc is not None and ast.unparse(node.exc).startswith("click.")
            own = name in OWN_ERRORS or not (name in BUILTIN_ERRORS or name[:1].isupper())
            leaves = command_line and name == "SystemExit"
            if not (own or of_click or leaves or (function, name) in PROTOCOL_ERRORS):
                found.append(f"line {node.lineno}: raise {name}")
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(ast.parse(text), "")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_every_raise_uses_a_class_of_ours(path: Path) -> None:
    """So that the command line turns each of them into one sentence, and callers can catch them all at once."""
    assert foreign_raises(path.read_text(encoding="utf-8"), command_line="cli" in path.as_posix()) == []


@pytest.mark.parametrize(
    "text",
    [
        "raise ValueError('x')",
        "raise builtins.KeyError",
        "def f():\n    raise NotImplementedError",
        "def f():\n    raise AttributeError('only in __getattr__')",
        "raise Elsewhere('x')",
        "raise SystemExit(1)",
        "raise click.UsageError('x')",
    ],
)
def test_scan_of_raises_finds_a_foreign_class(text: str) -> None:
    assert len(foreign_raises(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "raise DataError('x') from None",
        "try:\n    f()\nexcept OSError:\n    raise",
        "raise refusal(name)",
        "def __getattr__(name):\n    raise AttributeError(name)",
    ],
)
def test_scan_of_raises_lets_ours_pass(text: str) -> None:
    assert foreign_raises(text) == []


def test_errors_and_warnings_have_one_root_each() -> None:
    for name, thing in vars(chronorule.errors).items():
        if isinstance(thing, type) and issubclass(thing, Exception):
            warns = issubclass(thing, Warning)
            root = chronorule.errors.ChronoruleWarning if warns else chronorule.errors.ChronoruleError
            assert issubclass(thing, root)
            assert name.endswith("Warning" if warns else "Error")
            assert thing.__doc__


def test_errors_of_ours_are_defined_in_one_place() -> None:
    elsewhere = [
        f"{name_of(path)}: {node.name}"
        for path in SOURCES
        if path.name != "errors.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Error", "Warning"))
    ]
    assert not elsewhere


# Kernels


@pytest.mark.parametrize("path", [path for path in SOURCES if "kernels" in path.parts], ids=name_of)
def test_kernel_leaves_threads_to_its_callers(path: Path) -> None:
    """Parallel kernels abort when several Python threads call them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parallel = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "parallel"]
    assert not parallel
    assert path.name == "_compile.py" or not any(calls(tree, "njit")), "compile through kernels/_compile.py"


# Tests

CLOCKS_AND_NETWORKS = {"time", "timeit", "socket", "urllib", "http", "requests", "ftplib"}
ASK_THE_CLOCK = ("now", "utcnow", "today")


def unsteady(text: str) -> list[str]:
    """What would let a test pass or fail with the machine, the hour or the draw."""
    tree = ast.parse(text)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [f"import of {name}" for name in modules if name.partition(".")[0] in CLOCKS_AND_NETWORKS]
    found += ["unseeded default_rng()" for call in calls(tree, "default_rng") if not call.args + call.keywords]
    asked = [call for name in ASK_THE_CLOCK for call in calls(tree, name) if isinstance(call.func, ast.Attribute)]
    found += [f"{ast.unparse(call.func)}()" for call in asked]
    return found


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_test_depends_on_no_clock_network_or_chance(path: Path) -> None:
    assert unsteady(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "from time import perf_counter",
        "import urllib.request",
        "np.random.default_rng()",
        "datetime.now()",
    ],
)
def test_scan_of_tests_finds_what_is_unsteady(text: str) -> None:
    assert len(unsteady(text)) == 1


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_expected_error_names_its_words(path: Path) -> None:
    """An error of ours is a sentence; its test says which."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wordless = [
        f"line {call.lineno}"
        for name in ("raises", "warns")
        for call in calls(tree, name)
        if call.args
        and last_name(call.args[0]) in set(vars(chronorule.errors))
        and not any(keyword.arg == "match" for keyword in call.keywords)
    ]
    assert not wordless, f"{name_of(path)}: no match= in {wordless}"


# Versions


def pins() -> dict[str, str]:
    """Package → version of constraints.txt, which holds nothing but exact versions: no index, no address."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    for line in wanted:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9][0-9.]*", line), f"constraints.txt: {line!r} is no exact version"
    named = [line.partition("==")[::2] for line in wanted]
    assert len({name for name, _ in named}) == len(named)
    return dict(named)


def declared() -> list[Requirement]:
    """What pyproject.toml asks for, to run, to build and to develop."""
    project = PROJECT["project"]
    extras = [text for extra in project["optional-dependencies"].values() for text in extra]
    return [Requirement(text) for text in project["dependencies"] + extras + PROJECT["build-system"]["requires"]]


def test_every_declared_range_has_a_pin_inside() -> None:
    pinned = pins()
    for requirement in declared():
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"constraints.txt has no version of {name}"
        assert requirement.specifier.contains(pinned[name]), f"{requirement} does not allow the pinned {pinned[name]}"


def test_every_indirect_dependency_has_a_pin() -> None:
    """Otherwise two machines that set up on two days are two machines."""
    pinned = pins()
    queue = [canonicalize_name(requirement.name) for requirement in declared()]
    reached: set[str] = set()
    while queue:
        name = queue.pop()
        if name in reached:
            continue
        reached.add(name)
        for text in importlib.metadata.requires(name) or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": "", "sys_platform": "linux"}):
                queue.append(canonicalize_name(requirement.name))
    assert reached == set(pinned), "left: reached but not pinned; right: pinned but not needed"


# The map


def test_contract_of_imports_is_the_map_of_the_design() -> None:
    """One list in docs/design.md section 12 for people, one in pyproject.toml for the checker: the same list."""
    contracts = {contract["id"]: contract for contract in PROJECT["tool"]["importlinter"]["contracts"]}
    section = (ROOT / "docs" / "design.md").read_text(encoding="utf-8").split("## 12. ")[1].split("## 13. ")[0]
    rows = re.findall(r"^    ([a-z]+)/? +\S.*?(?:\[([^\]]*)\])?$", section, flags=re.MULTILINE)
    layers = [layer.strip("()") for layer in contracts["order"]["layers"]]
    assert [module for module, _ in rows] == layers[::-1]
    named = [(module, name) for module, brackets in rows for name in re.findall(r"[a-z]+", brackets)]
    drawn = {(module, name) for module, name in named if name in contracts}
    held = {
        (entry.split(" -> ")[0].split(".")[1], name)
        for name, contract in contracts.items()
        for entry in contract.get("ignore_imports", [])
    }
    assert drawn == held


def test_version_has_one_source() -> None:
    assert importlib.metadata.version("chronorule") == PROJECT["project"]["version"]
