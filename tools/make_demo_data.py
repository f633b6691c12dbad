"""Make the demo data: a small log of intensive care from the open MIMIC-III clinical database demo.

python tools/make_demo_data.py FOLDER              writes the files of src/chronorule/data anew
python tools/make_demo_data.py FOLDER --out OUT    writes them to OUT

FOLDER holds the tables of the demo, https://physionet.org/content/mimiciii-demo/1.4/, as `.csv` or `.csv.gz`, with
names and headers in either case. Its licence is the Open Database License 1.0, and what is derived from it stands under
the same: NOTICE.md goes with the files. What is derived from the full MIMIC-III falls under that release's data use
agreement instead, and is not to be passed on. docs/demo-data.md explains the choices made here.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

import chronorule as cr

# What becomes an event ------------------------------------------------------------------------------------------------
# Item codes are those of D_ITEMS and D_LABITEMS: below 50,000 CareVue, above 220,000 MetaVision, between laboratory.
# Most follow the concepts of the MIMIC Code Repository (https://github.com/MIT-LCP/mimic-code); all were held against
# the labels of the demo.

HISTORY = 24  # hours before the stay whose events are kept: what was known of the patient on arrival

CHART, LAB = "chartevents", "labevents"


class Quantity(NamedTuple):
    """A number that is charted. Its states are Low, Normal and High; an hour's value is the median of its values."""

    name: str
    table: str
    low: float | None  # below: Low; None: no such state
    high: float | None  # above: High; None: no such state
    possible: tuple[float, float]  # values outside are errors of charting, and dropped
    held: int  # charted hours in a row that make a change of state: of a vital sign one odd reading makes none
    items: tuple[int, ...]
    held_normal: int | None = None  # the same for the way back to normal, if it is another number


QUANTITIES = (
    Quantity("SysBP", CHART, 90, 160, (20, 300), 2, (51, 442, 455, 6701, 220050, 220179, 225309)),  # mmHg
    Quantity("MeanBP", CHART, 65, 109, (10, 250), 2, (52, 443, 456, 6702, 220052, 220181, 225312)),  # mmHg
    Quantity("HeartRate", CHART, 60, 100, (10, 250), 2, (211, 220045)),  # 1/min
    Quantity("RespRate", CHART, 12, 24, (1, 70), 2, (615, 618, 220210)),  # 1/min
    Quantity("Temperature", CHART, 36, 38, (25, 45), 2, (676, 678, 223761, 223762)),  # °C
    Quantity("SpO2", CHART, 90, None, (20, 100), 2, (646, 220277)),  # %
    Quantity("CVP", CHART, 4, 12, (-5, 50), 2, (113, 1103, 220074)),  # mmHg
    Quantity("SVR", CHART, 800, 1200, (100, 5000), 1, (626,)),  # dyn·s/cm⁵
    Quantity("ArterialPH", CHART, 7.35, 7.45, (6.5, 8), 1, (780, 1126, 223830)),
    Quantity("PaO2", CHART, 60, None, (15, 700), 1, (779, 220224)),  # mmHg
    Quantity("PaCO2", CHART, 35, 45, (5, 200), 1, (778, 220235)),  # mmHg
    Quantity("BUN", LAB, None, 20, (1, 300), 1, (51006,)),  # mg/dl
    Quantity("Creatinine", LAB, None, 1.2, (0.05, 50), 1, (50912,)),  # mg/dl
    Quantity("Lactate", LAB, None, 2, (0.1, 40), 1, (50813,)),  # mmol/l
    Quantity("Potassium", LAB, 3.5, 5, (1, 12), 1, (50822, 50971)),  # mmol/l
    Quantity("Sodium", LAB, 135, 145, (90, 200), 1, (50824, 50983)),  # mmol/l
    Quantity("Chloride", LAB, 98, 107, (50, 160), 1, (50806, 50902)),  # mmol/l
    Quantity("HCO3", LAB, 22, 28, (1, 70), 1, (50882,)),  # mmol/l
    Quantity("Calcium", LAB, 8.5, 10.5, (2, 20), 1, (50893,)),  # mg/dl
    Quantity("Glucose", LAB, 70, 180, (5, 2000), 1, (50809, 50931)),  # mg/dl
    Quantity("Hemoglobin", LAB, 8, None, (1, 25), 1, (51222,)),  # g/dl
    Quantity("WBC", LAB, 4, 12, (0.05, 500), 1, (51301,)),  # 10⁹/l
    Quantity("Platelets", LAB, 100, 450, (1, 2000), 1, (51265,)),  # 10⁹/l
)
FAHRENHEIT = {678, 223761}

