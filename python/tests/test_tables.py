"""How the columns of NumPy, pandas, polars and Arrow become records, and tables that come back."""

import csv
import datetime
import decimal
import importlib.util
import itertools
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

import matmech

DAY = datetime.date(2024, 2, 29)
LISTED = {
    "text": ["clerk", "02139", "a,b", 'q"q', "18_24"],
    "integer": [3, -7, 2**60, 2**60 + 1, 12],
    "float": [0.1, 0.3, 1e-5, 2.5, 7.0],
    "boolean": [True, False],
    "time": [DAY, datetime.date(1969, 12, 31), datetime.datetime(2024, 2, 29, 12, 30)],
}
#: Values outside every list.
OUTSIDE = {"text": "2139", "integer": 4, "float": 0.2, "time": datetime.date(2000, 1, 1)}


#: Files of sources, until the end of the process.
FOLDER = tempfile.TemporaryDirectory()
NUMBERS = itertools.count()


def has(name):
    return importlib.util.find_spec(name) is not None


def schema_of(name, values, **keys):
    return [{"name": name, "size": len(values), "kind": "categorical", "values": values, **keys}]


def as_csv(values):
    """Returns the column as a file that any program would write."""
    spelled = {True: "True", False: "False", None: ""}
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False, newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y"])
        writer.writerows(
            [spelled[v] if v is None or isinstance(v, bool) else str(v), "y"] for v in values
        )
    return Path(file.name)


def sources(kind, values):
    """Iterates over the same column from every source, by type and not by value."""
    yield "list", {"x": values}
    yield "object array", {"x": np.array([*values, None], dtype=object)[:-1]}
    complete = all(value is not None for value in values)
    dtype = {"text": str, "integer": np.int64, "float": np.float64, "boolean": bool,
             "time": "datetime64[ns]"}[kind]
    if complete:
        yield "array", {"x": np.array(values, dtype=dtype)}
        yield "big-endian array", {"x": np.array(values, dtype=np.dtype(dtype).newbyteorder(">"))}
        if kind == "float":
            yield "float32", {"x": np.array(values, dtype=np.float32)}
        if kind == "integer" and min(values) >= 0:
            yield "uint64", {"x": np.array(values, dtype=np.uint64)}
    if kind == "time":
        # Frames have one type per column: a date is its midnight.
        midnight = datetime.time()
        values = [v if v is None or isinstance(v, datetime.datetime)
                  else datetime.datetime.combine(v, midnight) for v in values]
    filled = [next(v for v in values if v is not None) if v is None else v for v in values]
    mask = [value is None for value in values]
    yield "masked array", {"x": np.ma.array(np.array(filled, dtype=dtype), mask=mask)}
    if has("pandas"):
        import pandas

        extension = {"text": "string", "integer": "Int64", "float": "Float64",
                     "boolean": "boolean", "time": "datetime64[ns]"}[kind]
        yield "pandas", pandas.DataFrame({"x": pandas.Series(values, dtype=extension)})
        yield "pandas object", pandas.DataFrame({"x": pandas.Series(values, dtype=object)})
        if kind == "float":
            yield "pandas Float32", {"x": pandas.Series(values, dtype="Float32")}
        if kind == "float":
            yield "pandas category of float32", {
                "x": pandas.Series(np.array(values, dtype=np.float32)).astype("category")
            }
            yield "pandas sparse", {"x": pandas.Series(pandas.arrays.SparseArray(
                np.array(values, dtype=np.float64)))}
        yield "pandas category", {"x": pandas.Series(values, dtype="category")}
        yield "pandas categorical", {"x": pandas.Categorical(values)}
        yield "pandas array", {"x": pandas.array(values, dtype=extension)}
    if has("polars"):
        import polars

        dtype = {"text": polars.String, "integer": polars.Int64, "float": polars.Float64,
                 "boolean": polars.Boolean, "time": polars.Datetime("ns")}[kind]
        yield "polars", polars.DataFrame({"x": polars.Series(values, dtype=dtype)})
        if kind == "float":
            yield "polars Float32", polars.DataFrame({"x": polars.Series(values, dtype=polars.Float32)})
    if has("pyarrow"):
        import pyarrow
        import pyarrow.parquet

        dtype = {"text": pyarrow.string(), "integer": pyarrow.int64(), "float": pyarrow.float64(),
                 "boolean": pyarrow.bool_(), "time": pyarrow.timestamp("ns")}[kind]
        column = pyarrow.array(values, type=dtype)
        table = pyarrow.table({"x": column})
        yield "arrow", table
        yield "arrow batches", pyarrow.table({"x": pyarrow.chunked_array([column[:1], column[1:]])})
        yield "arrow stream", table.to_reader()
        yield "arrow stream of dictionaries", pyarrow.table({"x": column.dictionary_encode()})
        for codec in ("none", "snappy", "zstd", "gzip"):
            path = Path(FOLDER.name) / f"{next(NUMBERS)}.parquet"
            pyarrow.parquet.write_table(table, path, compression=codec)
            yield f"parquet {codec}", path
        if has("duckdb"):
            import duckdb

            connection = duckdb.connect()
            connection.register("x", table)
            yield "duckdb", connection.sql("select x, [x] as other from x")
        yield "arrow dictionary", {"x": column.dictionary_encode()}
        half = len(values) // 2
        chunks = [part.dictionary_encode() for part in (column[:half], column[half:])]
        yield "arrow chunked dictionary", {"x": pyarrow.chunked_array(chunks)}
        if has("pandas"):
            import pandas

            for array in (column, column.dictionary_encode()):
                arrow = pandas.ArrowDtype(array.type)
                yield f"pandas {arrow}", {"x": pandas.Series(pandas.arrays.ArrowExtensionArray(array), dtype=arrow)}
        if kind == "time":
            for unit in ("us", "ms", "s"):
                yield f"arrow {unit}", {"x": pyarrow.array(values, type=pyarrow.timestamp(unit))}
        if kind == "text":
            yield "arrow large", {"x": pyarrow.array(values, type=pyarrow.large_string())}
        if kind == "float":
            yield "arrow float32", pyarrow.table({"x": pyarrow.array(values, type=pyarrow.float32())})


