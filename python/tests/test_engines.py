"""Counts of engines against those of tables in memory.

Parts need DuckDB, Spark with Java, or a PostgreSQL server.
"""

import datetime
import json
import os
import random
import sqlite3
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

import numpy as np

import matmech

try:
    import duckdb
except ImportError:
    duckdb = None
try:
    import pyspark.sql
except ImportError:
    pyspark = None
try:
    import psycopg

    # A connection string, such as "host=127.0.0.1 user=me".
    POSTGRES = os.environ.get("MATMECH_POSTGRES")
except ImportError:
    POSTGRES = None

INF, NAN = float("inf"), float("nan")

INTEGERS = [0, 1, 2, 3, 4, 5, 7, -1, 9, 10, 11, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None]
LARGE = INTEGERS + [2**64, 2**100, 10**37, -(2**126)]
FLOATS = [0.0, -0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 1 / 3, 10 / 3, 2.5, 3.0, 6.666666666666666,
          6.666666666666667, 6.666666666666668, 9.999999999999998, 10.0, 10.000000000000002,
          -5e-324, 1e300, float(2**53), INF, -INF, NAN, None]
TEXTS = [
    "1", "1.0", "01", "+1", " 1 ", "1e0", "1E+00", "10e-1", ".5", "5.", ".", "", "-", "-0", "-0.0",
    "0.3", "0.30000000000000004", "3.3333333333333333333333333333333333333333333", "1e-05",
    "3.33333333333333333333333333333333", "1e10001", "1e00000000000000000001", "9" * 40, "1" * 2001,
    "0." + "3" * 1990, "-1e-400", "1e400", "1,5", "1_0", "0x1", "1e", "1e+", "1e5.0", "--1",
    "1.2.3",
    "00", "0e5", "inf", "nan", "a", "A", " a", "a ", "\ta\n", "\u2003a\u00a0", "a\r\nb", "it's",
    'say "x"', "x;y", "--", "\\", "\\'", "é", "e\u0301", "ß", "日本", "true", "True", "TRUE", "tRUE",
    "false", "2024-02-29", "2024-02-29 00:00:00", "2024-02-29T00:00:00.000", "2024-02-29T00:00",
    "2024-02-29T00", "2024-02-29 00:00:01", "2024-2-29", "%s", "${x}", "a:b", "?", None,
]
DECIMALS = [Decimal(text) for text in ("0.10", "0.30", "3.33", "3.34", "10.00", "10.01", "-0.01",
                                       "1.00", "6.66", "6.67", "99999999.99")] + [None]
TIMES = [datetime.datetime(2024, 2, 29), datetime.datetime(2024, 2, 29, 0, 0, 0, 1),
         datetime.datetime(1969, 12, 31, 23, 59, 59), datetime.datetime(1, 1, 1), None]

BINS = {"bins": {"low": 0, "high": 10, "count": 3}, "kind": "numeric"}
EDGES = {"edges": [-0.5, 0.3, 1, 10], "kind": "numeric"}
NEGATIVE = {"bins": {"low": -10, "high": -3, "count": 3}, "kind": "numeric"}
INDEX = {"size": 4, "kind": "numeric"}
CODES = {"size": 4, "kind": "categorical"}
NUMBERS = {"values": [1, 0.3, "3", 2.5, -1, -(2**63), 2**53], "kind": "categorical"}
WORDS = {"values": ["a", "1", "01", "it's", 'say "x"', "x;y", "a\r\nb", "\\", "é", "True", "日本",
                    "2024-02-29", "-0", "1.5e3"], "kind": "categorical"}
SWITCH = {"values": [True, False], "kind": "categorical"}
DATES = {"values": [datetime.date(2024, 2, 29), datetime.datetime(1969, 12, 31, 23, 59, 59)],
         "kind": "categorical"}
NUMERIC = [BINS, EDGES, NEGATIVE, INDEX, CODES, NUMBERS]

LABELS = ["unknown", "a", "99", "-1.0", "0.5", "2.5", "-0", "020", "True", "nan", "1e400",
          "2024-02-29", "it's", "", 1, 3, True]