# ml in an hour. Low at once, but recovered only when two hours were: else each wavering around 30 would be an episode.
URINE = Quantity("Urine", "outputevents", 30, None, (0, 5000), 1, (), held_normal=2)
URINE_GAP = 8  # hours since the record before; after more, a volume tells no rate
URINE_ITEMS = {
    **dict.fromkeys((40055, 40056, 40057, 40069, 40085, 40094, 40096, 40405, 40428, 40473, 40651, 40715, 43175), 1),
    **dict.fromkeys((41184, 44676), 1),  # nephrostomies charted as drains
    **dict.fromkeys((226557, 226558, 226559, 226560, 226561, 226563, 226564, 226565, 226567, 226584, 227489), 1),
    227488: -1,  # what was put into the bladder to rinse it, and came out again as 227489
}


class Treatment(NamedTuple):
    """A treatment starts in an hour with at least `least` of it, after `pause` hours with less."""

    name: str
    least: float  # ml in an hour; 0: any amount or rate above nothing
    items: tuple[int, ...]
    pause: int = 6  # hours


TREATMENTS = (
    Treatment("Vasopressor", 0, (30047, 30120, 221906)),  # norepinephrine
    Treatment("Vasopressor", 0, (30127, 30128, 221749)),  # phenylephrine
    Treatment("Vasopressor", 0, (30043, 30307, 221662)),  # dopamine
    Treatment("Vasopressor", 0, (30051, 222315)),  # vasopressin
    Treatment("Vasopressor", 0, (30044, 30119, 30309, 221289)),  # epinephrine
    Treatment("Inotrope", 0, (30042, 30306, 221653)),  # dobutamine
    Treatment("Inotrope", 0, (30125, 221986)),  # milrinone
    Treatment("Diuretic", 0, (30123, 221794, 228340)),  # furosemide
    Treatment("FluidBolus", 250, (30018, 30021, 30101, 30190, 225158, 225828, 226364, 226375)),  # saline, Ringer's
    Treatment("FluidBolus", 250, (30008, 30009, 220862, 220864)),  # albumin
    Treatment("FluidBolus", 250, (30011, 30012, 30102, 225174, 225795, 226365, 226376)),  # dextran, starch, others
    Treatment("RedCells", 0, (30001, 30104, 225168, 226368)),
)

# Invasive ventilation is known by the mode of the ventilator, charted every four hours or so.
VENTILATION = Treatment("Ventilation", 0, (720, 223849), pause=12)
NOT_VENTILATED = {"", "Standby", "Other/Remarks"}

SURGICAL = {"CSRU", "SICU", "TSICU"}  # FIRST_CAREUNIT; the others are medical and coronary units
CHRONIC = {"ChronicKidneyDisease": ("585",), "HeartFailure": ("428",)}  # ICD-9 codes begin so
OLD = 65  # years

# Reading the tables ---------------------------------------------------------------------------------------------------


class DemoDataError(Exception):
    """The tables cannot be used; the message is one sentence for the person who runs this."""


