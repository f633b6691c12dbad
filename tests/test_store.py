"""Models on disk: exact round trips, edits by people, one sentence for each defect, and nothing lost on the way."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chronorule as cr
from chronorule.errors import ChronoruleError, ModelError, RuleError, RuleSyntaxError
from chronorule.model import store
from chronorule.model.history import Round
from chronorule.model.records import Reader, to_plain
from chronorule.search import Certificate

RULES = "Y <- A < B\nY <-| C"
ODD_NAMES = [
    "ER Triage",
    'say "x"',
    "it's",
    "né 漢字",
    "a\nb",
    "tab\there",
    "-dash",
    "Before",
    "#",
    "\u200b",
    "[[rules]]",
]


@pytest.fixture(scope="module")
def log() -> cr.EventLog:
    return cr.simulate(f"{RULES}\n", weights=[1.0, 0.6], predicates=4, entities=120, unit="hours", seed=3).log


@pytest.fixture(scope="module")
def fitted(log: cr.EventLog) -> cr.RuleModel:
    return cr.reweigh(RULES, log)


@pytest.fixture(scope="module")
def learned(fitted: cr.RuleModel, log: cr.EventLog) -> cr.RuleModel:
    """With all that learning adds."""
    certificate = Certificate(False, "gain", 0.0, math.inf, 12, 34, 0.1 + 0.2, "chains of Before over 3 predicates")
    keys = tuple(item.rule.key for item in fitted.rules)
    rounds = (Round(1, keys, (), ((keys[0], keys[1]),), keys, -12.5, certificate, 1e-300),)
    return replace(
        fitted,
        grammar=cr.Grammar(max_length=3, required=("A",), forbidden_pairs=(("B", "C"),)).resolve(
            log.predicates, exclude=["Y"]
        ),
        suggestive=tuple(replace(item, stderr=math.nan) for item in fitted.rules),
        certificate=certificate,
        rounds=rounds,
        options={"alpha": 0.05, "span": None, "body": ["A", "B"], "time_limit": math.inf, "within": False},
        stopped="time limit",
    )


@pytest.fixture
def folder(tmp_path: Path, fitted: cr.RuleModel) -> Path:
    """A saved model."""
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


def edit(folder: Path, change: Callable[[str], str], name: str = "rules.toml") -> None:
    """Change the text of a file, and see that it did change."""
    text = (folder / name).read_text(encoding="utf-8")
    assert change(text) != text
    (folder / name).write_text(change(text), encoding="utf-8")


# There and back


def test_model_comes_back_exactly(tmp_path: Path, learned: cr.RuleModel) -> None:
    learned.save(tmp_path / "deep" / "model")
    again = cr.load(tmp_path / "deep" / "model")
    assert again == learned
    assert hash(again) == hash(learned)
    assert str(again) == str(learned)
    assert again.certificate is not None
    assert math.isinf(again.certificate.bound)
    assert math.isnan(again.suggestive[0].stderr)
    assert sorted(os.listdir(tmp_path / "deep" / "model")) == ["manifest.json", "rules.toml"]


def test_models_that_differ_in_the_last_digit_are_not_equal(fitted: cr.RuleModel) -> None:
    other = replace(fitted, variance=float(np.nextafter(fitted.variance, 1)))
    assert other != fitted
    assert replace(fitted, variance_stderr=math.nan) == replace(fitted, variance_stderr=float("nan"))
    assert fitted != "a text"


@given(
    st.lists(st.floats(0, 150), min_size=2, max_size=2),
    st.lists(st.floats(max_value=150, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
    st.floats(allow_nan=True),
    st.floats(1e-9, 1e9),
    st.sampled_from([None, 0.0, 1 / 3, 1e9]),
    st.lists(st.text(min_size=1, max_size=6).filter(lambda name: name.isprintable()) | st.sampled_from(ODD_NAMES),
             min_size=4, max_size=4, unique=True),
)  # fmt: skip
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_numbers_and_names_come_back(
    tmp_path: Path,
    fitted: cr.RuleModel,
    weights: list[float],
    levels: list[float],
    stderr: float,
    width: float,
    span: float | None,
    names: list[str],
) -> None:
    head, a, b, c = names
    rules = [cr.Rule.build(head, [a, b], [(0, cr.Relation.BEFORE, 1)]), cr.Rule.build(head, [c, a], sign=-1)]
    model = replace(
        fitted,
        head=cr.Head(head, reset_by=b),
        feature=cr.Feature("count", cr.window(width), span),
        cuts=(1 / 3, 2 / 3),
        baseline=tuple(levels),
        baseline_stderr=(stderr, math.inf, 0.0),
        rules=tuple(
            replace(item, rule=rule, weight=weight, stderr=stderr)
            for item, rule, weight in zip(fitted.rules, rules, weights, strict=True)
        ),
        training=replace(fitted.training, vocabulary=tuple(names), unit=a),
        notes=tuple(names),
    )
    model.save(tmp_path)
    assert cr.load(tmp_path) == model


def test_odd_names_learned_from_a_log_come_back(tmp_path: Path) -> None:
    head, *body = ODD_NAMES
    owner = [f"p{k}" for k in range(6) for _ in ODD_NAMES]
    times = np.arange(len(owner), dtype=np.float64) % 17
    odd = cr.EventLog.from_columns(owner, times, ODD_NAMES * 6, periods=(0.0, 20.0))
    model = cr.reweigh([cr.Rule.build(head, [name]) for name in body], odd)
    model.save(tmp_path)
    assert cr.load(tmp_path) == model


def test_model_without_rules_comes_back(tmp_path: Path, log: cr.EventLog) -> None:
    model = cr.reweigh([], log, "Y")
    model.save(tmp_path)
    assert cr.load(tmp_path) == model
    assert "[[rules]]\n" not in (tmp_path / "rules.toml").read_text(encoding="utf-8")


def test_rules_come_and_go_in_one_folder(folder: Path, fitted: cr.RuleModel, log: cr.EventLog) -> None:
    edit(folder, lambda text: text.replace("[head]", "# the head\n[head]"))
    for model in (cr.reweigh([], log, "Y"), fitted, cr.reweigh("Y <- D", log), fitted, cr.reweigh([], log, "Y")):
        model.save(folder)
        assert cr.load(folder) == model
        assert (folder / "rules.toml").read_text(encoding="utf-8").count("# the head\n") == 1
    assert sorted(os.listdir(folder)) == ["manifest.json", "rules.edited.toml", "rules.toml"]


def test_loaded_model_gives_the_same_rates(folder: Path, fitted: cr.RuleModel, log: cr.EventLog) -> None:
    times = np.linspace(0.5, 19.5, 7)
    np.testing.assert_array_equal(cr.load(folder).intensity(log, 0, times), fitted.intensity(log, 0, times))
    assert cr.load(folder).log_likelihood(log) == fitted.log_likelihood(log)


def test_manifest_says_what_made_the_model(folder: Path, log: cr.EventLog) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["format"] == 2
    assert manifest["written_by"]["chronorule"] == cr.__version__
    assert manifest["training"]["fingerprint"] == log.fingerprint
    assert manifest["training"]["vocabulary"] == list(log.predicates)
    assert [item["evidence"]["rule"] for item in manifest["rules"]] == ["Y <- A < B", "Y <-| C"]


def test_page_names_every_field_of_the_manifest(folder: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "model.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(\w+)`", page.split("## `manifest.json`")[1]))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert {*manifest, *manifest["rules"][0]} <= told


def test_rules_file_alone_defines_the_rate(folder: Path, fitted: cr.RuleModel, log: cr.EventLog) -> None:
    """Written out by hand from the file, the rate is that of the model."""
    import tomllib

    document = tomllib.loads((folder / "rules.toml").read_text(encoding="utf-8"))
    plain = replace(fitted, variance=0.0)  # frailty aside: λ = exp(base + Σ ± w·φ)
    score = document["base"]["log_rate"][0]
    when = float(log.stop[0])
    for table in document["rules"]:
        found = cr.completions(table["rule"], log)
        on = bool((found.time[found.entity == 0] < when).any())
        score += (1 if " <- " in table["rule"] else -1) * table["weight"] * on
    assert plain.intensity(log, 0, [when]) == pytest.approx(math.exp(score), rel=1e-12)  # sums of four terms


# Edited by people


def edited_note(model: cr.RuleModel) -> str:
    """The note about edits; all numbers of the fit before must be gone."""
    assert all(math.isnan(item.stderr) and math.isnan(item.gain) for item in model.rules)
    assert all(item.evidence is None and item.heads is None and item.support is None for item in model.rules)
    assert all(item.label == "not fitted" and item.objections() == () for item in model.rules)
    assert model.certificate is None
    assert model.suggestive == ()
    assert math.isnan(model.training.log_likelihood)
    assert math.isnan(model.training.kkt_residual)
    assert "log-likelihood not known" in str(model)
    json.dumps(model.to_dict(), allow_nan=False)
    (note,) = [note for note in model.notes if note.startswith("edited by hand")]
    assert "weigh the rules on data" in note
    return note


@pytest.mark.parametrize(
    ("pattern", "replacement", "words"),
    [
        (r"weight = .*", "weight = 0.25", r"weight of 'Y <- A < B' [\d.]+ became 0.25"),
        (r"weight = .*", "weight = 1", r"weight of 'Y <- A < B' [\d.]+ became 1"),
        (r"\[\[rules\]\]\nrule = .*\nweight = .*\n", "", r"'Y <- A < B' removed"),
        (r"\Z", '[[rules]]\nrule = "Y <- D"\nweight = 0.5\n', r"'Y <- D' added"),
        (r"<-\| C", "<- C", r"'Y <-\| C' became 'Y <- C'"),
        (r"A < B", "A = B", r"'Y <- A = B' added; 'Y <- A < B' removed"),
        (r'"step"', '"window(6)"', r"kernel step became window\(6.0\)"),
        (r'"exists"', '"count"', r"feature exists became count"),
        (r'kind = "exists"', 'kind = "exists"\nspan = 3', r"span none became 3"),
        (r"cuts = \[\]", "cuts = [5.0]", None),
        (r"variance = .*", "variance = 0.5", r"variance [\d.e-]+ became 0.5"),
        (r'unit = "hours"', 'unit = "days"', r"unit hours became days"),
        (r"terminal = false", "terminal = true", r"head Y became Y, terminal"),
    ],
)
def test_edit_is_told_and_takes_the_numbers_with_it(
    folder: Path, pattern: str, replacement: str, words: str | None, learned: cr.RuleModel
) -> None:
    learned.save(folder)
    edit(folder, lambda text: re.sub(pattern + ("(?!.*\n#)" if pattern == "A < B" else ""), replacement, text, count=1))
    if words is None:  # two numbers are needed with one cut
        with pytest.raises(ModelError, match=r"has 1 cuts, so log_rate must hold 2 numbers, not 1"):
            cr.load(folder)
        return
    model = cr.load(folder)
    assert re.search(words, edited_note(model))
    assert model.rounds == learned.rounds
    assert all(len(line) <= 80 for line in str(model).splitlines())


def test_edited_model_counts_as_edited_says(folder: Path, log: cr.EventLog, fitted: cr.RuleModel) -> None:
    edit(folder, lambda text: re.sub(r"weight = .*", "weight = 0.25", text, count=1))
    model = cr.load(folder)
    assert model.rules[0].weight == 0.25
    assert model.log_likelihood(log) < fitted.log_likelihood(log)
    assert model.to_text().count("w = 0.25\n") == 1
    assert model.training.log_likelihood_without_rules == fitted.training.log_likelihood_without_rules
    weighed = cr.reweigh(model.to_text(), log)
    # both are the optimum of one convex problem, to 1e-8 per head
    assert weighed.log_likelihood(log) == pytest.approx(fitted.log_likelihood(log), abs=1e-5)


def test_edited_model_is_saved_and_edited_again(folder: Path) -> None:
    edit(folder, lambda text: re.sub(r"weight = .*", "weight = 0.25", text, count=1))
    once = cr.load(folder)
    once.save(folder)
    assert cr.load(folder) == once
    edit(folder, lambda text: text.replace("weight = 0.25", "weight = 0.5"))
    twice = cr.load(folder)
    assert [note.split(";")[0][:60] for note in twice.notes if note.startswith("edited by hand")] == [
        once.notes[0].split(";")[0][:60],
        twice.notes[1].split(";")[0][:60],
    ]
    assert "0.25 became 0.5" in twice.notes[-1]


def test_comments_spelling_and_order_are_no_edits_of_the_model(folder: Path, fitted: cr.RuleModel) -> None:
    edit(folder, lambda text: text.replace("Y <- A < B", "Y ← A ∧ B ∧ (A Before B)"))
    edit(folder, lambda text: "# mine\n" + text.replace("\n[[rules]]", "\n# sure\n[[rules]]") + "# the end\n")
    assert cr.load(folder) == fitted
    edit(folder, lambda text: re.sub(r"(# sure\n\[\[rules\]\][^#]*)(# sure\n\[\[rules\]\][^#]*)", r"\2\1", text))
    again = cr.load(folder)
    assert again.rules == fitted.rules[::-1]
    assert again.certificate == fitted.certificate


def test_editors_of_other_systems_do_no_harm(folder: Path, fitted: cr.RuleModel, log: cr.EventLog) -> None:
    """A mark at the beginning, and lines that end in two characters."""
    rules = folder / "rules.toml"
    text = rules.read_text(encoding="utf-8").replace("\n[[rules]]", "\n# sure\n[[rules]]")
    rules.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert cr.load(folder) == fitted
    fitted.save(folder)
    assert rules.read_bytes().count(b"# sure") == 2
    other = cr.reweigh(f"{RULES}\nY <- D", log)
    other.save(folder)
    assert cr.load(folder) == other
    assert rules.read_bytes().count(b"# sure") == 2


def test_comments_stay_when_a_model_is_saved_over_them(folder: Path, fitted: cr.RuleModel, log: cr.EventLog) -> None:
    edit(folder, lambda text: text.replace('rule = "Y <- A', '# seen by Dr. X\nrule = "Y <- A'))
    edit(folder, lambda text: text.replace("\n[[rules]]", "\n# above\n[[rules]]"))
    edit(folder, lambda text: re.sub(r"(weight = .*)", r"\1  # why", text))
    edit(folder, lambda text: text.replace("[head]", "# the head\n[head]"))
    more = cr.reweigh(f"{RULES}\nY <- D", log, kernel=cr.window(7), span=5.0)
    more.save(folder)
    text = (folder / "rules.toml").read_text(encoding="utf-8")
    assert cr.load(folder) == more
    for words, times in (("# seen by Dr. X\n", 1), ("# above\n", 2), ("  # why", 2), ("# the head\n", 1)):
        assert text.count(words) == times
    fewer = cr.reweigh("Y <-| C", log)
    fewer.save(folder)
    text = (folder / "rules.toml").read_text(encoding="utf-8")
    assert cr.load(folder) == fewer
    assert text.count("# why") == 1
    assert "span" not in text


# What stands in the folder is not lost


def test_hand_edits_that_a_new_model_contradicts_are_kept_beside(folder: Path, fitted: cr.RuleModel) -> None:
    for number, name in ((0.25, "rules.edited.toml"), (0.75, "rules.edited-2.toml")):
        edit(folder, lambda text, number=number: re.sub(r"weight = .*", f"weight = {number}", text, count=1))
        before = (folder / "rules.toml").read_text(encoding="utf-8")
        fitted.save(folder)
        assert (folder / name).read_text(encoding="utf-8") == before
        assert cr.load(folder) == fitted
    fitted.save(folder)
    assert len(os.listdir(folder)) == 4


def test_broken_rules_file_of_ours_is_kept_beside(folder: Path, fitted: cr.RuleModel) -> None:
    (folder / "rules.toml").write_text("format = 1\n[head\n", encoding="utf-8")
    fitted.save(folder)
    assert (folder / "rules.edited.toml").read_text(encoding="utf-8") == "format = 1\n[head\n"
    assert cr.load(folder) == fitted


def test_rules_file_in_another_encoding_is_kept_byte_for_byte(folder: Path, fitted: cr.RuleModel) -> None:
    written = (folder / "rules.toml").read_bytes() + "# Fièvre, je pense\r\n".encode("latin-1")
    (folder / "rules.toml").write_bytes(written)
    fitted.save(folder)
    assert (folder / "rules.edited.toml").read_bytes() == written
    assert cr.load(folder) == fitted


def test_strange_layout_is_rewritten_and_kept_beside(folder: Path, fitted: cr.RuleModel, log: cr.EventLog) -> None:
    edit(folder, lambda text: re.sub(r"\[head\](.|\n)*?\n\n", "", text) + '\n[head]\nname = "Y"\n')
    assert cr.load(folder) == fitted
    other = cr.reweigh("Y <- A", log)
    other.save(folder)
    assert cr.load(folder) == other
    assert (folder / "rules.edited.toml").exists()


def test_files_of_others_are_left_alone(tmp_path: Path, fitted: cr.RuleModel) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    fitted.save(tmp_path)
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"
    for name, text in (("rules.toml", "[tool]\nx = 1\n"), ("manifest.json", '{"name": "a web page"}')):
        other = tmp_path / name.replace(".", "-")
        other.mkdir()
        (other / name).write_text(text, encoding="utf-8")
        with pytest.raises(ModelError, match=f'{name}" is not of a chronorule model, and saving would overwrite it'):
            fitted.save(other)
        assert os.listdir(other) == [name]
        assert (other / name).read_text(encoding="utf-8") == text


def test_file_in_place_of_the_folder(tmp_path: Path, fitted: cr.RuleModel) -> None:
    (tmp_path / "model").write_text("x", encoding="utf-8")
    with pytest.raises(ModelError, match="is a file, but a model is saved as a folder"):
        fitted.save(tmp_path / "model")
    with pytest.raises(ModelError, match="cannot be saved in"):
        fitted.save(tmp_path / "model" / "inside")


@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_disk_that_fails_leaves_the_old_model(
    at: str, folder: Path, fitted: cr.RuleModel, log: cr.EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    other = cr.reweigh("Y <- A", log)
    monkeypatch.setattr(*((os, "fsync", full) if at == "fsync" else (Path, "replace", full)))
    with pytest.raises(ModelError, match=r"No space left on device.*what was there before is untouched"):
        other.save(folder)
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert cr.load(folder) == fitted


def test_disk_that_is_full_leaves_the_old_model(folder: Path, fitted: cr.RuleModel) -> None:
    """A limit on the size of files stands for a full disk, in a process of its own."""
    program = (
        "import resource, sys, chronorule as cr; from dataclasses import replace\n"
        "model = cr.load(sys.argv[1]); model = replace(model, notes=('much to say ' * 999,))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n    model.save(sys.argv[1])\nexcept cr.errors.ModelError as problem:\n    print(problem)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True)
    assert "what was there before is untouched" in done.stdout
    assert sorted(os.listdir(folder)) == ["manifest.json", "rules.toml"]
    assert cr.load(folder) == fitted


def test_save_broken_off_between_the_files_is_an_edit_and_no_lie(
    folder: Path, log: cr.EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest is put in place first; killed there, the old rules stand, and are told as differing from it."""
    rename = Path.replace

    def killed(self: Path, target: Path) -> Path:
        if target.name == "rules.toml":
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        cr.reweigh("Y <- A", log).save(folder)
    monkeypatch.undo()
    assert "'Y <- A' removed" in edited_note(cr.load(folder))
    assert sorted(os.listdir(folder)) == ["manifest.json", "rules.toml"]


