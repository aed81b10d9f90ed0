"""Tables of records: ``plan``, ``simulate``, ``release``, ``answer`` and the ledger."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence, overload

import numpy as np

from . import _matmech
from ._marginals import frames, measurements_of
from ._mechanism import Mechanism, chosen
from ._queries import PublishedRelease, QueryAnswers
from ._report import Progress, Report, finished
from ._solve import text
from ._strategies import StrategyComparison, compare_strategies
from ._columns import bad_input, records as columns_of
from ._tables import Table, document, queries, read_table

#: A path, or the attributes (queries) as a list of mappings with the keys of the TOML file.
Document = Any


class Plan(Report):
    """Measurements with their expected errors: root mean squares at the plan's privacy cost."""

    planner: str
    rmse: float
    #: Certified, over all strategies for the measured subspaces; None if unknown.
    lower_bound_rmse: float | None
    #: Certified, over all matrix mechanisms; None if not asked for.
    global_lower_bound_rmse: float | None
    privacy_cost: float
    seconds: float
    #: The budget for ``target_rmse`` or ``target_interval``: ``rho``, ``epsilon`` at ``delta``, and
    #: the group with the largest error; absent without a target.
    found_budget: dict[str, Any]

    def groups(self) -> Table:
        """Returns the query groups: attributes, family, queries, weight and RMSE of each."""
        return _columns(self.report["groups"])


class Comparison(Report):
    """Expected errors of combinations of budgets, records per person and planners."""

    queries: int
    #: Planner, budget, records per person, RMSE, and the group with the largest RMSE.
    combinations: list[dict[str, Any]]


class DataCheck(Report):
    """How a release would handle the records of a table. **Not private**: all counts are exact."""

    records: int
    kept: int
    #: Records with a value outside the schema.
    dropped: int
    #: Records that exceed the limit of their person.
    over_limit: int
    #: Records without an identifier of a person.
    without_person: int
    #: Kept records that meet every `[[impossible]]` condition of the schema, in its order.
    impossible: list[int]
    #: The first invalid values: line or record, attribute, expected and found.
    offences: list[dict[str, Any]]

    def by_attribute(self) -> Table:
        """Returns the missing values, and those outside, clamped and counted as others, of every
        attribute."""
        return _columns(self.report["attributes"])


class Simulation(Report):
    """True errors of a mechanism, per record. **Not private.**"""

    mechanism: str
    mean_l1: float
    max_l1: float
    mean_l2: float
    rho: float
    #: Synthetic records of the last run, with the values of the schema; None unless asked for.
    records: Table | None

    def by_marginal(self) -> Table:
        """Returns attributes, family, cells and L1 error of every group, largest error first."""
        return _columns(self.report["by_marginal"])


class Answers(Report):
    """Answers from the measurements of a release."""

    #: Estimates of all queries with standard errors and intervals, or error bounds if staged.
    answers: Table
    #: The folder of the measurements, for `answer`.
    measurements: Path
    #: Nonnegative answers, if asked for: biased, without standard errors.
    adjusted: Table | None
    #: Synthetic records, if asked for.
    records: Table | None

    def __init__(self, text: str, folder: Path, table: str, measurements: Path) -> None:
        super().__init__(text)
        self.measurements = measurements
        self.answers = read_table(folder / table)
        self.adjusted = self._optional(folder / "adjusted.csv")
        self.records = self._optional(folder / "records.csv", measurements / "schema.toml")

    def _optional(self, path: Path, schema: Path | None = None) -> Table | None:
        return read_table(path, schema) if path.exists() else None

    def query(self, text: str) -> QueryAnswers:
        """Answers a query in words, as :meth:`PublishedRelease.query`."""
        return PublishedRelease(self.measurements).query(text)

    def marginals(self, count: str = "count") -> list[Table]:
        """Returns the marginals: a column of cell numbers per attribute, and the estimates.

        ``count`` is the name of the column of the estimates. Queries of other families are named in
        a warning. Frames of this form are what dpsynth's
        ``generate_synthetic_data_from_marginals`` reads.
        """
        return frames(self.answers, count)

    def linear_measurements(self) -> list[tuple[tuple[str, ...], np.ndarray, float]]:
        """Returns (clique, noisy counts, standard deviation), for ``mbi.LinearMeasurement``.

        The counts are in row-major order of the clique. Errors of different cells are correlated,
        which these triples do not say; the deviation is the root mean square of the exact ones.
        """
        return measurements_of(self.answers)


