"""Where tables come from: CSV and Parquet files, and anything that offers an Arrow stream, behind one face."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from chronorule.errors import DataError, OptionError
from chronorule.events.tables import by_row, plural, shorten

NAMES = pa.dictionary(pa.int32(), pa.string())
BLOCK = 8 << 20  # bytes of CSV parsed at once: large enough that dictionaries of names are seldom joined
LONGEST_LINE = 1 << 16  # bytes at the end in which the last line is looked for
METADATA = b"chronorule"
SEPARATORS = {",": '","', ";": '";"', "\t": r'"\t"', "|": '"|"', ":": '":"', " ": '" "'}


class Source(Protocol):
    """A table by columns; `locate` points at a row in words that help to find it."""

    label: str
    names: list[str]
    metadata: dict[str, Any]

    def read(self, columns: Sequence[str], texts: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """Read these columns; those in `texts` are taken as text, whatever they look like."""

    def locate(self, row: int) -> str:
        """Say where a row is."""


def open_source(source: Any, separator: str) -> Source:
    """Find out what was given, and refuse clearly what cannot be a table."""
    if isinstance(source, str | os.PathLike):
        path = as_path(source)
        with reading(path):
            with path.open("rb") as file:
                start = file.read(1 << 16)
            if not start:
                raise DataError(
                    f"{quoted(path)} is empty; a table needs a line of column names and a row for each event."
                )
            if start[:4] == b"PAR1":
                return ParquetSource.open(path)
            return CsvSource.open(path, separator, start)
    if not hasattr(source, "__arrow_c_stream__") and callable(getattr(source, "collect", None)):
        source = source.collect()  # a lazy frame
    if isinstance(source, Mapping):
        try:
            source = pa.table(dict(source))
        except (pa.ArrowException, TypeError, ValueError) as problem:
            raise DataError(
                f"The columns given make no table ({one_line(problem)}); pass flat columns of one length."
            ) from None
    if hasattr(source, "__arrow_c_stream__"):
        return ArrowSource.open(source)
    raise DataError(
        f"A {type(source).__name__} is no table; give the path of a CSV or Parquet file, a data frame (pandas, polars, "
        "duckdb, pyarrow), or a dictionary of columns."
    )


def as_path(name: str | os.PathLike[str]) -> Path:
    """The path of a file as a person names it."""
    if not isinstance(name, str | os.PathLike):
        raise DataError(f"{name!r} is no path of a file; give the path as text.")
    path = Path(os.fspath(name))
    if "\0" in str(path):
        raise DataError(f"The name {str(path)!r} holds a zero byte, which no file has in its name; correct it.")
    return path


def quoted(path: Path) -> str:
    """Name a file in a message."""
    return f'"{path}"'


def one_line(problem: BaseException) -> str:
    """The first line of what another library says, without a full stop."""
    return str(problem).strip().split("\n")[0].rstrip(".")[:200]


def companion(path: Path, part: str) -> Path:
    """Name of the file of periods or static predicates beside a file of events."""
    stem, suffix = stem_and_suffix(path)
    return path.with_name(f"{stem}.{part}{suffix}")


def stem_and_suffix(path: Path) -> tuple[str, str]:
    """Part a file name, taking ".csv.gz" as one suffix."""
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    return path.name.removesuffix(suffix), suffix


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what can go wrong with a file into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(
            f"There is no file {quoted(path)}; check the path (relative to {quoted(Path.cwd())})."
        ) from None
    except IsADirectoryError:
        raise DataError(f"{quoted(path)} is a directory, not a table; name one CSV or Parquet file in it.") from None
    except PermissionError:
        raise DataError(f"{quoted(path)} may not be read by this user; change its permissions or copy it.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise DataError(f"{quoted(path)} is damaged ({one_line(problem)}); fetch or write the file again.") from None
    except UnicodeDecodeError as problem:
        raise DataError(
            f"{quoted(path)} is not UTF-8 text (first at byte {problem.start}); save it as UTF-8, or convert it, "
            'for example with "iconv -f latin1 -t utf-8".'
        ) from None
    except (OSError, pa.ArrowException, csv.Error) as problem:
        raise DataError(f"{quoted(path)} cannot be read ({one_line(problem)}); check that the file is whole.") from None


@dataclass
class CsvSource:
    """A CSV file, plain or gzipped; names stay text ("NA", "007"), the rest is inferred."""

    path: Path
    separator: str
    zipped: bool
    names: list[str]
    metadata: dict[str, Any]
    label: str

    @classmethod
    def open(cls, path: Path, separator: str, start: bytes) -> CsvSource:
        zipped = start[:2] == b"\x1f\x8b"
        if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n\0' or separator > "~":
            raise OptionError(
                f"separator={separator!r} cannot part columns; give one character of ASCII, such as ',' or ';'."
            )
        if not zipped and (b"\0" in start or start[:2] in (b"\xff\xfe", b"\xfe\xff")):
            raise DataError(
                f"{quoted(path)} is neither Parquet nor UTF-8 text (it holds zero bytes); "
                "if it is UTF-16 text save it as UTF-8, else name the right file."
            )
        with open_text(path, zipped) as file:
            names = next((record for record in csv.reader(file, delimiter=separator) if record), [])
        if not names:
            raise DataError(f"{quoted(path)} has no line of column names; it must begin with one.")
        return cls(path, separator, zipped, names, {}, quoted(path))

    def read(self, columns: Sequence[str], texts: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        with reading(self.path):
            lines = Lines(pa.input_stream(str(self.path), compression="gzip" if self.zipped else None))
            try:
                table = arrow_csv.read_csv(
                    lines,
                    read_options=arrow_csv.ReadOptions(block_size=BLOCK),
                    parse_options=arrow_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
                    convert_options=arrow_csv.ConvertOptions(
                        include_columns=list(columns), column_types=dict.fromkeys(texts, NAMES)
                    ),
                )
            except pa.ArrowInvalid as problem:
                if self._has_rows():
                    self._refuse_open_quotes(columns)
                    raise self._explain(problem) from None
                return {name: pa.chunked_array([[]], pa.string()) for name in columns}
            if lines.count > 1 + table.num_rows or lines.may_end_open:
                self._refuse_open_quotes(columns)
            return {name: table.column(name) for name in columns}

    def _has_rows(self) -> bool:
        """Whether anything follows the column names; the fast reader calls it an error if not even a line end does."""
        with open_text(self.path, self.zipped) as file:
            return sum(1 for _ in itertools.islice(filter(str.strip, file), 2)) > 1

    def _refuse_open_quotes(self, columns: Sequence[str]) -> None:
        """Refuse a quotation mark that swallows rows: one never closed, or closed after what look like rows.

        A name may have a line break, but none with separators after it; columns that are not read may hold any text.
        """
        places = [self.names.index(name) for name in columns]
        like_rows = re.compile(rf"[\r\n].*{re.escape(self.separator)}", re.DOTALL)
        with open_text(self.path, self.zipped) as file:
            for first, lines, record in records_of(file, self.separator):
                if record is None or is_open(lines, self.separator):
                    raise DataError(
                        f"Line {first} of {self.label} has a quotation mark that is never closed, so that the rows "
                        "after it would be part of one field; close the mark in its line, or remove it."
                    )
                swallowing = [
                    self.names[k] for k in places if len(lines) > 1 and k < len(record) and like_rows.search(record[k])
                ]
                if swallowing and first > 1:
                    raise DataError(
                        f"Line {first} of {self.label} has a quotation mark that is closed in line "
                        f"{first + len(lines) - 1} only, so that the rows between would be part of one field of column "
                        f'"{swallowing[0]}"; close the mark in its line, or remove it.'
                    )

    def _explain(self, problem: pa.ArrowInvalid) -> DataError:
        """Find the line at fault, which the fast reader does not always know."""
        line = 0
        with open_text(self.path, self.zipped) as file:
            records = csv.reader(file, delimiter=self.separator)
            try:
                for record in records:
                    if record and len(record) != len(self.names):
                        return DataError(
                            f"Line {line + 1} of {self.label} has {plural(len(record), 'field')} where the header has "
                            f"{len(self.names)}; a name that holds the separator or a quotation mark needs quotes."
                        )
                    line = records.line_num
            except UnicodeDecodeError:
                return DataError(
                    f"{self.label} is not UTF-8 text (first near line {line + 1}); save it as UTF-8, or convert it, "
                    'for example with "iconv -f latin1 -t utf-8".'
                )
        return DataError(f"{self.label} cannot be read as CSV ({one_line(problem)}); check that the file is whole.")

    def locate(self, row: int) -> str:
        """Count lines as an editor does; only asked for when a row is refused."""
        with reading(self.path), open_text(self.path, self.zipped) as file:
            records = csv.reader(file, delimiter=self.separator)
            seen, line = -2, 0
            for record in records:
                seen += bool(record)
                if seen == row:
                    break
                line = records.line_num
        return f"in line {line + 1} of {self.label}"


class Lines:
    """A stream of bytes that counts the lines it hands on; the fast reader does not say how many it took."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self.stream, self.count = stream, 0
        self.last = b""  # the last line that is not empty, as far as it lies in one block

    def read(self, size: int) -> bytes:
        """The next bytes, none at the end."""
        block: bytes = self.stream.read(size)
        if self.last[-1:] not in (b"", b"\n") and not block:
            self.count += 1  # no line end after the last line
        self.count += int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))
        self.last = block[-LONGEST_LINE:] or self.last
        return block

    @property
    def closed(self) -> bool:
        """Whether there is no more to read."""
        return bool(self.stream.closed)

    def close(self) -> None:
        """Let go of the file."""
        self.stream.close()

    @property
    def may_end_open(self) -> bool:
        """Whether the last line may open a quotation mark that it does not close."""
        return self.last.rstrip(b"\r\n").rpartition(b"\n")[2].count(b'"') % 2 == 1