def test_what_a_killed_save_left_goes_with_the_next(folder: Path, fitted: cr.RuleModel) -> None:
    ours = [f".{name}{'0a' * 16}.part" for name in ("manifest.json.", "rules.toml.", "rules.edited-2.toml.", "")]
    others = [".notes.part", f".notes.txt.{'0a' * 16}.part", f"rules.toml.{'0a' * 16}.part", "report.html"]
    for name in (*ours, *others):
        (folder / name).write_text("", "utf-8")
    (folder / f".manifest.json.{'0b' * 16}.part").mkdir()
    fitted.save(folder)
    left = {path.name for path in folder.iterdir() if path.is_file()} - {"manifest.json", "rules.toml"}
    assert left == set(others)
    assert cr.load(folder) == fitted


def test_name_that_no_file_can_hold(tmp_path: Path, fitted: cr.RuleModel) -> None:
    with pytest.raises(ModelError, match=r"holds '\\ud800', which is no character"):
        replace(fitted, notes=("\ud800",)).save(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["x" * 300, "nul\0"])
def test_name_that_no_folder_can_have(tmp_path: Path, fitted: cr.RuleModel, name: str) -> None:
    with pytest.raises(ModelError, match="cannot be saved in"):
        fitted.save(tmp_path / name)
    with pytest.raises(ModelError, match="There is no folder"):
        cr.load(tmp_path / name)


