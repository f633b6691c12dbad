"""Writing results: text for whatever the terminal can show, JSON, files that are whole or not there, progress."""

from __future__ import annotations

import json
import math
import os
import sys
import textwrap
import uuid
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import click

from chronorule.errors import DataError

COLUMNS = 80  # as wide as results are
ASCII = str.maketrans(
    {"←": "<-", "↤": "<-|", "∧": "&", "×": "x", "–": "-", "−": "-", "…": "...", "∞": "inf"}
    | {"λ": "lambda", "Λ": "Lambda", "φ": "phi", "Σ": "sum", "≥": ">=", "≤": "<="}
)


def encodable(text: str, stream: TextIO) -> str:
    """The text, or where the stream's encoding has no such letters an ASCII spelling of it."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(ASCII).encode(encoding, "backslashreplace").decode(encoding)
    return text


def say(text: str = "") -> None:
    """Write a result to standard output."""
    try:
        click.echo(encodable(text, sys.stdout))
    except BrokenPipeError:  # the reader has seen enough
        raise
    except OSError as problem:
        lead_nowhere(sys.stdout)
        raise DataError(
            f"Standard output cannot be written ({problem.strerror}), so not all was printed; send it where there is "
            "room. Files that were saved before are whole."
        ) from None


def lead_nowhere(stream: TextIO) -> None:
    """Let what a dead stream still holds, and what will be written to it, be lost, rather than fail at the exit."""
    with suppress(OSError, ValueError):  # a stream in memory is no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def is_watched() -> bool:
    """Whether standard error is there, and a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def say_aside(text: str) -> None:
    """Write what is no result to standard error; on a terminal in lines as wide as it is, elsewhere in one line.

    Where standard error is gone or full nothing is said, since what is aside ends no work.
    """
    try:
        _say_aside(text)
    except OSError:
        lead_nowhere(sys.stderr)


def _say_aside(text: str) -> None:
    first, *pointing = encodable(text, sys.stderr).splitlines() or [""]
    columns = _columns()
    if columns is not None:
        first = textwrap.fill(first, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    click.echo("\n".join([first, *pointing]), err=True)


def _columns() -> int | None:
    """Width of the terminal that standard error is; None where it is none."""
    if not is_watched():
        return None
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or COLUMNS
    except OSError:
        return COLUMNS


def counted(count: int, one: str, many: str) -> str:
    """1 event, 2 events."""
    return f"{count:,} {one if count == 1 else many}"


def names_in(folder: Path) -> set[str]:
    """Names in a folder before something is written there."""
    return set(os.listdir(folder))


def written(files: Sequence[Path], before: Collection[str]) -> str:
    """Which files are new, and which took the place of one that stood there before."""
    new = [str(file) for file in files if file.name not in before]
    other = [str(file) for file in files if file.name in before]
    return "\n".join(listed(what, names) for what, names in (("written:", new), ("replaced:", other)) if names)


def listed(what: str, words: Sequence[str]) -> str:
    """Words with commas between them, in lines of at most 80 columns where the words allow it; none is cut."""
    lines = [what]
    for place, word in enumerate(words):
        word = word if place == len(words) - 1 else f"{word},"
        if place > 0 and len(lines[-1]) + 1 + len(word) > COLUMNS:
            lines.append(" " * len(what))
        lines[-1] += f" {word}"
    return "\n".join(lines)


def say_json(value: Any) -> None:
    """Write a result as JSON; what is not known or without bound is null."""
    say(json.dumps(_finite(value), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, before the work whose result it is to hold."""
    folder = _place(path).parent
    if path.is_dir():
        raise DataError(f'"{path}" is a directory; name a file in it.')
    if path.exists() and not path.is_file():
        raise DataError(f'"{path}" is a device or a pipe, which a file cannot take the place of; name a plain file.')
    if not folder.is_dir():
        raise DataError(f'"{path}" cannot be written, since there is no folder "{folder}"; create it first.')
    if not os.access(folder, os.W_OK):
        raise DataError(f'"{path}" cannot be written, since this user may not write in "{folder}"; choose another.')


def _place(path: Path) -> Path:
    """Where a file is written: of a link, where it leads to, so that the link stays."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def write_text(path: Path, text: str) -> None:
    """Write a file under a temporary name, then rename it: what stood there stays until the new text is whole."""
    place = _place(path)
    part = place.with_name(f".{place.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(place)
    except OSError as problem:
        raise DataError(
            f'"{path}" cannot be written ({problem.strerror}); make room or choose another folder; '
            "what was there before is untouched."
        ) from None
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say on a terminal what is being waited for, and take it away when it is done; nothing where nobody watches."""
    if not is_watched():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True, highlight=False).status(f"{what} ...", spinner="line")
    with status, aside_between(status.stop, status.start):
        yield


@contextmanager
def aside_between(stop: Callable[[], None], start: Callable[[], None]) -> Iterator[None]:
    """Take what moves on the terminal away while a warning is shown, so that it begins at the margin."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def clear_then_show(*about: Any, **more: Any) -> None:
            stop()
            show(*about, **more)
            start()

        warnings.showwarning = clear_then_show
        yield