LABELLED_TEXTS = [text for label in LABELS if isinstance(label, str)
                  for text in (label, f" {label}\t")]
LABELLED_TEXTS += ["", " ", "\u2003", None, "99.0", "9.9e1", "-1", "0", "0.50", "5e-1", "TRUE",
                   "true", "false", "NaN", "2024-02-29T00:00:00.000", "2.5000", "2.50001", "1e1",
                   "15e-1", "1.50e1", "-0.5", "-100", "1e30", "-0.0", "3", "3.0", "9.99"]
LABELLED_NUMBERS = [0, 1, 2, 3, 9, 10, 11, -1, -2, 99, 2**53 + 1, 2**62, -(2**62), None]
LABELLED_FLOATS = [-0.0, 0.5, -0.5, 2.5, 99.0, -1.0, 0.3, 9.5, 10.0, 10.5, 3.0, 1e17, -1e300,
                   2.0**52 - 0.5, 2.0**51 + 0.5, float(2**52 + 1), INF, -INF, NAN, None]


def labelled(rng, codings):
    """Returns an attribute with random keys that the schema accepts."""
    for _ in range(1000):
        kind = dict(rng.choice(codings))
        if kind["kind"] == "numeric":
            kind["kind"] = rng.choice(["numeric", "integer"])
        if "bins" in kind or "edges" in kind:
            kind |= {key: rng.choice([False, True]) for key in ("below", "above")}
        kind |= {key: rng.choice(LABELS) for key in ("missing", "other") if rng.random() < 0.7}
        if kind["kind"] == "categorical" and "values" in kind and rng.random() < 0.5:
            kind["levels"] = {"top": [f"t{k}" for k in range(len(kind["values"]))]}
        try:
            matmech.plan([{"name": "v", **kind}], ways=[1], rho=1)
        except matmech.BadInput:
            continue
        return kind
    raise AssertionError("no schema was accepted")


def repeated(values, rng):
    """Returns every value from once to seven times, in random order."""
    values = [value for value in values for _ in range(rng.randrange(1, 8))]
    rng.shuffle(values)
    return values


class Engines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.runs = Path(folder.name), 0

    def released(self, schema, data, **options):
        """Returns the counts of a release whose noise is below one half."""
        self.runs += 1
        ledger, out = self.folder / f"{self.runs}.ledger", self.folder / f"{self.runs}"
        unit = {k: v for k, v in options.items() if k in ("person", "unit_rows")}
        matmech.create_ledger(ledger, rho=1e9, **unit)
        options = {"ways": [1], "out_of_domain": "drop", **options}
        found = matmech.release(schema, data, ledger=ledger, out=out, rho=1e9, **options)
        statement = json.loads((out / "statement.json").read_text())
        counted = statement.get("counted_by_engine", False)
        self.assertEqual(counted, isinstance(data, matmech.Table))
        return np.round(found.answers["estimate"]).astype(int).tolist()

    def assert_equal_counts(self, cases, table_of):
        """Compares an engine's counts with those of columns in memory."""
        rng = random.Random(7)
        for number, (kinds, values, array) in enumerate(cases):
            values = repeated(values, rng)
            table = table_of(f"t{number}", values)
            for kind in kinds:
                for extra in ({}, {"other": True}):
                    schema = [{"name": "v", **kind}]
                    if extra and "values" in kind:
                        schema[0]["other"] = kind["values"][-1]
                    for rule in ("drop", "clamp"):
                        with self.subTest(kind=kind, number=number, rule=rule, extra=extra):
                            memory = {"v": array(values)}
                            options = {"out_of_domain": rule}
                            expected = self.released(schema, memory, **options)
                            self.assertEqual(self.released(schema, table, **options), expected)


    def assert_equal_labelled(self, tables, schemas, seed):
        """Compares counts of random schemas with cells for missing and outside values."""
        rng = random.Random(seed)
        for codings, table, memory in tables:
            for _ in range(schemas):
                kind = labelled(rng, codings)
                options = {"out_of_domain": rng.choice(["drop", "clamp"])}
                with self.subTest(kind=kind, memory=str(memory)[:80], **options):
                    schema = [{"name": "v", **kind}]
                    expected = self.released(schema, {"v": memory}, **options)
                    self.assertEqual(self.released(schema, table, **options), expected)