def test_options_that_are_no_plain_values(tmp_path: Path, fitted: cr.RuleModel) -> None:
    with pytest.raises(ModelError, match="cannot hold <object"):
        replace(fitted, options={"search": object()}).save(tmp_path)


# Defects


@pytest.mark.parametrize(
    ("pattern", "replacement", "sentence"),
    [
        (r"format = 1\n", "", "the line format = 1 is missing"),
        (r"format = 1\n", "format = 2\n", r"has format 2, but this chronorule reads up to format 1; update"),
        (r"format = 1\n", 'format = "one"\n', "format is 'one', but must be the number of a version"),
        (r"\[head\]", "[head", r'rules.toml" is no TOML \(.*line 9'),
        (r"\[head\]", "[heads]", r"has a field 'heads', which is not known \(did you mean 'head'\?\)"),
        (r"name = .*\n", "", r"\[head\] lacks the field 'name'"),
        (r'name = "Y"', "name = 3", r"\[head\].name is 3, but must be text"),
        (r'name = "Y"', 'name = ""', r"\[head\] cannot be used: .*names no predicate"),
        (r"terminal = false", 'terminal = "no"', r"terminal is 'no', but must be true or false"),
        (r"terminal = false", 'terminal = true\nreset_by = "A"', r"both terminal and reset"),
        (r'kind = "exists"', 'kind = "often"', r"'often' is neither 'exists' nor 'count'"),
        (r'kernel = "step"', 'kernel = "window"', r"kernel 'window' is none of"),
        (r'kernel = "step"', "kernel = 12", r"kernel is 12, but must be text"),
        (r'kernel = "step"', 'kernel = "step"\nspan = -1', r"span=-1.0 excludes every match"),
        (r"log_rate = .*", "log_rate = [nan]", r"log_rate must hold finite numbers"),
        (r"log_rate = .*", "log_rate = -2.5", r"log_rate is -2.5, but must be a list"),
        (r"log_rate = .*", "log_rate = [true]", r"log_rate\[1\] is True, but must be a number"),
        (r"cuts = \[\]", "cuts = [3, 2]", r"cuts must be finite times that rise"),
        (r'heterogeneity = "gamma"', 'heterogeneity = "beta"', r"'beta', but must be one of 'gamma', 'none', 'entity'"),
        (r"variance = .*", "variance = -0.1", r"variance is -0.1, but must be a finite number of at least 0"),
        (r"variance = .*", "variance = inf", r"variance is inf"),
        (r"variance = .*", "variance = 1e308", r"variance is 1e\+308, but must be at most 1e\+100"),
        (
            r"log_rate = .*",
            "log_rate = [800.0]",
            r"log_rate and the weights reach 80\d.* that no machine can reckon with",
        ),
        (r"weight = .*", 'weight = 299.9\n[[rules]]\nrule = "Y <- C < A"\nweight = 9', r"and the weights reach 30\d"),
        (r"weight = .*", "weight = 710", r"line 26 \(rule 1\) has the weight 710.0, but a weight is at most 300"),
        (
            r"weight = .*",
            f"weight = {'9' * 5000}",
            "is no TOML .a number has more digits than can be read.; correct it",
        ),
        (r"weight = .*", f"weight = {'9' * 400}", "is 9999.*, which is too large for a number; correct it"),
        (r'kernel = "step"', f'kernel = "step"\nspan = {"9" * 400}', "span is 9999.*, which is too large for a number"),
        (r"format = 1\n", f"format = {'9' * 400}\n", "has format 9999.*update"),
        (r"\n\[\[rules\]\]", "\n[rules]", "is no TOML"),
        (r"weight = .*", "weight = -0.5", r"line 26 \(rule 1\) has the weight -0.5, but a weight is at least 0"),
        (r"weight = .*", "weight = nan", r"line 26 \(rule 1\) has the weight nan"),
        (r"weight = .*", "weight = inf", r"line 26 \(rule 1\) has the weight inf"),
        (r"weight = .*", 'weight = "much"', r"\(rule 1\).weight is 'much', but must be a number"),
        (r"weight = .*", "wieght = 1.0", r"'wieght', which is not known \(did you mean 'weight'\?\)"),
        (r"weight = .*\n", "", r"\(rule 1\) lacks the field 'weight'"),
        (r"Y <-\| C", "Y <- B > A", r"line 30 \(rule 2\) is the rule Y <- A < B again"),
        (r"Y <-\| C", "X <- C", r"line 30 \(rule 2\) explains 'X', but the head is 'Y'"),
        (r'rule = "Y <- A < B"', "rule = 5", r"\(rule 1\).rule is 5, but must be the text of a rule"),
        (r'rule = "Y <- A < B"', 'rule = "Y <- A < B < A"', r"line 26 \(rule 1\).*contradict"),
    ],
)
def test_defect_of_the_rules_file(folder: Path, pattern: str, replacement: str, sentence: str) -> None:
    edit(folder, lambda text: re.sub(pattern, replacement.replace("\\", r"\\"), text, count=1))
    with pytest.raises((ModelError, RuleError), match=sentence) as caught:
        cr.load(folder)
    sentence = caught.value.message if isinstance(caught.value, RuleSyntaxError) else str(caught.value)
    assert "rules.toml" in sentence
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))