def records_of(file: IO[str], separator: str) -> Iterator[tuple[int, list[str], list[str] | None]]:
    """The number of the first line, the lines and the fields of each record; no fields if one is too long to read."""
    lines: list[str] = []

    def kept() -> Iterator[str]:
        for line in file:
            lines.append(line)
            yield line

    records, first = csv.reader(kept(), delimiter=separator), 1
    try:
        for record in records:
            yield first, lines, record
            first += len(lines)
            lines.clear()
    except csv.Error:
        yield first, lines, None


def is_open(lines: Sequence[str], separator: str) -> bool:
    """Whether the lines of a record end within a quoted field."""
    if len(lines) == 1 and lines[0].count('"') % 2 == 0:
        return False
    try:
        list(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error as problem:
        return "end of data" in str(problem)
    return False


@contextmanager
def open_text(path: Path, zipped: bool) -> Iterator[IO[str]]:
    """Open a text file, plain or gzipped, with or without a byte order mark."""
    opener: Any = gzip.open if zipped else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        yield file


@dataclass
class ParquetSource:
    """A Parquet file; what `write_events` noted in it comes back as metadata."""

    path: Path
    schema: pa.Schema
    names: list[str]
    metadata: dict[str, Any]
    label: str

    @classmethod
    def open(cls, path: Path) -> ParquetSource:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
        noted = (schema.metadata or {}).get(METADATA)
        try:
            metadata = {} if noted is None else json.loads(noted)
        except ValueError:
            metadata = None
        if not isinstance(metadata, dict):
            raise DataError(f"The notes inside {quoted(path)} are damaged; write the file again.")
        return cls(path, schema, list(schema.names), metadata, quoted(path))

    def read(self, columns: Sequence[str], texts: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        coded = [
            n for n in texts if pa.types.is_string(kind := self.schema.field(n).type) or pa.types.is_large_string(kind)
        ]
        with reading(self.path), parquet.ParquetFile(self.path, read_dictionary=coded) as file:
            table = file.read(columns=list(dict.fromkeys(columns)))
        return {name: table.column(name) for name in columns}

    def locate(self, row: int) -> str:
        return f"{by_row(row)} of {self.label}"


@dataclass
class ArrowSource:
    """A table in memory, of whatever library."""

    table: pa.Table
    names: list[str]
    metadata: dict[str, Any]
    label: str

    @classmethod
    def open(cls, source: Any) -> ArrowSource:
        try:
            table = source if isinstance(source, pa.Table) else pa.table(source)
        except (pa.ArrowException, TypeError, ValueError) as problem:
            raise DataError(
                f"The table cannot be read as an Arrow stream ({one_line(problem)}); convert it first."
            ) from None
        return cls(table, list(table.column_names), {}, "the table")

    def read(self, columns: Sequence[str], texts: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        return {name: self.table.column(self.names.index(name)) for name in columns}

    def locate(self, row: int) -> str:
        return by_row(row)


FIXED = ("start", "stop", "predicate")  # columns that no option names


def choose_columns(source: Source, wanted: Mapping[str, str | None], what: str) -> dict[str, str]:
    """The column for each role: the one named by the option, else one called like the role."""
    for role, name in wanted.items():
        if name is not None and not isinstance(name, str):
            raise OptionError(f"{role}={name!r} names no column; give its name as text.")
    chosen = {role: role if name is None else name for role, name in wanted.items()}
    missing = {role: name for role, name in chosen.items() if name not in source.names}
    if missing:
        raise DataError(_missing_columns(source, missing, what))
    twice = [name for name in chosen.values() if source.names.count(name) > 1]
    if twice:
        raise DataError(
            f"{source.label} has more than one column named {shorten(twice)}, and which is meant cannot be told; "
            "rename one of them."
        )
    return chosen


def _missing_columns(source: Source, missing: Mapping[str, str], what: str) -> str:
    lacks = (
        f"{source.label} has no column {shorten(missing.values())} for the {what} (it has {shorten(source.names, 12)})"
    )
    if isinstance(source, CsvSource) and len(source.names) == 1:
        header = source.names[0]
        likely = max((s for s in SEPARATORS if s != source.separator), key=header.count)
        if header.count(likely):
            return (
                f"{lacks}; its columns seem to be parted by {SEPARATORS[likely]}: pass separator={SEPARATORS[likely]}."
            )
    options = [f'{role}="..."' for role in missing if role not in FIXED]
    named = [f"name the {'column' if len(options) == 1 else 'columns'} with {', '.join(options)}"] if options else []
    fixed = [role for role in missing if role in FIXED]
    called = [f"call what is meant {shorten(fixed)} in the table itself"] if fixed else []
    return f"{lacks}; {', and '.join([*named, *called])}."