class Release(Answers):
    """A private release; or only its plan, for a dry run, which has no answers."""

    rho: float
    epsilon: float
    delta: float
    #: Whom the release protects.
    unit: str
    #: The statement of what was released; None for a dry run.
    statement: dict[str, Any] | None

    def __init__(self, text: str, folder: Path | None) -> None:
        self.statement = None
        if folder is None:
            Report.__init__(self, text)
            return
        super().__init__(text, folder, "answers.csv", folder / "measurements")
        self.statement = json.loads((folder / "statement.json").read_text(encoding="utf-8"))


def plan(
    schema: Document,
    workload: Document = None,
    *,
    ways: Iterable[int] | None = None,
    planner: str = "query-smasher",
    measure: str | None = None,
    objective: str | None = None,
    global_bound: bool = False,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    mu: float | None = None,
    privacy_cost: float | None = None,
    target_rmse: float | None = None,
    target_interval: float | None = None,
    at_delta: float = 1e-9,
    unit_rows: int = 1,
    progress: Progress | None = None,
) -> Plan:
    """Plans measurements for a workload over many attributes, as ``matmech plan``.

    With ``target_rmse`` or ``target_interval`` instead of a budget, finds the smallest one for a
    person with at most ``unit_rows`` records: ``found_budget``, with ε at ``at_delta``.

    >>> schema = [{"name": n, "size": 10, "kind": "numeric"} for n in ("age", "height")]
    >>> planned = plan(schema, [{"family": "prefix", "ways": [1, 2]}], rho=0.5)
    >>> planned.rmse / planned.lower_bound_rmse < 1 + 1e-6
    True
    """
    budget = (epsilon, delta, rho, mu, privacy_cost)
    limits = [limit for limit in (target_rmse, target_interval) if limit is not None]
    if limits and (len(limits) > 1 or any(number is not None for number in budget)):
        raise TypeError("expected a budget, target_rmse or target_interval, not several")
    count = _count("unit_rows", unit_rows)
    if not limits and count != 1:
        raise TypeError("unit_rows is for target_rmse and target_interval; see also compare()")
    target = (limits[0], target_rmse is None, at_delta, count) if limits else None
    outcome = _matmech.plan(
        document(schema, "attribute"),
        queries(workload, ways),
        planner,
        [("measure", measure), ("objective", objective)],
        budget,
        target,
        global_bound,
        progress,
    )
    return finished(outcome, Plan)