def test_rule_that_does_not_parse_is_pointed_at(folder: Path) -> None:
    edit(folder, lambda text: text.replace("Y <-| C", "Y <-| C <"))
    with pytest.raises(RuleSyntaxError, match=r"line 30 \(rule 2\): A predicate is missing here") as caught:
        cr.load(folder)
    first, text, pointer = str(caught.value).splitlines()
    assert first.endswith("(column 10)")
    assert text[pointer.index("^") - 1] == "<"


def change(document: Any, path: str, value: Any) -> Any:
    """Set what a dotted path names; a value of `change` itself takes it away."""
    *before, last = path.split(".")
    place = document
    for step in before:
        place = place[int(step)] if step.isdigit() else place[step]
    if value is change:
        del place[last]
    else:
        place[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("format", change, "the line format = 2 is missing"),
        (
            "format",
            1,
            r"has format 1, in which an older chronorule noted less .* than format 2 does; learn the model again",
        ),
        ("format", 7, "has format 7"),
        ("format", True, "format is True"),
        ("penalty", change, "the model lacks the field 'penalty'"),
        ("colour", "red", "a field 'colour', which is not known"),
        ("rules.0.evidence.gain", "much", r"rules\[1\].evidence.gain is 'much', but must be a number"),
        ("rules.0.evidence.gains", 1.0, r"'gains', which is not known \(did you mean 'gain'\?\)"),
        ("rules.0.heads", 1.5, r"heads is 1.5, but must be a whole number"),
        ("rules.0.heads", True, r"heads is True, but must be a whole number"),
        ("rules.0.weight", 10**400, "too large"),
        ("training.vocabulary", "A", "vocabulary is 'A', but must be a list"),
        ("training", [], "training is \\[\\], but must be a table"),
        ("certificate.objective", "luck", "must be one of 'gain', 'gradient', 'worth'"),
        ("grammar.max_length", 0, "grammar cannot be used: max_length is a number of predicates"),
        ("grammar.forbidden_pairs", [["A"]], r"forbidden_pairs\[1\] has 1 items, but must have 2"),
        ("rounds.0.certificate", None, r"rounds\[1\].certificate is None, but must be a table"),
        ("options", [], r"options is \[\], but must be a table"),
        ("rules.0.rule", 5, r"rules\[1\].rule is 5, but must be the text of a rule"),
        ("rules.0.rule", "Y <- ", r"rules\[1\].rule: A predicate is missing"),
    ],
)
def test_defect_of_the_manifest(folder: Path, learned: cr.RuleModel, path: str, value: Any, sentence: str) -> None:
    learned.save(folder)
    edit(folder, lambda text: json.dumps(change(json.loads(text), path, value)), "manifest.json")
    with pytest.raises(ChronoruleError, match=sentence) as caught:
        cr.load(folder)
    assert "manifest.json" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ('{"format": NaN}', "NaN stands for a number, which JSON does not know"),
        ('{"format": 1e999}', "the number '1e999' is too large"),
        ('{"format": ' + "9" * 5000 + "}", "the number '9999.* is too large"),
        ("[]", "no object of names and values"),
        ("[" * 100_000, "is no JSON"),
        ('{"format": 2}', "lacks the field"),
    ],
)
def test_manifest_that_is_none(folder: Path, text: str, sentence: str) -> None:
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=sentence):
        cr.load(folder)