class Exact(unittest.TestCase):
    """Releases with so large a budget that the answers are the exact counts."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.names = itertools.count()

    def release(self, schema, data, **options):
        name = str(next(self.names))
        ledger, out = self.folder / f"{name}.jsonl", self.folder / name
        unit = {k: options[k] for k in ("person", "unit_rows") if k in options}
        matmech.create_ledger(ledger, privacy_cost=1e7, **unit)
        options.setdefault("out_of_domain", "drop")
        released = matmech.release(
            schema, data, ways=[1], ledger=ledger, out=out, privacy_cost=1e7, **options
        )
        self.spent = lambda: matmech.show_ledger(ledger)["reservations"]
        return released

    def counts(self, schema, data, **options):
        estimates = self.release(schema, data, **options).answers["estimate"]
        return np.round(estimates).astype(int).tolist()

    def refused(self, schema, data, **options):
        """Returns the message of a release that is refused before anything is reserved."""
        ledger = self.folder / f"{next(self.names)}.jsonl"
        matmech.create_ledger(ledger, rho=1, person=options.get("person"))
        options.setdefault("out_of_domain", "drop")
        with self.assertRaises(ValueError) as caught:
            matmech.release(schema, data, ways=[1], ledger=ledger, rho=0.1,
                            out=self.folder / "refused", **options)
        self.assertEqual(matmech.show_ledger(ledger)["reservations"], 0)
        self.assertFalse((self.folder / "refused").exists())
        return str(caught.exception)


class Values(Exact):
    def test_equal_tables_have_equal_counts_from_every_source(self):
        for kind, listed in LISTED.items():
            outside = [OUTSIDE[kind]] if kind in OUTSIDE else []
            for missing in ([], [None, None]):
                values = [*listed, *outside, *listed[:2], *missing]
                expected = [2, 2] + [1] * (len(listed) - 2)
                schema = schema_of("x", listed)
                for name, data in [*sources(kind, values), ("csv", as_csv(values))]:
                    with self.subTest(kind=kind, source=name, missing=len(missing)):
                        self.assertEqual(self.counts(schema, data), expected)

    def test_one_record_changes_one_count(self):
        """The attack: a table, and one with one more record, of any value, in any source."""
        for kind, listed in LISTED.items():
            schema = schema_of("x", listed)
            base = [listed[k % 2] for k in range(7)]
            for added in [listed[0], None, *([OUTSIDE[kind]] if kind in OUTSIDE else [])]:
                neighbours = zip(sources(kind, base + [listed[0]]), sources(kind, base + [added]))
                for (name, with_first), (_, with_added) in neighbours:
                    with self.subTest(kind=kind, source=name, added=added):
                        first, second = (
                            self.counts(schema, data) for data in (with_first, with_added)
                        )
                        self.assertLessEqual(np.abs(np.subtract(first, second)).sum(), 1)

    def test_characters_of_a_value_do_not_add_records(self):
        """The attack: one text with line ends, quotes and commas, also in a column not used."""
        schema = schema_of("job", ["clerk", "baker"])
        for text in ["clerk\rclerk\rclerk", "clerk\nclerk", 'clerk"\nclerk"', "clerk,clerk\r\nclerk",
                     "\0", "\ud800", "clerk\u2028clerk", "'clerk"]:
            for name in ("job", "other"):
                jobs, others = ["clerk", "baker"], ["x", "y"]
                (jobs if name == "job" else others).__setitem__(0, text)
                data = {"job": np.array(jobs, dtype=object), "other": np.array(others, dtype=object)}
                with self.subTest(text=text, column=name):
                    expected = [0, 1] if name == "job" else [1, 1]
                    self.assertEqual(self.counts(schema, data), expected)

    def test_numbers_are_in_their_bins(self):
        bins = {"low": 0, "high": 100, "count": 100}
        schema = [{"name": "x", "size": 100, "kind": "numeric", "bins": bins}]
        numbers = list(range(100))
        for data in ([*numbers], np.arange(100), np.arange(100.0), np.arange(100, dtype=np.float32),
                     [str(k) for k in numbers], [f"{k}.0" for k in numbers],
                     [decimal.Decimal(k) for k in numbers]):
            self.assertEqual(self.counts(schema, {"x": data}), [1] * 100)
        tenths = [{"name": "x", "size": 10, "kind": "numeric",
                   "bins": {"low": 0, "high": 1, "count": 10}}]
        for dtype in (np.float64, np.float32, np.float16):
            data = np.arange(10).astype(dtype) / dtype(10)
            self.assertEqual(self.counts(tenths, {"x": data}), [1] * 10, dtype)

    def test_elements_have_their_own_types(self):
        schema = schema_of("x", [5, "5x", True, 0.5, DAY])
        column = [5, 5.0, "5", decimal.Decimal("5.00"), np.int8(5), "5x", b"5x", True, np.bool_(True),
                  "TRUE", 0.5, np.float32(0.5), "0.50", DAY, datetime.datetime(2024, 2, 29),
                  np.datetime64("2024-02-29"), "2024-02-29",
                  None, float("nan"), decimal.Decimal("NaN"), np.datetime64("NaT"), np.ma.masked,
                  [5], (5,), {}, object(), 1 + 2j, b"\xff", "", "five"]
        self.assertEqual(self.counts(schema, {"x": column}), [5, 2, 3, 3, 4])
        # No element raises, whatever its class does.
        class Hostile:
            def __getattribute__(self, name):
                raise RuntimeError("secret")
        self.assertEqual(self.counts(schema, {"x": [5, Hostile()]}), [1, 0, 0, 0, 0])

    @unittest.skipUnless(has("pandas"), "needs pandas")
    def test_missing_values_of_pandas_have_one_spelling(self):
        import pandas

        missing = [None, np.nan, pandas.NA, pandas.NaT, decimal.Decimal("NaN"), np.ma.masked]
        schema = schema_of("x", ["a", ""], other="")
        column = np.array(["a", *missing], dtype=object)
        self.assertEqual(self.counts(schema, {"x": column}), [1, len(missing)])


    @unittest.skipUnless(has("pandas") and has("pyarrow"), "needs frames")
    def test_no_value_of_a_column_is_an_exception(self):
        """Texts that are not UTF-8, and dates that libraries do not convert, equal no value."""
        import pandas
        import pyarrow

        raw = pyarrow.array([b"x", b"SECRET\xff", b"y"], pyarrow.binary())
        texts = [pyarrow.Array.from_buffers(kind, 3, buffers.buffers()) for kind, buffers in [
            (pyarrow.string(), raw), (pyarrow.large_string(), raw.cast(pyarrow.large_binary())),
        ]]
        index = pyarrow.array([0, 1, 2, 1], pyarrow.int8())
        schema = schema_of("x", ["x", "y"])
        for text in texts:
            self.assertEqual(self.counts(schema, {"x": text}), [1, 1])
            of_frame = pandas.arrays.ArrowExtensionArray(text)
            self.assertEqual(self.counts(schema, {"x": pandas.Series(of_frame)}), [1, 1])
            dictionary = pyarrow.DictionaryArray.from_arrays(index, text)
            self.assertEqual(self.counts(schema, {"x": dictionary}), [1, 1])
        schema = schema_of("x", [DAY, datetime.date(9999, 12, 31), datetime.date(3000, 1, 1)])
        days = [(date - datetime.date(1970, 1, 1)).days
                for date in (DAY, datetime.date(9999, 12, 31), datetime.date(3000, 1, 1))]
        dates = pyarrow.array([*days, 2**31 - 1, None], pyarrow.int32()).view(pyarrow.date32())
        seconds = pyarrow.array([*(day * 86400 for day in days), 2**55, None], pyarrow.int64())
        for array in [dates, seconds.view(pyarrow.timestamp("s")), dates[:4].dictionary_encode()]:
            with self.subTest(type=array.type):
                self.assertEqual(self.counts(schema, {"x": array}), [1, 1, 1])
                frame = pandas.Series(pandas.arrays.ArrowExtensionArray(array))
                self.assertEqual(self.counts(schema, {"x": frame}), [1, 1, 1])
        self.assertEqual(self.counts(schema, {"x": ["9999-12-31", "3000-01-01 00:00:00"]}), [0, 1, 1])

    def test_a_missing_value_is_not_an_empty_text(self):
        schema = schema_of("x", ["", "a", "b"], other="b")
        self.assertEqual(self.counts(schema, {"x": ["", None, "a", np.nan]}), [1, 1, 2])


class Types(Exact):
    def test_columns_whose_type_has_no_value_of_the_attribute_are_refused(self):
        text, numbers = schema_of("x", ["f", "m"]), schema_of("x", [0, 1])
        bins = [{"name": "x", "size": 2, "kind": "numeric",
                 "bins": {"low": 0, "high": 2, "count": 2}}]
        for schema, column in [
            (text, np.array([0, 1])), (text, np.array([0.0])), (text, np.array([True])),
            (text, np.array(["2024-01-01"], dtype="datetime64[D]")),
            (numbers, np.array([True])), (bins, np.array([True])),
            (bins, np.array(["2024-01-01"], dtype="datetime64[ns]")),
            (numbers, np.array([1j])), (numbers, np.array([[0], [1]])),
            (numbers, np.zeros((2, 2))), (numbers, np.array(["1"], dtype="timedelta64[s]")),
            (numbers, np.array([(1, 2)], dtype=[("a", int), ("b", int)])),
            (numbers, {1, 2}), (numbers, "01"), (numbers, 5),
        ]:
            with self.subTest(column=column):
                message = self.refused(schema, {"x": column})
                self.assertIn("x", message)

    @unittest.skipUnless(has("pandas") and has("polars") and has("pyarrow"), "needs frames")
    def test_types_of_frames(self):
        import pandas
        import polars
        import pyarrow

        schema = schema_of("x", [0, 1])
        zone = pandas.Series(pandas.date_range("2024-01-01", periods=2, tz="UTC"))
        for data in [
            {"x": zone}, {"x": polars.Series([[0], [1]])}, {"x": pyarrow.array([[0], [1]])},
            {"x": polars.Series([{"a": 1}])}, {"x": pandas.Series([True, False], dtype="boolean")},
            {"x": polars.Series([DAY])}, {"x": pandas.DataFrame({"x": [0], "y": [1]})},
            polars.LazyFrame({"x": [0, 1]}), [{"x": 0}, {"x": 1}], 7, None,
            pandas.DataFrame([[0, 1]], columns=["x", "x"]),
        ]:
            with self.subTest(data=type(data)):
                if data is None:
                    with self.assertRaises(TypeError):
                        self.refused(schema, data)
                else:
                    self.assertIn("remedy", self.refused(schema, data))
        structured = np.array([(0, "a"), (1, "b")], dtype=[("x", int), ("y", "U1")])
        self.assertEqual(self.counts(schema, structured), [1, 1])
        self.assertEqual(self.counts(schema, pandas.DataFrame({"x": [0, 1, 1]})), [1, 2])
        names = pandas.DataFrame([[0, 1], [1, 1]])
        self.assertEqual(self.counts(schema_of("1", [0, 1]), names), [0, 2])


class Persons(Exact):
    def test_different_persons_are_not_merged(self):
        """The attack: a person's only record against no record, with an identifier next to it."""
        schema = schema_of("x", ["a", "b"])
        big = [2**60, 2**60 + 1, 2**60 + 2]
        for ids in (np.array(big), np.array(big, dtype=np.uint64), big, [2**80 + k for k in range(3)],
                    [f"0{k}" for k in range(3)], ["1", "1.0", "1e0"]):
            data = {"x": ["a", "a", "b"], "id": ids}
            without = {"x": data["x"][1:], "id": ids[1:]}
            with self.subTest(ids=ids):
                first = self.counts(schema, data, person="id")
                second = self.counts(schema, without, person="id")
                self.assertEqual((first, second), ([2, 1], [1, 1]))

    def test_missing_identifiers_are_no_person(self):
        missing = [None, np.nan, decimal.Decimal("NaN"), np.datetime64("NaT"), np.ma.masked, ""]
        if has("pandas"):
            import pandas

            missing += [pandas.NA, pandas.NaT]
        schema = schema_of("x", ["a", "b"])
        for identifier in [*missing, 1.5, True, [1], object()]:
            data = {"x": ["a", "b"], "id": [identifier, 7]}
            with self.subTest(identifier=identifier):
                self.assertEqual(self.counts(schema, data, person="id"), [0, 1])
        masked = np.ma.array([1, 2, 2], mask=[True, False, False])
        self.assertEqual(self.counts(schema, {"x": list("aab"), "id": masked}, person="id"), [1, 0])
        if has("pandas"):
            for dtype in ("string", "Int64", "string[pyarrow]" if has("pyarrow") else "string"):
                ids = pandas.Series([None, None, "7"] if "str" in dtype else [None, None, 7],
                                    dtype=dtype)
                data = pandas.DataFrame({"x": list("aab"), "id": ids})
                self.assertEqual(self.counts(schema, data, person="id"), [0, 1], dtype)

    def test_identifiers_that_are_floats_are_refused_by_type(self):
        schema = schema_of("x", ["a", "b"])
        columns = [np.array([1.0, 2.0]), np.array([True, False]), np.array([1, 2], dtype=np.float32),
                   np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")]
        if has("pandas"):
            import pandas

            columns += [pandas.Series([1.5, None], dtype="Float64"), pandas.Series([1, None])]
        for ids in columns:
            message = self.refused(schema, {"x": ["a", "b"], "id": ids}, person="id")
            self.assertIn("identifiers of persons as text or integers", message)

    def test_a_ledger_counts_one_kind_of_person(self):
        data = {"x": ["a", "b"], "id": [1, 2], "visit": [3, 4]}
        schema = schema_of("x", ["a", "b"])
        ledger = self.folder / "L.jsonl"
        self.assertEqual(matmech.create_ledger(ledger, rho=1, person="id")["person"], "id")
        for person in (None, "visit"):
            with self.assertRaisesRegex(matmech.BadInput, "--person"):
                matmech.release(schema, data, ways=1, ledger=ledger, rho=0.1, person=person,
                                out_of_domain="drop", out=self.folder / "refused")
        matmech.release(schema, data, ways=1, ledger=ledger, rho=0.1, person="id",
                        out_of_domain="drop", out=self.folder / "ok")


class Checks(unittest.TestCase):
    def test_check_data_reports_what_a_release_drops(self):
        schema = schema_of("x", ["a", "b"])
        checked = matmech.check_data(
            schema, {"x": ["a", "A", None, "b", "b"], "id": [1, 2, 3, 4, 4]}, person="id"
        )
        self.assertEqual((checked.records, checked.kept, checked.dropped, checked.over_limit),
                         (5, 2, 2, 1))
        self.assertIs(checked.report["is_private"], False)
        self.assertEqual(checked.offences[0]["record"], 2)
        self.assertEqual(checked.by_attribute()["outside"].tolist(), [2])
        # The file of the first attack, as older versions of pandas write it.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.csv"
            path.write_bytes(b"x,y\na,1\nb\rb\rb,2\n")
            offence = matmech.check_data(schema, path).offences[0]
            self.assertEqual((offence["line"], offence["attribute"]), (3, None))
            self.assertIn("carriage return", offence["found"])


class Drafts(unittest.TestCase):
    def test_a_draft_has_a_cell_for_every_value(self):
        rows = 120
        numbers = np.arange(rows)
        is_missing = numbers % 5 == 0
        some = lambda values: [None if m else v for m, v in zip(is_missing, values)]
        data = {
            "whole": np.ma.masked_array(numbers // 2, is_missing),
            "real": np.where(is_missing, np.nan, numbers / 8 % 10),
            "text": np.array(some(np.array(["unknown", "b"])[numbers % 2]), dtype=object),
            "tail": np.where(numbers == 7, 10**6, numbers % 40 + 1),
            "day": np.where(is_missing, np.datetime64("NaT"), np.datetime64(DAY, "s")),
        }
        draft = matmech.draft_schema(data)
        for part in ['kind = "integer"\n', "above = true\n", 'missing = "missing"\n',
                     'missing = "unknown"\n', 'other = "other"\n']:
            self.assertIn(part, draft)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "schema.toml"
            path.write_text(draft, encoding="utf-8")
            other = {name: [None, "x", 1e9, "", DAY] for name in data}
            checked = matmech.check_data(path, data, out_of_domain="other")
            self.assertEqual((checked.kept, set(checked.by_attribute()["other"])), (rows, {0}))
            self.assertEqual(matmech.check_data(path, other, out_of_domain="other").dropped, 0)
            simulated = matmech.simulate(path, data, ways=[1], rho=1e3, synthetic=True)
            self.assertEqual(matmech.check_data(path, simulated.records).dropped, 0)

    def test_a_private_draft_lists_values_that_many_records_have(self):
        rows = 4000
        data = {
            "age": np.arange(rows) % 60 + 20,
            "job": ["baker", "clerk"] * (rows // 2 - 1) + ["secret", None],
            "unused": [[1]] * rows,
        }
        used = {name: data[name] for name in ("age", "job")}
        with tempfile.TemporaryDirectory() as folder:
            ledger, out = Path(folder) / "L.jsonl", Path(folder) / "D"
            options = dict(columns=["age"], open=["job"], new_delta=1e-8, rho=0.3)
            refused = dict(ledger=ledger, out=out)
            matmech.create_ledger(ledger, rho=1)
            with self.assertRaisesRegex(matmech.BadInput, "epsilon and"):
                matmech.private_draft(data, **options, **refused)
            ledger = Path(folder) / "M.jsonl"
            matmech.create_ledger(ledger, epsilon=10, delta=1e-6)
            draft = matmech.private_draft(data, ledger=ledger, out=out, **options)
            self.assertEqual((draft.releases, draft.new_delta), (3, 1e-8))
            self.assertEqual([column["cells"] for column in draft.columns], ["bins", "values"])
            text = Path(draft.schema).read_text(encoding="utf-8")
            self.assertIn('values = ["baker", "clerk"]\n', text)
            self.assertIn('kind = "integer"\n', text)
            self.assertEqual(matmech.check_data(Path(draft.schema), used).dropped, 0)
            self.assertEqual(matmech.show_ledger(ledger)["spent_new_delta"], 1e-8)
        with self.assertRaises(matmech.BadInput):
            matmech.private_draft(open=["age"], rho=1, dry_run=True)


class Options(Exact):
    def test_contradictory_options_are_refused_before_anything_is_reserved(self):
        schema, data = schema_of("x", ["a", "b"]), {"x": ["a"]}
        for options, part in [
            ({"rho": 0.1, "privacy_cost": 1.0}, "rho and privacy-cost"),
            ({"rho": 0.1, "epsilon": 1, "delta": 1e-9}, "rho and epsilon"),
            ({"rho": "rest", "epsilon": 1, "delta": 1e-9}, "rho and epsilon"),
            ({"rho": 0.1, "epsilon": 1}, "epsilon without delta"),
            ({"delta": 1e-9}, "delta without epsilon"), ({}, "none"),
            ({"rho": 0.1, "mechanism": "staged", "planner": "anova"}, "planner"),
            ({"rho": 0.1, "mechanism": "staged", "objective": "max"}, "objective"),
            ({"rho": 0.1, "certificate": 0.4}, "certificate"),
            ({"rho": 0.1, "unit_rows": -1}, "unit_rows"), ({"rho": 0.1, "wait": -1}, "wait"),
        ]:
            with self.subTest(options=options):
                ledger = self.folder / f"{next(self.names)}.jsonl"
                matmech.create_ledger(ledger, rho=1)
                with self.assertRaises(ValueError) as caught:
                    matmech.release(schema, data, ways=[1], ledger=ledger,
                                    out=self.folder / "refused", out_of_domain="drop",
                                    **options)
                self.assertIn(part, str(caught.exception))
                self.assertEqual(matmech.show_ledger(ledger)["reservations"], 0)
        with self.assertRaises(ValueError):
            matmech.create_ledger(self.folder / "two.jsonl", rho=0.01, privacy_cost=1.0)

    def test_a_person_can_be_any_attribute(self):
        schema = [*schema_of("a", ["p", "q"]), *schema_of("b", [0, 1])]
        checked = matmech.check_data(schema, {"a": ["p", "p", "q"], "b": [0, 1, 1]}, person="a")
        self.assertEqual((checked.kept, checked.over_limit), (2, 1))


class Results(Exact):
    def test_times_and_numbers_of_any_size_come_back(self):
        far = datetime.date(3000, 1, 1)
        schema = [*schema_of("t", [far, DAY]), *schema_of("n", [10**16 + 1, 0.1])]
        data = {"t": [far, DAY] * 20, "n": [10**16 + 1, 0.1] * 20}
        records = self.release(schema, data, mechanism="staged", records=40).records
        self.assertLessEqual(set(records["t"].astype("datetime64[D]").tolist()), {far, DAY})
        self.assertLessEqual(set(records["n"].tolist()), {10**16 + 1, 0.1})
        self.assertEqual(matmech.check_data(schema, records).dropped, 0)

    def test_records_have_the_types_of_the_schema(self):
        schema = [
            *schema_of("zip", ["02139", "18_24"]), *schema_of("n", [3, 5]),
            *schema_of("f", [0.1, 2]), *schema_of("b", [True, False]), *schema_of("d", [DAY, "x"]),
            *schema_of("t", [DAY, datetime.date(2024, 3, 1)]),
            {"name": "age", "size": 4, "kind": "numeric", "bins": {"low": 0, "high": 4, "count": 4}},
            {"name": "k", "size": 3, "kind": "numeric"},
        ]
        rows = 40
        data = {
            "zip": ["02139", "18_24"] * 20, "n": [3, 5] * 20, "f": [0.1, 2] * 20,
            "b": [True, False] * 20, "d": [DAY, "x"] * 20, "t": [DAY, datetime.date(2024, 3, 1)] * 20,
            "age": [0.5, 3] * 20, "k": [0, 2] * 20,
        }
        simulated = matmech.simulate(schema, data, ways=[1], rho=1e3, synthetic=True)
        released = self.release(schema, data, mechanism="staged", records=rows)
        for records in (simulated.records, released.records):
            kinds = {name: column.dtype for name, column in records.items()}
            self.assertEqual((kinds["n"], kinds["f"], kinds["b"]), (np.int64, np.float64, np.bool_))
            self.assertEqual((kinds["age"], kinds["k"]), (np.float64, np.int64))
            self.assertEqual(kinds["t"].kind, "M")
            self.assertLessEqual(set(records["zip"]), {"02139", "18_24"})
            self.assertLessEqual(set(records["d"]), {np.datetime64(DAY, "ns"), "x"})
            # Synthetic records are records of the schema.
            self.assertEqual(matmech.check_data(schema, records).dropped, 0)
        again = matmech.answer(released.measurements, records=rows)
        for name, column in again.records.items():
            np.testing.assert_array_equal(column, released.records[name])

    def test_labelled_cells_come_back(self):
        bins = {"kind": "numeric", "edges": [0, 10, 20], "below": True, "above": True}
        integers = {**bins, "kind": "integer"}
        schema = [
            {"name": "missing", **bins, "missing": "unknown"},
            {"name": "whole", **integers, "missing": "unknown"},
            {"name": "other", **bins, "other": "else"},
            {"name": "both", **integers, "missing": "unknown", "other": "else"},
            *schema_of("code", [1, 2], missing="unknown"),
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "records.csv"
            path.write_text("missing,whole,other,both,code\n2.5,7,2.5,unknown,1\n"
                            "unknown,unknown,else,else,unknown\n-4,12,21,3,2\n")
            table = matmech.read_table(path, schema)
        self.assertEqual([column.dtype for column in table.values()],
                         [np.float64, np.float64, object, object, object])
        np.testing.assert_array_equal(table["missing"], [2.5, np.nan, -4.0])
        np.testing.assert_array_equal(table["whole"], [7, np.nan, 12])
        self.assertEqual(table["other"].tolist(), [2.5, "else", 21.0])
        self.assertTrue(np.isnan(table["both"][0]))
        self.assertEqual(table["both"].tolist()[1:], ["else", 3])
        self.assertEqual(table["code"].tolist(), [1, "unknown", 2])

    def test_marginals_name_what_they_leave_out(self):
        schema = [*schema_of("count", ["a", "b"]), *schema_of("sex", ["f", "m"])]
        data = {"count": ["a", "a", "b"], "sex": ["f", "m", "m"]}
        released = self.release(schema, data)
        with self.assertRaisesRegex(matmech.BadInput, "count"):
            released.marginals()
        frames = released.marginals(count="estimate")
        self.assertEqual([list(frame) for frame in frames], [["count", "estimate"],
                                                             ["sex", "estimate"]])
        identity = {"family": "identity", "attributes": ["sex"]}
        workload = [identity, {**identity, "weight": 2.0},
                    {"family": "total", "attributes": ["count"]}]
        more = matmech.answer(released.measurements, workload)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            frames = more.marginals()
        self.assertEqual([len(frame["count"]) for frame in frames], [2])
        self.assertIn("total on count", str(caught[0].message))
        self.assertEqual(caught[0].filename, __file__)


if __name__ == "__main__":
    unittest.main()
