"""The demo's log: what is in it, and that the program beside it makes such a log from tables of that layout."""

from __future__ import annotations

import gzip
import importlib.util
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hatchling.builders.wheel import WheelBuilder

import chronorule as cr
from chronorule.data import FOLDER

ROOT = Path(__file__).resolve().parent.parent
HEAD = cr.Head("LowUrine", reset_by="NormalUrine")

CHARTED = (
    "ArterialPH",
    "CVP",
    "HeartRate",
    "MeanBP",
    "PaCO2",
    "PaO2",
    "RespRate",
    "SVR",
    "SpO2",
    "SysBP",
    "Temperature",
    "Urine",
)
LABORATORY = (
    "BUN",
    "Calcium",
    "Chloride",
    "Creatinine",
    "Glucose",
    "HCO3",
    "Hemoglobin",
    "Lactate",
    "Platelets",
    "Potassium",
    "Sodium",
    "WBC",
)
STATES = (*CHARTED, *LABORATORY)
ONLY_HIGH = {"BUN", "Creatinine", "Lactate"}
ONLY_LOW = {"Urine", "SpO2", "PaO2", "Hemoglobin"}
TREATMENTS = {"Diuretic", "FluidBolus", "Inotrope", "RedCells", "Vasopressor", "Ventilation"}
STATICS = {"Age65OrMore", "ChronicKidneyDisease", "Female", "HeartFailure", "SurgicalUnit"}


