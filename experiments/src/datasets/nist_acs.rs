//! NIST's excerpt of the 2019 American Community Survey, over the domain of its published schema.
//!
//! An attribute with a list of values has one code per value, in the order of the schema. A numeric
//! attribute has equal-width bins over the schema's range; values outside belong to the first or the
//! last bin (densities are published to one more digit than their range). The value for "not
//! applicable" of a numeric attribute is one more code, the last.

use std::collections::BTreeMap;
use std::path::Path;

use matmech::data::{Column, Records};
use matmech::schema::Schema;
use matmech::{Error, Place, Result};
use serde::Deserialize;
use serde_json::Value;

use super::coded_file::table;

/// The number of bins of a numeric attribute of the whole excerpt.
const BINS: usize = 25;

/// The features that the reports of NIST's Collaborative Research Cycle call "demographic-focused".
const DEMOGRAPHIC: [&str; 10] = [
    "AGEP",
    "SEX",
    "MSP",
    "RAC1P",
    "HOUSING_TYPE",
    "OWN_RENT",
    "EDU",
    "PINCP_DECILE",
    "DVET",
    "DEYE",
];

/// The published schema.
#[derive(Deserialize)]
struct Published {
    schema: BTreeMap<String, Feature>,
}

/// An attribute of the published schema: a list of values, or a range.
#[derive(Deserialize)]
struct Feature {
    values: Option<Vec<Value>>,
    min: Option<f64>,
    max: Option<f64>,
    null_value: Option<String>,
}

/// The coding of an attribute.
enum Code {
    Values(Vec<String>),
    Bins { low: f64, high: f64, count: usize, null: Option<String> },
}

impl Feature {
    /// Returns the coding, or `None` if the attribute has neither values nor a range.
    ///
    /// Without a number of bins, every integer of a range has its bin.
    fn code(self, bins: Option<usize>) -> Option<Code> {
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        match (self.values, self.min, self.max) {
            (Some(values), ..) => Some(Code::Values(values.into_iter().map(text).collect())),
            (None, Some(low), Some(high)) if low < high => {
                let count = bins.unwrap_or((high - low) as usize + 1);
                Some(Code::Bins { low, high, count, null: self.null_value })
            }
            _ => None,
        }
    }
}

impl Code {
    fn size(&self) -> usize {
        match self {
            Code::Values(values) => values.len(),
            Code::Bins { count, null, .. } => count + usize::from(null.is_some()),
        }
    }

    /// Returns the code of a value, or a description of the valid values.
    fn of(&self, value: &str) -> std::result::Result<u32, String> {
        match self {
            Code::Values(values) => values
                .iter()
                .position(|known| known == value)
                .map(|code| code as u32)
                .ok_or_else(|| format!("one of {} values of the schema", values.len())),
            Code::Bins { count, null: Some(null), .. } if value == null => Ok(*count as u32),
            Code::Bins { low, high, count, .. } => match value.parse::<f64>() {
                Ok(number) if number.is_finite() => {
                    let bin = (*count as f64 * (number - low) / (high - low)).floor();
                    Ok(bin.clamp(0.0, (count - 1) as f64) as u32)
                }
                _ => Err("a number".to_owned()),
            },
        }
    }
}

/// Reads the excerpt and its schema. The attributes are in the order of the table.
///
/// # Errors
/// Returns an error if a file cannot be read, the schema has no entry for a column, or a value is
/// not in the schema.
pub fn read_nist_acs(records: &Path, schema: &Path) -> Result<(Schema, Records)> {
    read(records, schema, |_| true, Some(BINS))
}

/// Reads the ten demographic features of the excerpt, with one code per year of age.
///
/// # Errors
/// As [`read_nist_acs`].
pub fn read_nist_demographic(records: &Path, schema: &Path) -> Result<(Schema, Records)> {
    read(records, schema, |name| DEMOGRAPHIC.contains(&name), None)
}