def sqlite(rows, columns="v"):
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t ({columns})")
    marks = ", ".join("?" for _ in columns.split(","))
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    return connection


class SQLite(Engines):
    def test_counts_equal_those_in_memory(self):
        floats = [None if value != value else value for value in FLOATS]
        mixed = INTEGERS + floats + TEXTS + ["a\0b", "1\0", "12\0" "5"]
        table = lambda name, values: matmech.Table(sqlite([(v,) for v in values]), "t")
        self.assert_equal_counts([(NUMERIC + [WORDS, SWITCH], mixed, list)], table)

    def test_labels_and_open_ends_equal_those_in_memory(self):
        mixed = LABELLED_TEXTS + LABELLED_NUMBERS + LABELLED_FLOATS
        mixed = repeated([None if value != value else value for value in mixed], random.Random(4))
        table = matmech.Table(sqlite([(value,) for value in mixed]), "t")
        self.assert_equal_labelled([(NUMERIC + [WORDS, SWITCH], table, mixed)], 150, 4)

    def test_generated_numbers_equal_those_in_memory(self):
        rng = random.Random(3)
        edges = [0, 0.3, 10 / 3, 20 / 3, 10, 1, -0.5]
        near = [np.nextafter(e, e + s) for e in edges for s in (-1, 0, 1)]
        values = [float(v) for v in near] + [rng.uniform(-1, 11) for _ in range(60)]
        values += [repr(value) for value in values] + [f"{v:.40f}" for v in values[:20]]
        values += [f"{rng.randrange(-30, 130)}e-{rng.randrange(1, 3)}" for _ in range(60)]
        table = lambda name, values: matmech.Table(sqlite([(v,) for v in values]), "t")
        self.assert_equal_counts([([BINS, EDGES, INDEX, NEGATIVE], values, list)], table)

    def test_the_first_records_of_a_person_are_kept(self):
        # In memory the first records are those of the table, which is in the order of the engine.
        rng = random.Random(5)
        persons = ["p", " p ", "q", 7, "7", None, "", 1.5, "r"]
        rows = [(rng.choice(persons), rng.choice([0, 1, 2, 3, 9]), k) for k in range(200)]
        schema = [{"name": "v", **INDEX}]
        memory = {"v": [v for _, v, _ in rows], "id": [p for p, _, _ in rows]}
        shuffled = rows.copy()
        rng.shuffle(shuffled)
        table = matmech.Table(sqlite(shuffled, "id, v, k"), "t", order="k")
        by_cell = matmech.Table(sqlite(shuffled, "id, v, k"), "t")
        order = sorted(rows, key=lambda row: (row[1] if row[1] < 4 else -1))
        sorted_memory = {"v": [v for _, v, _ in order], "id": [p for p, _, _ in order]}
        for unit_rows in (1, 3, 200):
            unit = {"person": "id", "unit_rows": unit_rows}
            expected = self.released(schema, memory, **unit)
            self.assertEqual(self.released(schema, table, **unit), expected)
            expected = self.released(schema, sorted_memory, **unit)
            self.assertEqual(self.released(schema, by_cell, **unit), expected)

    def test_the_first_records_of_every_value_are_kept(self):
        rng = random.Random(6)
        persons = ["p", " p ", "q", 7, "7", None, "", 1.5, "r", "s", "t"]
        rows = [(rng.choice(persons), rng.choice([0, 1, 2, 3, 9, None]), rng.choice([0, 1, 9]), k)
                for k in range(120)]
        schema = [{"name": "v", **INDEX}, {"name": "w", "size": 2, "kind": "numeric"}]
        shuffled = rows.copy()
        rng.shuffle(shuffled)
        table = matmech.Table(sqlite(shuffled, "id, v, w, k"), "t", order="k")
        memory = {name: [row[k] for row in rows] for k, name in enumerate(("id", "v", "w"))}
        found = set()
        for unit_rows in (2, 3, 4):
            for distinct in ("v", "w"):
                unit = {"person": "id", "unit_rows": unit_rows, "distinct": distinct, "ways": [2]}
                expected = self.released(schema, memory, **unit)
                self.assertEqual(self.released(schema, table, **unit), expected)
                found.add(tuple(expected))
        self.assertGreater(len(found), 3)

    def test_names_and_values_cannot_leave_their_quotation_marks(self):
        name = 'a"; DROP TABLE t; --\n`\''
        quoted = '"' + name.replace('"', '""') + '"'
        connection = sqlite([("x'); DROP TABLE t; --",), ("y",)], quoted)
        schema = [{"name": name, "values": ["x'); DROP TABLE t; --", "y"], "kind": "categorical"}]
        self.assertEqual(self.released(schema, matmech.Table(connection, "t")), [1, 1])
        self.assertEqual(connection.execute("SELECT COUNT(*) FROM t").fetchone(), (2,))

    def test_a_table_that_changes_is_refused_without_counts(self):
        connection = sqlite([(k % 4, k % 3) for k in range(7919)], "a, b")
        schema = [{"name": n, "size": 4, "kind": "numeric"} for n in ("a", "b", "c")]
        connection.execute("ALTER TABLE t ADD COLUMN c DEFAULT 1")

        def rows(statement):
            found = connection.execute(statement).fetchall()
            connection.execute("INSERT INTO t VALUES (1, 1, 1)")
            return found

        for options, spent in (({}, 0.0), ({"mechanism": "staged"}, 1.0)):
            table = matmech.Table(rows, "t", dialect="sqlite")
            ledger = self.folder / f"changing{spent}"
            matmech.create_ledger(ledger, rho=1.0)
            with self.assertRaises(matmech.Error) as refused:
                matmech.release(schema, table, ways=[2], rho=1.0, ledger=ledger,
                                out=self.folder / f"out{spent}", out_of_domain="drop", **options)
            message = str(refused.exception)
            self.assertIn("one table", message)
            self.assertNotIn("79", message)
            self.assertEqual(matmech.show_ledger(ledger)["spent_rho"], spent)

    def test_messages_of_engines_are_not_shown(self):
        def rows(statement):
            raise ValueError("secret")

        schema = [{"name": "a", "size": 4, "kind": "numeric"}]
        with self.assertRaises(matmech.BadInput) as refused:
            self.released(schema, matmech.Table(rows, "t", dialect="sqlite"))
        self.assertNotIn("secret", str(refused.exception))
        self.assertIsNone(refused.exception.__cause__ or refused.exception.__context__)
        self.assertRaises(TypeError, matmech.Table, rows, "t")

    def test_staged_releases_count_while_they_run(self):
        rng = random.Random(1)
        rows = [(rng.randrange(4), rng.randrange(4), rng.randrange(4)) for _ in range(3000)]
        schema = [{"name": n, "size": 4, "kind": "numeric"} for n in "abc"]
        options = {"ways": [1, 2], "mechanism": "staged"}
        table = matmech.Table(sqlite(rows, "a, b, c"), "t")
        memory = {n: [row[i] for row in rows] for i, n in enumerate("abc")}
        found = self.released(schema, table, **options)
        expected = self.released(schema, memory, **options)
        self.assertLessEqual(max(abs(a - b) for a, b in zip(found, expected)), 1)

    def test_neighbouring_tables_have_neighbouring_answers(self):
        schema = [{"name": "v", **BINS}]
        for value in INTEGERS + TEXTS + [0.3, 3.0, INF]:
            rows = [(1,), ("a",), (None,), ("5",), (9.5,)]
            counts = [self.released(schema, matmech.Table(sqlite(table), "t"))
                      for table in (rows, rows + [(value,)])]
            distance = sum(abs(a - b) for a, b in zip(*counts))
            self.assertLessEqual(distance, 1, repr(value))