def program() -> Any:
    """tools/make_demo_data.py as a module."""
    found = importlib.util.spec_from_file_location("make_demo_data", ROOT / "tools" / "make_demo_data.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def hours(log: cr.EventLog, entity: str) -> list[tuple[float, str]]:
    """Time and predicate of every event of an entity."""
    k = log.entity(entity)
    events = slice(log.offsets[k], log.offsets[k + 1])
    return [(t, log.predicates[c]) for t, c in zip(log.times[events].tolist(), log.codes[events].tolist(), strict=True)]


# What is shipped


def test_counts_are_those_of_the_page() -> None:
    log = cr.demo_log()
    assert (log.n_entities, log.n_groups, log.n_events) == (130, 97, 7516)
    assert (log.unit, log.resolution) == ("hours", 1.0)
    exposure = cr.exposure(log, HEAD)
    assert (exposure.n_heads, exposure.total()) == (477, 9719.0)
    page = (ROOT / "docs" / "demo-data.md").read_text(encoding="utf-8")
    assert "130 stays of 97 patients, 7,516\nevents" in page
    missing = [name for name in (*STATES, *TREATMENTS, *STATICS) if f"`{name}`" not in page and name != "Urine"]
    assert missing == []


def test_vocabulary_is_states_treatments_and_statics() -> None:
    log = cr.demo_log()
    low = {f"Low{name}" for name in STATES if name not in ONLY_HIGH}
    high = {f"High{name}" for name in STATES if name not in ONLY_LOW}
    assert set(log.predicates) == low | high | {f"Normal{name}" for name in STATES} | TREATMENTS | STATICS
    assert {name for name, static in zip(log.predicates, log.statics, strict=True) if static} == STATICS


def test_states_take_turns() -> None:
    """Each event of a quantity is a change, the first of them away from normal."""
    log = cr.demo_log()
    for entity in log.entities:
        state = dict.fromkeys(STATES, "Normal")
        for _, predicate in hours(log, entity):
            for word in ("Low", "Normal", "High"):
                name = predicate.removeprefix(word)
                if name != predicate and name in state:
                    assert state[name] != word
                    state[name] = word


def test_periods_are_whole_hours_from_the_beginning_with_a_day_of_history() -> None:
    log = cr.demo_log()
    assert (log.start == 0).all()
    assert (log.stop == np.rint(log.stop)).all()
    assert (log.times == np.rint(log.times)).all()
    assert log.times.min() >= -24
    owner = np.repeat(np.arange(log.n_entities), np.diff(log.offsets))
    assert (log.times <= log.stop[owner]).all()


def test_names_are_running_numbers() -> None:
    log = cr.demo_log()
    assert all(name[0] == "S" and 1 <= int(name[1:]) <= 136 for name in log.entities)
    assert all(name[0] == "P" and 1 <= int(name[1:]) <= 100 for name in log.groups)


def test_wheel_holds_the_data_and_their_licence(tmp_path: Path) -> None:
    [wheel] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        notice = archive.read("chronorule/data/NOTICE.md").decode()
    shipped = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert shipped == {
        "NOTICE.md",
        "__init__.py",
        "icu_demo.parquet",
        "icu_demo.periods.parquet",
        "icu_demo.static.parquet",
    }
    assert {f"chronorule/data/{name}" for name in shipped} <= names
    assert sum((FOLDER / name).stat().st_size for name in shipped) < 100_000
    for words in ("Open Database License", "https://opendatacommons.org/licenses/odbl/1-0/", "10.13026/C2HM2Q"):
        assert words in notice


# How it is made


def write(folder: Path, table: str, header: str, rows: Sequence[str], packed: bool = False) -> None:
    """A table of made-up patients: as the full release writes them, or as the demo does."""
    text = "\n".join([header if packed else header.upper(), *rows]) + "\n"
    if packed:
        (folder / f"{table}.csv.gz").write_bytes(gzip.compress(text.encode()))
    else:
        (folder / f"{table.upper()}.csv").write_text(text, encoding="utf-8")


def day(hour: float, first: int = 1) -> str:
    """So many hours after midnight of the first of May."""
    minutes = round(hour * 60)
    return f"2130-05-{first + minutes // 1440:02d} {minutes // 60 % 24:02d}:{minutes % 60:02d}:00"


@pytest.fixture(params=[True, False], ids=["packed", "plain"])
def tables(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Three stays of two made-up patients; the third has no record of urine."""
    folder = tmp_path / "tables"
    folder.mkdir()

    def table(name: str, header: str, rows: Sequence[str]) -> None:
        write(folder, name, header, rows, request.param)

    table(
        "icustays",
        "subject_id,hadm_id,icustay_id,first_careunit,intime,outtime",
        [
            f"70,1,900,MICU,{day(30)},{day(60.5)}",
            f"50,2,901,CSRU,{day(24)},{day(48)}",
            f"70,3,902,MICU,{day(100)},{day(110)}",
        ],
    )
    table("patients", "subject_id,gender,dob", ["70,F,2065-05-03 00:00:00", "50,M,2065-05-02 00:00:00"])
    table("diagnoses_icd", "hadm_id,icd9_code", ["1,5853", "1,4280", "2,25000", "1,"])
    # Subject 50: low in hour 2, up for hour 3 alone, up for 5 and 6, in 7 low without the rinse, then a gap too long.
    urine = [(1, 40055, 80), (2, 40055, 20), (3, 40055, 40), (4, 226559, 25), (5, 40055, 50), (6, 40055, 50)]
    urine += [(7, 227489, 100), (7, 227488, 90), (16, 40055, 10), (17, 40055, 9000), (18, 99, 1)]
    urine_rows = [f"50,{day(24 + h)},{item},{ml},," for h, item, ml in urine]
    urine_rows += [f"50,{day(42)},40055,1,ml,1", f"50,{day(42)},40055,,ml,", f"70,{day(31)},40055,300,ml,"]
    table("outputevents", "subject_id,charttime,itemid,value,valueuom,iserror", urine_rows)
    pressure = [(0.5, 85), (1.5, 120), (2.2, 85), (2.8, 95), (3.5, 85), (4.5, 80), (5.5, 0), (6.5, 100), (7.5, 100)]
    chart = [f"50,{day(24 + h)},51,{value},{value},0" for h, value in pressure]
    chart += [f"50,{day(25)},678,102.2,102.2,", f"50,{day(26)},678,102.2,102.2,", f"50,{day(27)},223762,39,39,1"]
    chart += [f"50,{day(24 + h)},720,CMV,," for h in (2, 6, 14.5)] + [f"50,{day(30)},223849,Standby,,"]
    table("chartevents", "subject_id,charttime,itemid,value,valuenum,error", chart)
    laboratory = [f"50,50912,{day(20)},2", "50,50912,2130-04-30 10:00:00,9", f"50,50912,{day(30.2)},1"]
    laboratory += [f"50,50971,{day(30)},3", f"50,50971,{day(29.5)},4", f"50,50971,{day(33)},3", f"50,50971,{day(31)},"]
    laboratory += [f"50,1,{day(31)},1"]
    table("labevents", "subject_id,itemid,charttime,valuenum", laboratory)
    cv = [f"50,{day(25.5)},30018,200,", f"50,{day(25.8)},30018,60,", f"50,{day(27)},30018,300,"]
    cv += [f"50,{day(35)},30018,300,", f"50,{day(27)},30047,,0.1", f"50,{day(28)},30047,,0", f"50,{day(28)},1,1,1"]
    table("inputevents_cv", "subject_id,charttime,itemid,amount,rate", cv)
    mv = [
        f"70,{day(31)},{day(35)},225158,1000,FinishedRunning",
        f"70,{day(31)},{day(32)},225828,500,Rewritten",
        f"70,{day(31.5)},{day(31.5)},221794,20,FinishedRunning",
    ]
    table("inputevents_mv", "subject_id,starttime,endtime,itemid,amount,statusdescription", mv)
    return folder


def test_log_is_made_from_tables(tables: Path) -> None:
    log, dropped = program().make_log(tables)
    assert log.entities == ("S001", "S002")
    assert log.groups == ("P001", "P002")
    assert log.stop.tolist() == [16.0, 1.0]
    assert (log.unit, log.resolution) == ("hours", 1.0)
    assert hours(log, "S001") == [
        (-4.0, "HighCreatinine"),
        (2.0, "FluidBolus"),
        (2.0, "HighTemperature"),
        (2.0, "LowUrine"),
        (2.0, "Ventilation"),
        (3.0, "Vasopressor"),
        (5.0, "LowSysBP"),
        (6.0, "NormalUrine"),
        (7.0, "LowUrine"),
        (7.0, "NormalCreatinine"),
        (8.0, "NormalSysBP"),
        (9.0, "LowPotassium"),
        (11.0, "FluidBolus"),
    ]
    assert hours(log, "S002") == []
    statics = [
        {log.predicates[code] for code in log.static_codes[begin:end]}
        for begin, end in zip(log.static_offsets[:-1], log.static_offsets[1:], strict=True)
    ]
    assert statics == [{"Age65OrMore", "SurgicalUnit"}, {"Female", "HeartFailure", "ChronicKidneyDisease"}]
    assert dropped == {
        "without a number or a time": 2,
        "marked as an error": 2,
        "not possible": 2,
        "of a treatment, nothing given": 1,
        "rewritten by a later row": 1,
    }


def test_files_are_the_same_each_time(tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make = program()
    for name in ("one", "two"):
        assert make.main([str(tables), "--out", str(tmp_path / name)]) == 0
    told = capsys.readouterr().out
    assert "2 entities in 2 groups" in told
    assert "rows dropped, not possible: 2" in told
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["icu_demo.parquet", "icu_demo.periods.parquet", "icu_demo.static.parquet"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert cr.read_events(tmp_path / "one" / "icu_demo.parquet").equals(make.make_log(tables)[0])


def test_tables_that_cannot_be_used_are_answered_in_one_sentence(
    tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make = program()
    assert make.main([str(tmp_path / "nowhere"), "--out", str(tmp_path / "out")]) == 1
    assert "has no table icustays.csv.gz; download" in capsys.readouterr().err
    for path in tables.iterdir():
        if path.name.lower().startswith("patients"):
            path.unlink()
    write(tables, "patients", "subject_id,dob", ["70,2065-05-03 00:00:00"])
    assert make.main([str(tables), "--out", str(tmp_path / "out")]) == 1
    assert "PATIENTS.csv has no column 'gender'" in capsys.readouterr().err
    write(tables, "outputevents", "subject_id,charttime,itemid,value,iserror", [], packed=True)
    for path in tables.glob("OUTPUTEVENTS.csv"):
        path.unlink()
    assert make.main([str(tables), "--out", str(tmp_path / "out")]) == 1
    assert "record no urine during a stay" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