/// Reads columns of the excerpt.
fn read(
    records: &Path,
    schema: &Path,
    wanted: impl Fn(&str) -> bool,
    bins: Option<usize>,
) -> Result<(Schema, Records)> {
    const REMEDY: &str = "restore the files of data/tables/nist-acs";
    let invalid = |path: &Path, expected: String, found: String| {
        Error::bad_input(path.display().to_string(), expected, found, REMEDY)
    };
    let text = std::fs::read_to_string(schema)
        .map_err(|e| invalid(schema, "a file that can be read".into(), e.to_string()))?;
    let mut published: Published = serde_json::from_str(&text)
        .map_err(|e| invalid(schema, "a schema as JSON".into(), e.to_string()))?;
    let failed = |error: csv::Error| Error::csv(records, error, REMEDY);
    let mut reader = csv::Reader::from_path(records).map_err(failed)?;
    let header = reader.headers().map_err(failed)?.clone();
    let positions: Vec<usize> = (0..header.len()).filter(|&k| wanted(&header[k])).collect();
    let codes = positions
        .iter()
        .map(|&k| {
            let feature = published.schema.remove(&header[k]);
            feature.and_then(|feature| feature.code(bins)).ok_or_else(|| {
                invalid(schema, format!("values or a range for `{}`", &header[k]), "none".into())
            })
        })
        .collect::<Result<Vec<Code>>>()?;
    let mut columns: Vec<Column> = positions.iter().map(|_| Column::default()).collect();
    let mut line = csv::StringRecord::new();
    while reader.read_record(&mut line).map_err(failed)? {
        for ((code, &k), column) in codes.iter().zip(&positions).zip(&mut columns) {
            let value = &line[k];
            column.push(code.of(value).map_err(|expected| Error::Parse {
                origin: records.display().to_string(),
                place: line.position().map(|at| Place { line: at.line() as usize, column: k + 1 }),
                expected,
                found: format!("`{value}` in column `{}`", &header[k]),
                remedy: REMEDY.into(),
            })?);
        }
    }
    let names = positions.iter().map(|&k| header[k].to_owned()).collect();
    let sizes = codes.iter().map(Code::size);
    table(names, sizes.zip(columns).collect())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const SCHEMA: &str = r#"{"schema": {
        "STATE": {"dtype": "object", "values": ["01-01301", "06-07502"]},
        "SEX": {"dtype": "int64", "values": [1, 2]},
        "DENSITY": {"dtype": "float64", "min": 16, "max": 116},
        "INCOME": {"has_null": true, "null_value": "N", "min": -100, "max": 900}
    }}"#;

    fn read(lines: &str) -> Result<(Schema, Records)> {
        let dir = tempfile::tempdir().unwrap();
        let paths = [("a.csv", lines), ("a.json", SCHEMA)].map(|(name, text)| {
            let path: PathBuf = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        });
        read_nist_acs(&paths[0], &paths[1])
    }

    #[test]
    fn values_are_coded_by_the_schema() {
        let (schema, records) = read(
            "SEX,INCOME,STATE,DENSITY\n2,N,06-07502,16.3\n1,-100.0,01-01301,116.7\n\
             1,900,01-01301,20\n2,-60,01-01301,15\n",
        )
        .unwrap();
        assert_eq!(schema.sizes(), [2, 26, 2, 25]);
        let column = |k| records.column(k).unwrap().collect::<Vec<u32>>();
        assert_eq!(column(0), [1, 0, 0, 1]);
        assert_eq!(column(1), [25, 0, 24, 1]);
        assert_eq!(column(2), [1, 0, 0, 0]);
        assert_eq!(column(3), [0, 24, 1, 0]);
    }

    #[test]
    fn values_outside_the_schema_are_errors() {
        for (lines, parts) in [
            ("SEX\n1\n3\n", ["line 3, column 1", "`3` in column `SEX`"]),
            ("DENSITY\nN\n", ["line 2", "a number"]),
            ("RACE\n1\n", ["a.json", "`RACE`"]),
        ] {
            let message = read(lines).unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        }
    }

    /// The files of the project: sizes, and counts by awk.
    #[test]
    fn the_excerpt_has_the_counts_of_awk() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/tables/nist-acs");
        let (schema, records) =
            read_nist_acs(&folder.join("national2019.csv"), &folder.join("national2019.json"))
                .unwrap();
        assert_eq!((schema.attributes().len(), records.len()), (24, 27_253));
        let of = |name: &str| schema.attributes().iter().position(|a| a.name == name).unwrap();
        let count = |name: &str, code: u32| {
            records.column(of(name)).unwrap().filter(|&value| value == code).count()
        };
        let sizes = schema.sizes();
        assert_eq!((sizes[of("INDP")], sizes[of("PINCP")], sizes[of("AGEP")]), (264, 26, 25));
        // SEX = 1; PINCP = N; AGEP < 3.8.
        let counts = (count("SEX", 0), count("PINCP", 25), count("AGEP", 0));
        assert_eq!(counts, (13_223, 4_247, 1_018));
        // By a Python program in exact fractions: PINCP by bin, `N` last; the sum of the codes of every
        // column, and of the products of the codes of neighbouring columns, the last with the first.
        let of_income: Vec<usize> = (0..26).map(|code| count("PINCP", code)).collect();
        let expected = [
            14561, 4645, 1801, 789, 349, 215, 111, 116, 73, 78, 166, 55, 15, 9, 4, 5, 2, 5, 4, 0,
            0, 1, 0, 0, 2, 4247,
        ];
        assert_eq!(of_income, expected);
        let columns: Vec<Vec<u64>> =
            (0..24).map(|k| records.column(k).unwrap().map(u64::from).collect()).collect();
        let sums: Vec<u64> = columns.iter().map(|codes| codes.iter().sum()).collect();
        let expected = [
            270720, 281888, 14030, 80152, 6398, 33886, 44955, 47508, 3027, 35251, 112958, 2835573,
            177225, 177445, 124975, 127625, 439052, 1299, 50279, 49676, 26544, 26282, 20434, 25651,
        ];
        assert_eq!(sums, expected);
        let products: Vec<u64> = (0..24)
            .map(|k| columns[k].iter().zip(&columns[(k + 1) % 24]).map(|(a, b)| a * b).sum())
            .collect();
        let expected = [
            2771691, 149241, 41022, 20272, 16898, 60758, 119978, 0, 0, 164785, 12420719, 35247173,
            1396856, 397158, 178338, 2421477, 22860, 2380, 96995, 48611, 25808, 19789, 54059,
            252312,
        ];
        assert_eq!(products, expected);
        let (schema, records) = read_nist_demographic(
            &folder.join("national2019.csv"),
            &folder.join("national2019.json"),
        )
        .unwrap();
        assert_eq!(schema.sizes(), [96, 2, 7, 9, 3, 3, 13, 11, 7, 2]);
        // AGEP = 0, 41 and 95.
        let of_age = |age| records.column(0).unwrap().filter(|&code| code == age).count();
        assert_eq!([0, 41, 95].map(of_age), [245, 319, 31]);
    }
}