class Typed:
    """Tests of engines with typed columns, in the order of ``TYPES``."""

    def test_counts_equal_those_in_memory(self):
        masked = lambda values: [None if v is None or v != v else v for v in values]
        whole = [v for v in INTEGERS if v is None or abs(v) < 2**31]
        cases = (
            (NUMERIC + [WORDS], INTEGERS, list),
            (NUMERIC, whole, list),
            (NUMERIC, LARGE, list),
            (NUMERIC, FLOATS, masked),
            (NUMERIC, DECIMALS, list),
            (NUMERIC + [WORDS, SWITCH, DATES], TEXTS, list),
            ([SWITCH], [True, False, None], list),
            ([DATES], TIMES, list),
        )
        for kind, case in zip(self.TYPES, cases, strict=True):
            with self.subTest(kind=kind):
                self.assert_equal_counts([case], self.table(kind))

    def assert_keeps_first_records(self, table_of):
        """Compares the first records of every person with those in memory."""
        rng = random.Random(9)
        rows = [(rng.choice(["p", "q", "r", None, ""]), rng.randrange(5), k) for k in range(200)]
        shuffled = rows.copy()
        rng.shuffle(shuffled)
        table = table_of(shuffled, ("id", "v", "k"))
        memory = {"v": [v for _, v, _ in rows], "id": [p for p, _, _ in rows]}
        schema = [{"name": "v", **INDEX}]
        for unit_rows in (1, 3):
            unit = {"person": "id", "unit_rows": unit_rows}
            expected = self.released(schema, memory, **unit)
            self.assertEqual(self.released(schema, table, **unit), expected)


