"""The documentation is true: its Python blocks and its commands run, what it says they print is what they print."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
COMMAND = Path(sys.executable).with_name("chronorule")

LANGUAGES = {"python", "console", "text", "toml", "csv", "latex"}
SHOWN_ONLY = {"git", "cd", "pip"}  # commands that a page may show and no test runs
COMMENT = r"<!--(?P<comment>(?:(?!-->)[\s\S])*)-->\s*\n"
FENCE = re.compile(rf"(?:{COMMENT})?^(?P<mark>```+)(?P<language>.*)\n", flags=re.MULTILINE)
HIDDEN_FENCE = re.compile(r"^(?:[ \t]+```|[ \t]*~~~)", flags=re.MULTILINE)
SLOWEST_COMMAND = 300.0  # seconds until a command that hangs is ended


def name_of(path: Path) -> str:
    """How a page is called in the name of a test."""
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: where its text begins, its language, and the HTML comment just before it."""

    line: int
    language: str
    text: str
    comment: str

    @property
    def reason_not_to_run(self) -> str | None:
        """The reason in `<!-- no-run: reason -->`; None for a block that runs."""
        found = re.fullmatch(r"no-run:\s*(.*)", self.comment, flags=re.DOTALL)
        return found.group(1).strip() if found else None


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    position = 0
    while opened := FENCE.search(page, position):
        closed = re.compile(rf"^{opened['mark']}[ \t]*$", flags=re.MULTILINE).search(page, opened.end())
        line = page.count("\n", 0, opened.end()) + 1
        assert closed, f"the block that begins at line {line - 1} is never closed"
        text = page[opened.end() : closed.start()]
        yield Block(line, opened["language"].strip(), text, (opened["comment"] or "").strip())
        position = closed.end()


def commands(block: Block) -> list[list[str]]:
    """The words of each `$ command`; a backslash at the end of a line goes on with the next."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [shlex.split(line[2:], comments=True) for line in lines if line.startswith("$ ")]


def run_python(block: Block, page: str, names: dict[str, Any]) -> str:
    """Run a block in the names that earlier blocks left, with the page's own line numbers; what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), names)
    return printed.getvalue()


def run_commands(block: Block, page: str) -> str:
    """Run the `chronorule` commands of a block in the present folder; what they printed."""
    printed = ""
    for words in commands(block):
        where = f"{page}, line {block.line}: {shlex.join(words)}"
        if words[0] == "chronorule":
            done = subprocess.run(
                [COMMAND, *words[1:]], capture_output=True, text=True, timeout=SLOWEST_COMMAND, stdin=subprocess.DEVNULL
            )
            assert done.returncode == 0, f"{where}\n{done.stdout}{done.stderr}"
            assert "Traceback" not in done.stderr, f"{where}\n{done.stderr}"
            printed += done.stdout
        elif words[0] == "make":
            targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
            unknown = [word for word in words[1:] if "=" not in word and word not in targets]
            assert not unknown, f"{where}: the Makefile has no {unknown}"
        else:
            assert words[0] in SHOWN_ONLY, f"{where}: cannot be run here; put <!-- no-run: reason --> before the block"
    return printed


def run_page(text: str, name: str) -> int:
    """Run a page from top to bottom in the present folder; how many blocks ran."""
    names: dict[str, Any] = {"__name__": "__page__"}
    ran, printed = 0, ""
    hidden = HIDDEN_FENCE.search(text)
    assert not hidden, f"{name}: a block begins at the margin with ```, or it would not be run"
    for block in blocks(text):
        where = f"{name}, line {block.line}"
        assert block.language in LANGUAGES, f"{where}: a block says which of {sorted(LANGUAGES)} it is"
        if block.reason_not_to_run is not None:
            assert block.reason_not_to_run, f"{where}: no-run needs its reason"
        elif block.language == "python":
            printed = run_python(block, name, names)
            ran += 1
        elif block.language == "console":
            assert commands(block), f"{where}: a console block has lines that begin with '$ '"
            printed = run_commands(block, name)
            ran += 1
        elif block.comment == "output":
            shown = [line.rstrip() for line in block.text.strip().splitlines()]
            assert [line.rstrip() for line in printed.strip().splitlines()] == shown, where
    return ran


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings are errors here as in all tests, so no page teaches what is deprecated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    run_page(page.read_text(encoding="utf-8"), name_of(page))


def test_readme_shows_python_that_runs() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    running = {block.language for block in blocks(page) if block.reason_not_to_run is None}
    assert {"python", "console"} <= running


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{name_of(page)} links to {target}, which is not there"
        if heading and file.suffix == ".md":
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in anchors, f"{name_of(page)} links to {target}, which has no such heading"


def test_contents_list_every_page() -> None:
    contents = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.is_relative_to(ROOT / "docs")]
    missing = [page for page in pages if page != "index.md" and f"]({page})" not in contents]
    assert not missing, f"docs/index.md does not list {missing}"


# The runner of pages itself


def test_blocks_share_their_names_and_their_output_is_compared() -> None:
    page = "```python\nx = 2\n```\n\n```python\nprint(x + 1)\n```\n\n<!-- output -->\n```text\n3\n```\n"
    assert run_page(page, "page") == 2
    with pytest.raises(AssertionError, match="page, line 11"):
        run_page(page.replace("\n3\n", "\n4\n"), "page")


def test_block_that_fails_is_named_by_page_and_line() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("A sentence.\n\n```python\n1 / 0\n```\n", "page")
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno) == ("page", 3)  # pytest counts lines from 0


def test_block_with_a_reason_is_not_run() -> None:
    assert run_page("<!-- no-run: needs a network -->\n```python\n1 / 0\n```\n", "page") == 0


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("<!-- no-run: -->\n```python\n1 / 0\n```\n", "needs its reason"),
        ("```Python\n1 / 0\n```\n", "a block says which of"),
        ("```\nplain\n```\n", "a block says which of"),
        ("```python\nx = 1\n", "never closed"),
        ("- a list\n\n  ```python\n  1 / 0\n  ```\n", "at the margin"),
        ("```console\nchronorule demo\n```\n", "begin with"),
        ("```console\n$ rm everything\n```\n", "cannot be run here"),
        ("```console\n$ make nonsense\n```\n", "has no"),
        ("```console\n$ chronorule \\\n    no-such-command\n```\n", "no-such-command"),
    ],
)
def test_page_with_a_fault_is_refused(page: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        run_page(page, "page")