def rows(folder: Path, table: str, columns: Sequence[str]) -> Iterator[list[str]]:
    """The named columns of a table, row by row, whatever the case of file name and header."""
    wanted = {f"{table}.csv", f"{table}.csv.gz"}
    found = sorted(path for path in folder.iterdir() if path.name.lower() in wanted) if folder.is_dir() else []
    if not found:
        raise DemoDataError(
            f"{folder} has no table {table}.csv.gz; download the MIMIC-III clinical database demo v1.4 from "
            "https://physionet.org/content/mimiciii-demo/1.4/ and name the folder of its tables."
        )
    opener = gzip.open if found[0].suffix.lower() == ".gz" else open
    with opener(found[0], "rt", encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        header = [name.strip().lower() for name in next(reader, [])]
        missing = [name for name in columns if name not in header]
        if missing:
            raise DemoDataError(
                f"{found[0].name} has no column {missing[0]!r}; this program reads the tables of MIMIC-III v1.4 as "
                "they were released."
            )
        places = [header.index(name) for name in columns]
        for row in reader:
            yield [row[place] for place in places]


def number(text: str) -> float | None:
    """A finite number, or None where there is none."""
    with suppress(ValueError):
        value = float(text)
        if math.isfinite(value):
            return value
    return None


# Stays ----------------------------------------------------------------------------------------------------------------


class Stay(NamedTuple):
    """One stay in an ICU. Hours count from its beginning; only whole hours are observed."""

    name: str
    patient: str
    subject: str  # SUBJECT_ID, which goes no further than this program, as does HADM_ID
    admission: str
    unit: str
    begin: datetime
    hours: int

    def hour(self, moment: datetime) -> float:
        """Hours from the beginning of the stay."""
        return (moment - self.begin) / timedelta(hours=1)


class Stays:
    """All stays, and which of them a moment of a patient belongs to.

    By patient and time, not by ICUSTAY_ID, which laboratory values lack. The day before a stay belongs to it as
    history, so one row can belong to two stays. Names are ranks: the identifiers of the tables go no further.
    """

    def __init__(self, folder: Path) -> None:
        columns = ("subject_id", "intime", "outtime", "hadm_id", "first_careunit")
        known = sorted((int(row[0]), *row[1:]) for row in rows(folder, "icustays", columns) if row[1] and row[2])
        patients = {subject: f"P{rank:03d}" for rank, subject in enumerate(dict.fromkeys(k[0] for k in known), 1)}
        self.all: list[Stay] = []
        self.of_patient: dict[str, list[Stay]] = defaultdict(list)
        for subject, intime, outtime, admission, unit in known:
            begin, end = datetime.fromisoformat(intime), datetime.fromisoformat(outtime)
            hours = int((end - begin) / timedelta(hours=1))
            if hours < 1:
                continue
            stay = Stay(f"S{len(self.all) + 1:03d}", patients[subject], str(subject), admission, unit, begin, hours)
            self.all.append(stay)
            self.of_patient[str(subject)].append(stay)
        if not self.all:
            raise DemoDataError("The table icustays has no stay of an hour or more, so no log can be made of it.")

    def at(self, subject: str, begin: datetime, end: datetime) -> Iterator[tuple[Stay, float, float]]:
        """Stays that an interval touches, with its ends in hours of the stay, cut to history and whole hours."""
        for stay in self.of_patient.get(subject, ()):
            first, last = stay.hour(begin), stay.hour(end)
            if last > -HISTORY and first <= stay.hours:
                yield stay, max(first, -HISTORY), min(last, stay.hours)


def tick(hours: float) -> int:
    """The end of the hour in which something was charted: only then is the whole hour known."""
    return math.ceil(hours)


class Reading(NamedTuple):
    """A value at the end of the hours that it stands for."""

    hour: int
    value: float
    hours: int = 1


class Hourly:
    """What was charted of each name in each hour of each stay."""

    def __init__(self, stays: Stays) -> None:
        self.stays = stays
        self.values: dict[tuple[str, Stay], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, name: str, subject: str, moment: str, value: float) -> None:
        """A value of one moment."""
        when = datetime.fromisoformat(moment)
        for stay, hour, _ in self.stays.at(subject, when, when):
            self.values[name, stay][tick(hour)].append(value)

    def spread(self, name: str, subject: str, begin: str, end: str, amount: float) -> None:
        """An amount given evenly from one moment to another."""
        first, last = datetime.fromisoformat(begin), datetime.fromisoformat(end)
        length = (last - first) / timedelta(hours=1)
        if length <= 0:
            self.add(name, subject, begin, amount)
            return
        for stay, start, stop in self.stays.at(subject, first, last):
            for hour in range(math.floor(start) + 1, tick(stop) + 1):
                share = (min(stop, hour) - max(start, hour - 1)) / length
                self.values[name, stay][hour].append(amount * share)


# From rows to events --------------------------------------------------------------------------------------------------

Event = tuple[Stay, int, str]  # stay, hour, predicate


def state(quantity: Quantity, value: float) -> str:
    """The predicate of a value."""
    if quantity.low is not None and value < quantity.low:
        return f"Low{quantity.name}"
    if quantity.high is not None and value > quantity.high:
        return f"High{quantity.name}"
    return f"Normal{quantity.name}"


def changes(stay: Stay, quantity: Quantity, readings: Iterable[Reading]) -> Iterator[Event]:
    """An event at each change of state, in the hour in which it has held long enough.

    A quantity counts as normal until it is charted otherwise: NormalX always tells of a return.
    """
    normal = f"Normal{quantity.name}"
    held_normal = quantity.held if quantity.held_normal is None else quantity.held_normal
    settled = latest = normal
    in_a_row = 0
    for hour, value, hours in sorted(readings):
        now = state(quantity, value)
        in_a_row = in_a_row + hours if now == latest else hours
        latest = now
        if now != settled and in_a_row >= (held_normal if now == normal else quantity.held):
            yield stay, hour, now
            settled = now


def quantity_events(folder: Path, table: str, stays: Stays, dropped: Counter[str]) -> Iterator[Event]:
    """Low, Normal and High of every quantity of a table."""
    chosen = {quantity.name: quantity for quantity in QUANTITIES if quantity.table == table}
    of_item = {str(item): quantity for quantity in chosen.values() for item in quantity.items}
    fahrenheit = {str(item) for item in FAHRENHEIT}
    columns = ["subject_id", "charttime", "itemid", "valuenum", "error" if table == CHART else "valuenum"]
    hourly = Hourly(stays)
    for subject, moment, item, text, error in rows(folder, table, columns):
        quantity = of_item.get(item)
        if quantity is None:
            continue
        value = number(text)
        if value is None or not moment:
            dropped["without a number or a time"] += 1
            continue
        if table == CHART and error == "1":
            dropped["marked as an error"] += 1
            continue
        if item in fahrenheit:
            value = (value - 32) / 1.8
        if not quantity.possible[0] <= value <= quantity.possible[1]:
            dropped["not possible"] += 1
            continue
        hourly.add(quantity.name, subject, moment, value)
    for (name, stay), values in hourly.values.items():
        medians = (Reading(hour, statistics.median(parts)) for hour, parts in values.items())
        yield from changes(stay, chosen[name], medians)


def urine_volumes(folder: Path, stays: Stays, dropped: Counter[str]) -> dict[Stay, dict[int, float]]:
    """ml of each hour of a stay in which urine was recorded."""
    factors = {str(item): factor for item, factor in URINE_ITEMS.items()}
    hourly = Hourly(stays)
    columns = ("subject_id", "charttime", "itemid", "value", "iserror")
    for subject, moment, item, text, error in rows(folder, URINE.table, columns):
        if item not in factors:
            continue
        value = number(text)
        if value is None or not moment:
            dropped["without a number or a time"] += 1
        elif error == "1":
            dropped["marked as an error"] += 1
        elif not URINE.possible[0] <= value <= URINE.possible[1]:
            dropped["not possible"] += 1
        else:
            hourly.add(URINE.name, subject, moment, factors[item] * value)
    volumes = {
        stay: {hour: sum(parts) for hour, parts in sorted(values.items()) if hour > 0}
        for (_, stay), values in hourly.values.items()
    }
    return {stay: of_stay for stay, of_stay in volumes.items() if of_stay}


def urine_rates(volumes: Mapping[int, float]) -> Iterator[Reading]:
    """ml per hour since the record before, or since the stay began."""
    before = 0
    for hour, volume in sorted(volumes.items()):
        if hour - before <= URINE_GAP and volume >= 0:
            yield Reading(hour, volume / (hour - before), hour - before)
        before = hour


def treatment_events(folder: Path, stays: Stays, dropped: Counter[str]) -> Iterator[Event]:
    """Starts of drugs and fluids, of both charting systems."""
    chosen = {treatment.name: treatment for treatment in TREATMENTS}
    of_item = {str(item): treatment for treatment in TREATMENTS for item in treatment.items}
    hourly = Hourly(stays)
    carevue = ("subject_id", "charttime", "itemid", "amount", "rate")
    for subject, moment, item, amount, rate in rows(folder, "inputevents_cv", carevue):
        treatment = of_item.get(item)
        if treatment is None:
            continue
        # A fluid is its volume; a drug is running when either is charted above nothing.
        much = number(amount) or (0.0 if treatment.least else number(rate) or 0.0)
        if much > 0 and moment:
            hourly.add(treatment.name, subject, moment, much)
        else:
            dropped["of a treatment, nothing given"] += 1
    metavision = ("subject_id", "starttime", "endtime", "itemid", "amount", "statusdescription")
    for subject, begin, end, item, amount, status in rows(folder, "inputevents_mv", metavision):
        treatment = of_item.get(item)
        if treatment is None:
            continue
        much = number(amount) or 0.0
        if status == "Rewritten":
            dropped["rewritten by a later row"] += 1
        elif much > 0 and begin and end:
            hourly.spread(treatment.name, subject, begin, end, much)
        else:
            dropped["of a treatment, nothing given"] += 1
    for (name, stay), values in hourly.values.items():
        yield from starts(stay, chosen[name], {hour: sum(parts) for hour, parts in values.items()})


def ventilation_events(folder: Path, stays: Stays) -> Iterator[Event]:
    """Starts of invasive ventilation."""
    wanted = {str(item) for item in VENTILATION.items}
    hourly = Hourly(stays)
    for subject, moment, item, mode in rows(folder, CHART, ("subject_id", "charttime", "itemid", "value")):
        if item in wanted and moment and mode not in NOT_VENTILATED:
            hourly.add(VENTILATION.name, subject, moment, 1.0)
    for (_, stay), values in hourly.values.items():
        yield from starts(stay, VENTILATION, dict.fromkeys(values, 1.0))


def starts(stay: Stay, treatment: Treatment, amounts: Mapping[int, float]) -> Iterator[Event]:
    """An event when it is given after hours without."""
    last = -math.inf
    for hour in sorted(hour for hour, amount in amounts.items() if amount > 0 and amount >= treatment.least):
        if hour - last > treatment.pause:
            yield stay, hour, treatment.name
        last = hour


def statics(folder: Path, stays: Iterable[Stay]) -> dict[str, list[str]]:
    """Properties without a time: age on arrival, sex, kind of unit, chronic diseases coded for the admission."""
    people = {row[0]: row[1:] for row in rows(folder, "patients", ("subject_id", "dob", "gender"))}
    diseases: dict[str, set[str]] = defaultdict(set)
    for admission, code in rows(folder, "diagnoses_icd", ("hadm_id", "icd9_code")):
        diseases[admission].update(name for name, begins in CHRONIC.items() if code.startswith(begins))
    found = {}
    for stay in stays:
        born, sex = people[stay.subject]
        holds = {
            f"Age{OLD}OrMore": stay.begin >= birthday(born, OLD),
            "Female": sex == "F",
            "SurgicalUnit": stay.unit in SURGICAL,
            **{name: name in diseases[stay.admission] for name in CHRONIC},
        }
        found[stay.name] = [name for name, held in holds.items() if held]
    return found


def birthday(born: str, years: int) -> datetime:
    """The day on which so many years are over."""
    birth = datetime.fromisoformat(born)
    return datetime(birth.year + years, birth.month, birth.day if (birth.month, birth.day) != (2, 29) else 28)


# The log --------------------------------------------------------------------------------------------------------------


def make_log(folder: Path) -> tuple[cr.EventLog, Counter[str]]:
    """The log of all stays in which urine was recorded, and how many rows were dropped and why.

    A stay is observed from its beginning to the last record of urine: after that, low urine could not be seen.
    """
    dropped: Counter[str] = Counter()
    stays = Stays(folder)
    volumes = urine_volumes(folder, stays, dropped)
    observed = {stay: max(volumes[stay]) for stay in stays.all if stay in volumes}
    events = [
        *(event for stay in observed for event in changes(stay, URINE, urine_rates(volumes[stay]))),
        *quantity_events(folder, CHART, stays, dropped),
        *quantity_events(folder, LAB, stays, dropped),
        *treatment_events(folder, stays, dropped),
        *ventilation_events(folder, stays),
    ]
    events = [event for event in events if event[0] in observed and -HISTORY <= event[1] <= observed[event[0]]]
    if not events:
        raise DemoDataError(f"The tables in {folder} record no urine during a stay, so the log is empty.")
    log = cr.EventLog.from_columns(
        entity=[stay.name for stay, _, _ in events],
        time=np.array([hour for _, hour, _ in events], dtype=float),
        event=[predicate for _, _, predicate in events],
        periods={stay.name: (0.0, float(hours)) for stay, hours in observed.items()},
        group={stay.name: stay.patient for stay in observed},
        static=statics(folder, observed),
        unit="hours",
        resolution=1.0,
    )
    return log, dropped


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the demo data and say what is in them; 1 and one sentence when the tables cannot be used."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the tables of the MIMIC-III demo")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "src/chronorule/data")
    chosen = parser.parse_args(arguments)
    try:
        log, dropped = make_log(chosen.folder)
    except DemoDataError as error:
        print(error, file=sys.stderr)
        return 1
    chosen.out.mkdir(parents=True, exist_ok=True)
    for file in cr.write_events(log, chosen.out / "icu_demo.parquet"):
        print(f"{file.name}: {file.stat().st_size:,} bytes")
    print(log.describe(cr.Head("LowUrine", reset_by="NormalUrine")))
    for reason, count in sorted(dropped.items()):
        print(f"rows dropped, {reason}: {count:,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