@unittest.skipIf(duckdb is None, "no duckdb: pip install duckdb")
class DuckDB(Typed, Engines):
    TYPES = ("BIGINT", "INTEGER", "HUGEINT", "DOUBLE", "DECIMAL(10,2)", "VARCHAR", "BOOLEAN",
             "TIMESTAMP")

    def table(self, kind):
        def table_of(name, values):
            connection = duckdb.connect()
            connection.execute(f"CREATE TABLE t (v {kind})")
            for value in values:
                connection.execute("INSERT INTO t VALUES (?)", [value])
            return matmech.Table(connection, "t")
        return table_of

    def test_labels_and_open_ends_equal_those_in_memory(self):
        import pyarrow

        rng = random.Random(6)
        fine = [Decimal(text) for text in ("1.0000000000000000000000000000000000001", "1", "0.5",
                                           "0", "2.5", "9.5", "-1", "-0.5")] + [None]
        money = DECIMALS + [Decimal(text) for text in ("99.00", "0.50", "-1.00", "2.50", "0.00")]
        single = [float(np.float32(v)) if v is not None else None for v in LABELLED_FLOATS
                  if v is None or not abs(v) > 1e30]
        masked = lambda values: [None if v is None or v != v else v for v in values]
        tables = []
        for column, codings, values, array in (
            ("VARCHAR", NUMERIC + [WORDS, SWITCH, DATES], LABELLED_TEXTS, list),
            ("BIGINT", NUMERIC, LABELLED_NUMBERS, list),
            ("DOUBLE", NUMERIC, LABELLED_FLOATS, masked),
            ("FLOAT", NUMERIC, single, lambda values: pyarrow.array(values, pyarrow.float32())),
            ("DECIMAL(10,2)", NUMERIC, money, list),
            ("DECIMAL(38,37)", NUMERIC, fine, list),
            ("BOOLEAN", [SWITCH], [True, False, None], list),
            ("TIMESTAMP", [DATES], TIMES, list),
        ):
            values = repeated(values, rng)
            tables.append((codings, self.table(column)("t", values), array(values)))
        self.assert_equal_labelled(tables, 40, 6)

    def test_single_precision_equals_arrow(self):
        import pyarrow

        rng = random.Random(2)
        values = [float(np.float32(v)) for v in FLOATS if v is not None and abs(v) < 1e30]
        values += [float(np.nextafter(np.float32(e), np.float32(s)))
                   for e in (0.3, 10 / 3, 20 / 3, 10) for s in (-99, 99)]
        values += [float(np.float32(rng.uniform(-1, 11))) for _ in range(50)]
        for kind in NUMERIC:
            table = self.table("FLOAT")("t", values)
            array = {"v": pyarrow.array(np.array(values, dtype=np.float32))}
            schema = [{"name": "v", **kind}]
            self.assertEqual(self.released(schema, table), self.released(schema, array), kind)

    def test_columns_are_refused_by_type(self):
        for kind, schema in (("BOOLEAN", BINS), ("DOUBLE", WORDS | {"values": ["a", "b"]}),
                             ("BLOB", WORDS), ("TIMESTAMPTZ", DATES)):
            table = self.table(kind)("t", [])
            with self.assertRaises(matmech.BadInput):
                self.released([{"name": "v", **schema}], table)
        table = self.table("DOUBLE")("t", [1.0])
        with self.assertRaises(matmech.BadInput):
            self.released([{"name": "v", **BINS}], table, person="v")