def test_what_is_no_saved_model(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r'There is no folder ".*nowhere"'):
        cr.load(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="loaded from a folder, not from NoneType; give the name of one"):
        cr.load(None)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="is one file of a model; name the folder"):
        cr.load(folder / "rules.toml")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ModelError, match="is a file, but a model is a folder"):
        cr.load(tmp_path / "file")
    for name in ("manifest.json", "rules.toml"):
        (folder / name).write_bytes(b"\xff\xfe")
        with pytest.raises(ModelError, match=f'{name}" is no UTF-8 text'):
            cr.load(folder)
        (folder / name).unlink()
        with pytest.raises(ModelError, match=f'There is no ".*{name}"'):
            cr.load(folder)
    (folder / "rules.toml").mkdir()
    with pytest.raises(ModelError, match="cannot be read"):
        cr.load(folder)


def test_reader_and_writer_agree_on_all_that_a_model_is_made_of(learned: cr.RuleModel) -> None:
    reader = Reader(Path("x"), "advice")
    for value in (learned, learned.certificate, learned.rounds[0], learned.rules[0], learned.grammar, learned.head):
        assert to_plain(reader.read(type(value), json.loads(json.dumps(to_plain(value))), "x")) == to_plain(value)


def test_import_of_the_package_loads_no_toml_writer() -> None:
    program = "import sys, chronorule; chronorule.parse_rule; print('tomlkit' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_file_of_the_store_is_a_model_file() -> None:
    assert (store.RULES, store.MANIFEST, store.COPY) == ("rules.toml", "manifest.json", "rules.edited.toml")
