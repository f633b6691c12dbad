"""A run that was cut off goes on where it stood, and ends in the same model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import chronorule as cr
from chronorule.errors import DataError, OptionError
from chronorule.learner import LearningProgress
from chronorule.learner.journal import file_names

MAKE = "cr.paper_suite(group=4, predicates=8, sequences=300, seed=2)"
GRAMMAR = cr.Grammar(length=6, required=("B", "C"))


@pytest.fixture(scope="module")
def log() -> cr.EventLog:
    return cr.paper_suite(group=4, predicates=8, sequences=300, seed=2).log


def learner(**options: Any) -> cr.RuleLearner:
    return cr.RuleLearner("Y", **{"grammar": GRAMMAR, **options})


def alike(one: cr.RuleModel, other: cr.RuleModel) -> bool:
    """Whether all is the same but the seconds that searches took."""

    def told(model: cr.RuleModel) -> dict[str, Any]:
        def untimed(certificate: Any) -> Any:
            return replace(certificate, seconds=0.0)

        assert model.certificate is not None
        rounds = tuple(replace(record, seconds=0.0, certificate=untimed(record.certificate)) for record in model.rounds)
        plain = replace(model, rounds=rounds, certificate=untimed(model.certificate))
        return {field.name: getattr(plain, field.name) for field in fields(plain)}

    return repr(told(one)) == repr(told(other))


class CutError(Exception):
    """What ends a run in the middle."""


def test_run_cut_off_at_any_step_ends_in_the_same_model(log: cr.EventLog, tmp_path: Path) -> None:
    whole = learner().fit(log).model_
    assert whole.rules
    steps = 0
    for cut in range(100):
        path = tmp_path / f"{cut}.jsonl"
        told = 0

        def after(progress: LearningProgress, cut: int = cut) -> None:
            nonlocal told
            if progress.search is None:
                told += 1
                if told > cut:
                    raise CutError

        try:
            learner().fit(log, journal=path, watch=after)
        except CutError:
            steps += 1
            assert alike(learner().fit(log, journal=path).model_, whole)
        else:
            break
    assert steps > 5


def test_finished_journal_gives_the_model_without_another_search(log: cr.EventLog, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first = learner().fit(log, journal=path).model_
    before = path.read_bytes()
    stages = []
    again = learner().fit(log, journal=path, watch=lambda progress: stages.append(progress.stage)).model_
    assert stages == ["done"]
    assert again.certificate == first.certificate
    assert alike(again, first)
    assert path.read_bytes() == before


def test_torn_last_line_is_left_out(log: cr.EventLog, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    whole = learner().fit(log, journal=path).model_
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][: len(lines[3]) // 2])
    assert alike(learner().fit(log, journal=path).model_, whole)
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.endswith("}")]
    assert records[-1]["next"] == "done"


def test_first_line_that_was_cut_off_is_begun_anew(log: cr.EventLog, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    learner(max_rules=1).fit(log, journal=path)
    header = path.read_bytes().splitlines()[0]
    for length in (1, 5, len(header) // 2, len(header) - 1, len(header)):
        path.write_bytes(header[:length])
        assert learner(max_rules=1).fit(log, journal=path).stopped == "max_rules"
        assert path.read_bytes().splitlines()[0] == header


def test_line_cut_inside_a_letter_is_left_out(tmp_path: Path) -> None:
    """Names may hold letters of several bytes, and line ends of Unicode."""
    names = {"A": "β", "B": "B\u2028\x85B", "C": "C", "Y": "Ψ"}
    log, _ = cr.simulate("Y <- A < B", weights=[1.6], predicates=4, entities=150, rates=0.1, seed=3)
    log = replace(log, predicates=tuple(names.get(name, name) for name in log.predicates))
    path = tmp_path / "journal.jsonl"
    whole = cr.RuleLearner("Ψ", max_length=2).fit(log, journal=path).model_
    assert [set(item.rule.predicates) for item in whole.rules] == [{names["A"], names["B"]}]
    lines = path.read_bytes().split(b"\n")
    for line in (0, 1, 2):
        cut = lines[line].index("Ψ".encode()) + 1
        path.write_bytes(b"\n".join([*lines[:line], lines[line][:cut]]))
        assert alike(cr.RuleLearner("Ψ", max_length=2).fit(log, journal=path).model_, whole)


@pytest.mark.parametrize(
    "spoilt",
    ['{"rules": []}', "[1, 2]", '"text"', {"next": "dance"}, {"rules": ["Y <-"]}, {"rounds": [{}]}, {"visited": 3}],
)
def test_line_that_holds_no_state_is_refused_in_one_sentence(
    log: cr.EventLog, tmp_path: Path, spoilt: str | dict[str, Any]
) -> None:
    path = tmp_path / "journal.jsonl"
    learner(max_rules=1).fit(log, journal=path)
    header, state, *_ = path.read_text("utf-8").split("\n")
    line = spoilt if isinstance(spoilt, str) else json.dumps({**json.loads(state), **spoilt})
    path.write_text(f"{header}\n{state}\n{line}\n", "utf-8")
    with pytest.raises(DataError, match=r"^Line 3 of the journal '.*' holds no state of learning.*begin anew\.$"):
        learner().fit(log, journal=path)


@pytest.mark.filterwarnings("ignore:.*excite itself")  # as long as the rules that explain it are left out
def test_journal_is_followed_as_far_as_the_number_of_rules_allows(log: cr.EventLog, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    whole = learner().fit(log, journal=path).model_
    before = path.read_bytes()
    assert len(whole.rules) > 2
    for most in (1, 2, 0):
        assert alike(learner(max_rules=most).fit(log, journal=path).model_, limited(log, most))
    again = learner(max_rules=len(whole.rules)).fit(log, journal=path).model_
    assert alike(replace(again, options=whole.options), whole)
    assert path.read_bytes() == before
    path.unlink()
    for most in (1, 1, 2, 1):  # what ended at so many rules is not searched for again, and goes on with more
        assert alike(learner(max_rules=most).fit(log, journal=path).model_, limited(log, most))
    assert alike(learner().fit(log, journal=path).model_, whole)


def limited(log: cr.EventLog, most: int) -> cr.RuleModel:
    """Learned without a journal."""
    return learner(max_rules=most).fit(log).model_


def test_journal_of_another_run_is_refused(log: cr.EventLog, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    learner(max_rules=1).fit(log, journal=path)
    with pytest.raises(OptionError, match=r"another run \(it differs in options\)"):
        learner(alpha=0.01).fit(log, journal=path)
    with pytest.raises(OptionError, match=r"another run \(it differs in log\)"):
        learner().fit(log.select(range(100)), journal=path)
    with pytest.raises(DataError, match=r"journals of 2 heads need a folder, and '.*' cannot be one"):
        cr.RuleLearner(["Y", "A"]).fit(log, journal=path)


def test_each_of_several_heads_has_a_journal_in_the_folder(tmp_path: Path) -> None:
    log = cr.simulate("Y <- A < B", weights=[1.6], predicates=4, entities=150, rates=0.1, seed=3).log
    options: dict[str, Any] = {"max_length": 2, "given_rules": "Y <- C\nD <- A"}
    whole = cr.RuleLearner(["Y", "D"], **options).fit(log).models_
    folder = tmp_path / "new" / "journals"
    seen: list[LearningProgress] = []

    def stop() -> bool:
        return bool(seen) and seen[-1].head == "D" and seen[-1].stage == "seek"

    first = cr.RuleLearner(["Y", "D"], **options).fit(log, journal=folder, watch=seen.append, stop=stop).models_
    assert sorted(path.name for path in folder.iterdir()) == ["D.jsonl", "Y.jsonl"]
    assert [model.stopped for model in first.values()] == [None, "interrupted"]
    seen.clear()
    again = cr.RuleLearner(["Y", "D"], **options).fit(log, journal=folder, watch=seen.append).models_
    assert [progress.stage for progress in seen if progress.head == "Y"] == ["done"]
    assert all(alike(again[name], whole[name]) for name in ("Y", "D"))
    alone = cr.RuleLearner("D", max_length=2, given_rules="D <- A").fit(log, journal=folder / "D.jsonl").model_
    assert alike(alone, whole["D"])


def test_names_of_journals_are_those_of_files_and_differ() -> None:
    assert file_names(["a/b", "a b", "..", "né", "../x", "X"]) == ["a-b", "a-b-2", "head", "né", "x", "X-2"]


def test_file_that_is_no_journal_is_kept(log: cr.EventLog, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n", "utf-8")
    with pytest.raises(OptionError, match="no journal"):
        learner().fit(log, journal=path)
    assert path.read_text("utf-8") == "my notes\n"


def test_journal_that_cannot_be_kept_is_loud(log: cr.EventLog, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        learner().fit(log, journal=tmp_path / "nowhere" / "journal.jsonl")
    with pytest.raises(DataError, match="cannot be read"):
        learner().fit(log, journal=tmp_path)


def test_more_time_goes_on_with_a_run_that_ran_out_of_it(log: cr.EventLog, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    seen: list[LearningProgress] = []
    first = learner().fit(log, journal=path, watch=seen.append, stop=lambda: bool(seen and seen[-1].rules)).model_
    assert first.stopped == "interrupted"
    assert alike(learner().fit(log, journal=path).model_, learner().fit(log).model_)
    most = tmp_path / "most.jsonl"
    assert learner(max_rules=1).fit(log, journal=most).model_.stopped == "max_rules"
    assert alike_rules(learner().fit(log, journal=most).model_, learner().fit(log).model_)


@pytest.mark.parametrize(
    ("group", "predicates", "sequences", "seed", "longest", "cuts"),
    [(1, 12, 150, 36, 5, (3, 4, 20, 45)), (4, 8, 100, 2, 3, (5, 9, 35, 60))],
)
def test_run_stopped_in_the_middle_of_a_step_ends_in_the_same_model(
    group: int, predicates: int, sequences: int, seed: int, longest: int, cuts: tuple[int, ...], tmp_path: Path
) -> None:
    """Whatever a step that was cut short came to, the best so far of a search included, is taken anew."""
    log = cr.paper_suite(group, predicates, sequences, seed=seed).log
    grammar = cr.Grammar(max_length=longest)
    whole = learner(grammar=grammar).fit(log).model_
    incumbents = 0
    for most in cuts:
        path = tmp_path / f"{most}.jsonl"
        asked = iter(range(1000))
        cut = learner(grammar=grammar).fit(log, journal=path, stop=lambda: next(asked) >= most).model_  # noqa: B023
        assert cut.stopped == "interrupted"
        assert alike(learner(grammar=grammar).fit(log, journal=path).model_, whole)
        incumbents += bool(cut.rounds) and not cut.rounds[-1].certificate.optimal
    assert incumbents > 0  # the best so far of a search is in the model of the run that was cut


def alike_rules(one: cr.RuleModel, other: cr.RuleModel) -> bool:
    return [(item.rule, item.weight) for item in one.rules] == [(item.rule, item.weight) for item in other.rules]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_killed_process_is_resumed(log: cr.EventLog, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    script = textwrap.dedent(f"""
        import os, signal
        import chronorule as cr

        def watch(progress):
            if progress.rules and progress.search is not None:
                os.kill(os.getpid(), signal.SIGKILL)

        grammar = cr.Grammar(length=6, required=("B", "C"))
        cr.RuleLearner("Y", grammar=grammar).fit({MAKE}.log, journal={str(path)!r}, watch=watch)
    """)
    ended = subprocess.run([sys.executable, "-c", script], check=False, env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL
    assert len(path.read_text("utf-8").splitlines()) > 1
    assert alike(learner().fit(log, journal=path).model_, learner().fit(log).model_)