@unittest.skipIf(pyspark is None, "no pyspark: pip install pyspark, and Java")
class Spark(Typed, Engines):
    TYPES = ("BIGINT", "INT", "DECIMAL(38,0)", "DOUBLE", "DECIMAL(10,2)", "STRING", "BOOLEAN",
             "TIMESTAMP_NTZ")

    @classmethod
    def setUpClass(cls):
        # NumPy columns of time have no zone, so neither has the session.
        cls.spark = (pyspark.sql.SparkSession.builder.master("local[1]")
                     .config("spark.ui.enabled", "false")
                     .config("spark.sql.shuffle.partitions", "1")
                     .config("spark.sql.session.timeZone", "UTC").getOrCreate())
        # Expressions of text columns are too long for Spark's compiler, which logs that at length
        # and interprets them.
        cls.spark.sparkContext.setLogLevel("OFF")
        cls.addClassCleanup(cls.spark.stop)

    def table(self, kind):
        def table_of(name, values):
            if kind == "DECIMAL(38,0)":
                values = [None if value is None else Decimal(value) for value in values]
            rows = [(value,) for value in values]
            self.spark.createDataFrame(rows, f"v {kind}").createOrReplaceTempView(name)
            return matmech.Table(self.spark, name)
        return table_of

    def test_labels_and_open_ends_equal_those_in_memory(self):
        rng = random.Random(8)
        masked = lambda values: [None if v is None or v != v else v for v in values]
        tables = []
        for number, (column, codings, values, array) in enumerate((
            ("STRING", NUMERIC + [WORDS, SWITCH, DATES], LABELLED_TEXTS, list),
            ("BIGINT", NUMERIC, LABELLED_NUMBERS, list),
            ("DOUBLE", NUMERIC, LABELLED_FLOATS, masked),
            ("DECIMAL(10,2)", NUMERIC, DECIMALS, list),
            ("BOOLEAN", [SWITCH], [True, False, None], list),
        )):
            values = repeated(values, rng)
            tables.append((codings, self.table(column)(f"l{number}", values), array(values)))
        self.assert_equal_labelled(tables, 8, 8)

    def test_the_first_records_of_a_person_are_kept(self):
        def table_of(rows, columns):
            self.spark.createDataFrame(rows, columns).createOrReplaceTempView("persons")
            return matmech.Table(self.spark, "persons", order="k")

        self.assert_keeps_first_records(table_of)


@unittest.skipIf(POSTGRES is None, "no PostgreSQL: pip install psycopg, set MATMECH_POSTGRES")
class PostgreSQL(Typed, Engines):
    TYPES = ("bigint", "integer", "numeric(38,0)", "double precision", "numeric(10,2)", "text",
             "boolean", "timestamp")

    def filled(self, types, rows, **options):
        connection = psycopg.connect(POSTGRES)
        self.addCleanup(connection.close)
        columns = ", ".join(f"{name} {kind}" for name, kind in types.items())
        connection.execute(f"CREATE TEMPORARY TABLE t ({columns})")
        marks = ", ".join("%s" for _ in types)
        connection.cursor().executemany(f"INSERT INTO t VALUES ({marks})", rows)
        rows_of = lambda statement: connection.execute(statement).fetchall()
        return matmech.Table(rows_of, "t", dialect="postgres", types=types, **options)

    def table(self, kind):
        return lambda name, values: self.filled({"v": kind}, [(value,) for value in values])

    def test_the_first_records_of_a_person_are_kept(self):
        types = {"id": "text", "v": "integer", "k": "integer"}
        self.assert_keeps_first_records(lambda rows, _: self.filled(types, rows, order="k"))


if __name__ == "__main__":
    unittest.main()