@overload
def compare(
    schema: Any,
    *,
    strategies: Mapping[str, Any],
    objective: str | None = None,
    participation: str | None = None,
    shape: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> StrategyComparison: ...


@overload
def compare(
    schema: Document,
    workload: Document = None,
    *,
    ways: Iterable[int] | None = None,
    planner: str | Iterable[str] = "query-smasher",
    measure: str | None = None,
    objective: str | None = None,
    epsilon: float | Iterable[float] | None = None,
    delta: float | Iterable[float] | None = None,
    rho: float | Iterable[float] | None = None,
    mu: float | None = None,
    privacy_cost: float | None = None,
    unit_rows: int | Iterable[int] = 1,
    progress: Progress | None = None,
) -> Comparison: ...


def compare(
    schema: Any,
    workload: Document = None,
    *,
    strategies: Mapping[str, Any] | None = None,
    participation: str | None = None,
    shape: Sequence[int] | None = None,
    ways: Iterable[int] | None = None,
    planner: str | Iterable[str] = "query-smasher",
    measure: str | None = None,
    objective: str | None = None,
    epsilon: float | Iterable[float] | None = None,
    delta: float | Iterable[float] | None = None,
    rho: float | Iterable[float] | None = None,
    mu: float | None = None,
    privacy_cost: float | None = None,
    unit_rows: int | Iterable[int] = 1,
    progress: Progress | None = None,
) -> Comparison | StrategyComparison:
    """Compares the expected errors of all combinations, as ``matmech plan --compare``.

    ε without δ is at δ = 1e-9.

    With ``strategies``, the first argument is a workload as in `solve`, and the errors are those of
    strategies: names of `strategies()`, matrices (lists are Kronecker factors), or functions that
    return one for the workload as given. ``objective``, ``participation`` and ``shape`` are as in
    `solve`; the other options are refused.

    >>> W = np.tril(np.ones((64, 64)))
    >>> own = {"identity": np.eye(64), "queries": lambda queries: queries, "wavelet": "wavelet"}
    >>> [round(row["above_bound"], 2) for row in compare(W, strategies=own).combinations]
    [6.37, 13.51, 0.42, 0.0]

    >>> schema = [{"name": "age", "size": 10, "kind": "numeric"}]
    >>> compared = compare(schema, ways=[1], rho=[0.5, 2], unit_rows=[1, 2])
    >>> [row["rmse"] for row in compared.combinations]
    [1.0, 2.0, 0.5, 1.0]
    """
    if strategies is not None:
        others = (workload, ways, measure, epsilon, delta, rho, mu, privacy_cost)
        if any(value is not None for value in others) or (planner, unit_rows) != ("query-smasher", 1):
            raise TypeError(
                "compare: expected a workload, strategies, objective, participation and shape, "
                "found options of plans too\n"
                "  remedy: leave out strategies, or the options of plans"
            )
        return compare_strategies(
            schema, strategies, objective, participation, shape, progress
        )
    if participation is not None or shape is not None:
        raise TypeError(
            "compare: expected strategies with participation or shape, found none\n"
            "  remedy: give strategies={name: matrix}, or leave them out"
        )
    outcome = _matmech.compare(
        document(schema, "attribute"),
        queries(workload, ways),
        [planner] if isinstance(planner, str) else list(planner),
        [("measure", measure), ("objective", objective)],
        (None, None, None, mu, privacy_cost),
        (_listed(epsilon), _listed(delta), _listed(rho)),
        [_count("unit_rows", rows) for rows in _listed(unit_rows)],
        progress,
    )
    return finished(outcome, Comparison)


def _listed(values: Any) -> list[Any]:
    """Returns the values of a list, of one value, or of none."""
    if values is None:
        return []
    return list(values) if isinstance(values, Iterable) else [values]


def simulate(
    schema: Document,
    data: Any,
    workload: Document = None,
    *,
    ways: Iterable[int] | None = None,
    mechanism: str | Mechanism = "staged",
    max_mb: float | None = None,
    reconstruction: str | None = None,
    synthetic: bool = False,
    trials: int = 1,
    seed: int = 1,
    out_of_domain: str = "refuse",
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    mu: float | None = None,
    privacy_cost: float | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Runs a mechanism on data that you may see, as ``matmech simulate``. **Not private.**

    ``data`` is as in :func:`release`. ``mechanism`` is one of `mechanisms()` with options, or your own
    object with ``run(access, workload)``: it reads the records through the paid `Access` only, and
    returns an estimated marginal for every `QueryGroup` of the workload, as an array.

    >>> schema = [{"name": n, "size": 4, "kind": "numeric"} for n in "ab"]
    >>> data = {"a": np.arange(200) % 4, "b": np.arange(200) % 3}
    >>> simulate(schema, data, ways=[1], mechanism="residual-planner", rho=0.5).private
    False
    """
    if not isinstance(mechanism, str) and (synthetic or max_mb or reconstruction):
        raise TypeError("synthetic, max_mb and reconstruction are for mechanisms by name")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "records.csv") if synthetic else None
        document_of_schema = document(schema, "attribute")
        outcome = _matmech.simulate(
            document_of_schema,
            columns_of(data, document_of_schema),
            queries(workload, ways),
            chosen(mechanism),
            [("max-mb", text(max_mb)), ("reconstruction", reconstruction)],
            (epsilon, delta, rho, mu, privacy_cost),
            trials,
            seed,
            out_of_domain,
            path,
            progress,
        )
        simulation = finished(outcome, Simulation)
        simulation.records = read_table(path, schema) if path else None
        return simulation


def release(
    schema: Document,
    data: Any = None,
    workload: Document = None,
    *,
    ways: Iterable[int] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    dry_run: bool = False,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | str | None = None,
    privacy_cost: float | None = None,
    neighbours: str = "add-remove",
    unit_rows: int = 1,
    person: str | None = None,
    distinct: str | None = None,
    after: str | os.PathLike[str] | None = None,
    planner: str | None = None,
    objective: str | None = None,
    mechanism: str | None = None,
    certificate: float | None = None,
    out_of_domain: str = "other",
    wait: int = 60,
    adjust: bool = False,
    records: int | str | None = None,
    records_guess: int | None = None,
    reference: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Release:
    """Answers a workload from private records, charged to a ledger, as ``matmech release``.

    ``data`` is the path of a CSV or Parquet file; a table with an Arrow stream, such as one of polars,
    pyarrow or DuckDB, whose values are not copied; a data frame of pandas; or a mapping from
    attributes to columns: lists, or arrays of NumPy, pandas, polars or Arrow; or a :class:`Table`,
    whose marginals an engine counts. ``rho="rest"`` spends what is left in the
    ledger. The folder ``out``, which must not exist, gets the files of the command. Noise is from the
    operating system. Ctrl-C before the ledger is charged spends nothing; after it, the release is
    finished first; an exception of ``progress`` does the same. A dry run reads, charges and writes
    nothing. For one with ``mechanism="staged"``, ``records_guess`` simulates the error for a made-up
    table with this number of records with independent attributes: uniform, or as the file ``reference`` says.

    ``distinct`` names an attribute of which a person's ``unit_rows`` records have different values,
    such as the year: tables by it cost K instead of K². With ``person`` the first record of every
    value is kept; without it, this is an assumption. ``after`` is the folder of the previous release
    of a series about the same people, in the same ledger.

    By default a schema in which an attribute has no cell for other values is refused.
    ``out_of_domain="drop"`` or ``"clamp"`` accepts it.

    Values are compared with the schema as numbers, texts, booleans or dates, without conversion.
    A column whose type has no value of its attribute is refused before the ledger is charged, and
    so is a ``person`` of floating-point numbers. The types of columns are public: they must not
    depend on records. Read files with ``dtype=str``, or give their path. Elements of lists and of
    object columns have types of their own; one that equals no value is outside the schema.

    The time that a call takes depends on the number of records, as for the command.
    """
    if dry_run:
        data = ledger = out = None
    elif data is None or ledger is None or out is None:
        raise TypeError("expected data, ledger and out, or dry_run=True")
    schema = document(schema, "attribute")
    options = {
        "ledger": None if ledger is None else os.fspath(ledger),
        "out": None if out is None else os.fspath(out),
        "neighbours": neighbours,
        "unit_rows": _count("unit_rows", unit_rows),
        "person": person,
        "distinct": distinct,
        "after": None if after is None else os.fspath(after),
        "planner": planner,
        "objective": objective,
        "mechanism": mechanism,
        "certificate": certificate,
        "out_of_domain": out_of_domain,
        "wait": _count("wait", wait),
        "adjust": adjust,
        "records": text(records),
        "records_guess": None if records_guess is None else _count("records_guess", records_guess),
        "reference": None if reference is None else os.fspath(reference),
        "rest": rho == "rest",
    }
    outcome = _matmech.release(
        schema,
        queries(workload, ways),
        None if data is None else columns_of(data, schema, person),
        (epsilon, delta, None if rho == "rest" else rho, None, privacy_cost),
        options,
        progress,
    )
    return finished(outcome, lambda report: Release(report, None if out is None else Path(out)))


def answer(
    measurements: str | os.PathLike[str],
    workload: Document = None,
    *,
    ways: Iterable[int] | None = None,
    out: str | os.PathLike[str] | None = None,
    adjust: bool = False,
    statement: bool = False,
    report: bool = False,
    records: int | str | None = None,
    progress: Progress | None = None,
) -> Answers:
    """Answers queries from the measurements of a release, at no privacy cost, as ``matmech answer``.

    By default the queries of the release. ``out`` is the table to write; the other files are next
    to it. Without it nothing is kept on the disk.
    """
    source = None if workload is None and ways is None else queries(workload, ways)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(out) if out is not None else Path(folder) / "answers.csv"
        outcome = _matmech.answer(
            os.fspath(measurements), source, os.fspath(path), adjust, statement, report,
            text(records), progress,
        )
        make = lambda text: Answers(text, path.parent, path.name, Path(measurements))
        return finished(outcome, make)


def create_ledger(
    path: str | os.PathLike[str],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    privacy_cost: float | None = None,
    neighbours: str = "add-remove",
    unit_rows: int = 1,
    person: str | None = None,
    distinct: str | None = None,
) -> dict[str, Any]:
    """Creates the ledger of a table, with the budget of all its releases; returns the balance.

    With ``person``, it is for releases that protect all records with the same value of this column.
    With ``distinct``, releases may assume that a person's records have different values of it.
    """
    budget = (epsilon, delta, rho, None, privacy_cost)
    path = os.fspath(path)
    return json.loads(_matmech.create_ledger(
        path, budget, neighbours, _count("unit_rows", unit_rows), person, distinct
    ))


def check_data(
    schema: Document,
    data: Any,
    *,
    out_of_domain: str = "drop",
    person: str | None = None,
    unit_rows: int = 1,
    distinct: str | None = None,
) -> DataCheck:
    """Checks how a release would handle every record, as ``matmech check-data``. **Not private.**

    >>> schema = [{"name": "sex", "size": 2, "kind": "categorical", "values": ["f", "m"]}]
    >>> checked = check_data(schema, {"sex": ["f", "m", "M", None]})
    >>> checked.kept, checked.offences[0]["found"]
    (2, '`M`')
    """
    source = document(schema, "attribute")
    table = columns_of(data, source, person)
    rows = _count("unit_rows", unit_rows)
    return DataCheck(_matmech.check_data(source, table, out_of_domain, person, rows, distinct))


def show_ledger(
    path: str | os.PathLike[str],
    *,
    delta: float | None = None,
    wait: int = 60,
    release: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Returns the balance of a ledger: ``total_rho``, ``spent_rho``, ``left_rho``, …

    With ``release``, the folder of a release, its files are checked against the ledger, and
    ``series`` has the total for a person who is in all releases of its series.
    """
    folder = None if release is None else os.fspath(release)
    return json.loads(_matmech.show_ledger(os.fspath(path), delta, _count("wait", wait), folder))


def _count(name: str, number: Any) -> int:
    """Returns an integer of 32 bits."""
    if not isinstance(number, (int, np.integer)) or not 0 <= number < 2**32:
        raise bad_input(name, "an integer from 0 to 4294967295", repr(number), "correct it")
    return int(number)


def _columns(rows: list[Mapping[str, Any]]) -> Table:
    names = list(rows[0]) if rows else []
    table: Table = {}
    for name in names:
        values = [row[name] for row in rows]
        if isinstance(values[0], list):
            values = [", ".join(value) for value in values]
        number = not isinstance(values[0], str)
        table[name] = np.array(values, dtype=None if number else object)
    return table
