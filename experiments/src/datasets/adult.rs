//! Adult from the two files of the UCI Machine Learning Repository, discretised as in S4.
//!
//! The table has both parts in order, with all records; `?` is a separate value. Numeric attributes
//! have equal-width, left-closed bins on [low, high + 1). Categorical attributes have one code per
//! value, in the order of the data set's documentation. Codes that do not occur are removed, and
//! the rest renumbered. The sizes are then 28, 9, 30, 16, 16, 7, 15, 6, 5, 2, 12, 24, 32, 42, 2,
//! and every record equals that of the public discretised copy (`adult15.csv`).
//!
//! **For experiments only**: the domain depends on the data.

use std::path::Path;

use matmech::data::{Column, Records};
use matmech::schema::Schema;
use matmech::{Error, Place, Result};

use super::coded_file::{keep_what_occurs, table};

/// The coding of an attribute of the original files.
pub(super) enum Code {
    /// `count` equal-width bins on [low, high + 1).
    Bins { low: i64, high: i64, count: i64 },
    /// One code per value.
    Values(&'static [&'static str]),
}

pub(super) const fn bins(low: i64, high: i64, count: i64) -> Code {
    Code::Bins { low, high, count }
}

/// The attributes in the order of the files; values in the order of `adult.names`, education
/// alphabetically, `?` last.
pub(super) static ATTRIBUTES: [(&str, Code); 15] = [
    ("age", bins(16, 100, 32)),
    (
        "workclass",
        Code::Values(&[
            "Private",
            "Self-emp-not-inc",
            "Self-emp-inc",
            "Federal-gov",
            "Local-gov",
            "State-gov",
            "Without-pay",
            "Never-worked",
            "?",
        ]),
    ),
    ("fnlwgt", bins(10_000, 1_500_000, 32)),
    (
        "education",
        Code::Values(&[
            "10th",
            "11th",
            "12th",
            "1st-4th",
            "5th-6th",
            "7th-8th",
            "9th",
            "Assoc-acdm",
            "Assoc-voc",
            "Bachelors",
            "Doctorate",
            "HS-grad",
            "Masters",
            "Preschool",
            "Prof-school",
            "Some-college",
        ]),
    ),
    ("education-num", bins(1, 16, 16)),
    (
        "marital-status",
        Code::Values(&[
            "Married-civ-spouse",
            "Divorced",
            "Never-married",
            "Separated",
            "Widowed",
            "Married-spouse-absent",
            "Married-AF-spouse",
        ]),
    ),
    (
        "occupation",
        Code::Values(&[
            "Tech-support",
            "Craft-repair",
            "Other-service",
            "Sales",
            "Exec-managerial",
            "Prof-specialty",
            "Handlers-cleaners",
            "Machine-op-inspct",
            "Adm-clerical",
            "Farming-fishing",
            "Transport-moving",
            "Priv-house-serv",
            "Protective-serv",
            "Armed-Forces",
            "?",
        ]),
    ),
    (
        "relationship",
        Code::Values(&[
            "Wife",
            "Own-child",
            "Husband",
            "Not-in-family",
            "Other-relative",
            "Unmarried",
        ]),
    ),
    (
        "race",
        Code::Values(&["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]),
    ),
    ("sex", Code::Values(&["Female", "Male"])),
    ("capital-gain", bins(0, 100_000, 32)),
    ("capital-loss", bins(0, 5_000, 32)),
    ("hours-per-week", bins(1, 99, 32)),
    (
        "native-country",
        Code::Values(&[
            "United-States",
            "Cambodia",
            "England",
            "Puerto-Rico",
            "Canada",
            "Germany",
            "Outlying-US(Guam-USVI-etc)",
            "India",
            "Japan",
            "Greece",
            "South",
            "China",
            "Cuba",
            "Iran",
            "Honduras",
            "Philippines",
            "Italy",
            "Poland",
            "Jamaica",
            "Vietnam",
            "Mexico",
            "Portugal",
            "Ireland",
            "France",
            "Dominican-Republic",
            "Laos",
            "Ecuador",
            "Taiwan",
            "Haiti",
            "Columbia",
            "Hungary",
            "Guatemala",
            "Nicaragua",
            "Scotland",
            "Thailand",
            "Yugoslavia",
            "El-Salvador",
            "Trinadad&Tobago",
            "Peru",
            "Hong",
            "Holand-Netherlands",
            "?",
        ]),
    ),
    ("income>50K", Code::Values(&["<=50K", ">50K"])),
];

impl Code {
    fn size(&self) -> usize {
        match self {
            Code::Bins { count, .. } => *count as usize,
            Code::Values(values) => values.len(),
        }
    }

    /// Returns the code of a value, or a description of the valid values.
    fn of(&self, value: &str) -> std::result::Result<u32, String> {
        match self {
            Code::Bins { low, high, count } => match value.parse::<i64>() {
                Ok(number) if (low..=high).contains(&&number) => {
                    Ok(((number - low) * count / (high + 1 - low)) as u32)
                }
                _ => Err(format!("a whole number from {low} to {high}")),
            },
            Code::Values(values) => match values.iter().position(|known| *known == value) {
                Some(code) => Ok(code as u32),
                None => Err(format!("one of {}", values.join(", "))),
            },
        }
    }
}

/// Reads `adult.data` and `adult.test` as one table.
///
/// # Errors
/// Returns an error if a file cannot be read, a line does not have 15 values, or a value is not one
/// of the original files.
pub fn read_adult(training: &Path, test: &Path) -> Result<(Schema, Records)> {
    let mut columns: Vec<Column> = ATTRIBUTES.iter().map(|_| Column::default()).collect();
    let attributes: Vec<_> =
        ATTRIBUTES.iter().enumerate().map(|(k, (name, code))| (k, *name, code)).collect();
    for path in [training, test] {
        append(path, &attributes, &mut columns)?;
    }
    refuse_empty(&columns, format!("{} and {}", training.display(), test.display()))?;
    let names = ATTRIBUTES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let columns = ATTRIBUTES
        .iter()
        .zip(columns)
        .map(|((_, code), column)| keep_what_occurs(code.size(), &column));
    table(names, columns.collect())
}

/// Refuses tables without a record.
pub(super) fn refuse_empty(columns: &[Column], what: String) -> Result<()> {
    if columns.iter().any(Column::is_empty) {
        return Err(Error::bad_input(
            what,
            "at least one record",
            "none",
            "download the files again",
        ));
    }
    Ok(())
}

/// Appends the codes of attributes to their columns.
///
/// An attribute is given by its position in a line, its name and its coding.
pub(super) fn append(
    path: &Path,
    attributes: &[(usize, &str, &Code)],
    columns: &mut [Column],
) -> Result<()> {
    const REMEDY: &str = "use the original files of UCI Adult, https://doi.org/10.24432/C5XW20";
    let failed = |error: csv::Error| Error::csv(path, error, REMEDY);
    // The test part begins with a comment line.
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'|'))
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(failed)?;
    let mut line = csv::StringRecord::new();
    while reader.read_record(&mut line).map_err(failed)? {
        let refuse = |column: usize, expected: String, found: String| Error::Parse {
            origin: path.display().to_string(),
            place: line.position().map(|at| Place { line: at.line() as usize, column }),
            expected,
            found,
            remedy: REMEDY.into(),
        };
        if line.len() != ATTRIBUTES.len() {
            return Err(refuse(0, format!("{} values", ATTRIBUTES.len()), line.len().to_string()));
        }
        for (&(k, name, code), column) in attributes.iter().zip(columns.iter_mut()) {
            // Labels of the test part end in a full stop.
            let value = &line[k];
            let value = if k + 1 == ATTRIBUTES.len() { value.trim_end_matches('.') } else { value };
            let code = code.of(value).map_err(|expected| {
                refuse(k + 1, expected, format!("`{value}` in column `{name}`"))
            })?;
            column.push(code);
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::path::PathBuf;

    use matmech::domain::AttributeSet;

    use super::*;
    use crate::datasets::coded_file::read_inferring_domain;

    /// Invented records in the format of the training part, with minimum and maximum numbers.
    const TRAINING: &str = "\
16, Private, 10000, 10th, 1, Divorced, Sales, Wife, White, Female, 0, 0, 1, Cambodia, <=50K
100, ?, 1500000, Preschool, 16, Widowed, ?, Husband, Black, Male, 100000, 5000, 99, ?, >50K
18, Private, 56594, 10th, 2, Divorced, Sales, Wife, Other, Male, 0, 0, 4, Hong, <=50K

";
    const TEST: &str = "\
|1x3 Cross validator
19, Never-worked, 56562, 9th, 16, Divorced, Sales, Wife, White, Male, 3125, 156, 5, Hong, >50K.
";

    fn read(training: &str, test: &str) -> Result<(Schema, Records)> {
        let dir = tempfile::tempdir().unwrap();
        let paths = [("adult.data", training), ("adult.test", test)].map(|(name, text)| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            path
        });
        read_adult(&paths[0], &paths[1])
    }

    #[test]
    fn values_are_coded_and_renumbered() {
        let (schema, records) = read(TRAINING, TEST).unwrap();
        let column = |p| records.column(p).unwrap().collect::<Vec<u32>>();
        // Bins of age have width 85/32: 16 and 18 in the first, 19 in the second, 100 in the last.
        assert_eq!(column(0), [0, 2, 0, 1]);
        // Private, ?, Private, Never-worked; ? is the last value.
        assert_eq!(column(1), [0, 2, 0, 1]);
        // Bins of fnlwgt have width 1490001/32 = 46562.5…; the second begins at 56,562.5….
        assert_eq!(column(2), [0, 2, 1, 0]);
        // Education alphabetically: 10th, 9th, Preschool.
        assert_eq!(column(3), [0, 2, 0, 1]);
        assert_eq!(column(4), [0, 2, 1, 2]);
        // Bins of capital-gain have width 100001/32 = 3125.03…, of capital-loss 5001/32 = 156.3.
        assert_eq!((column(10), column(11)), (vec![0, 1, 0, 0], vec![0, 1, 0, 0]));
        // Bins of hours have width 99/32 = 3.1.
        assert_eq!(column(12), [0, 2, 0, 1]);
        assert_eq!((column(13), column(14)), (vec![0, 2, 1, 1], vec![0, 1, 0, 1]));
        let sizes: Vec<usize> = schema.attributes().iter().map(|a| a.size).collect();
        assert_eq!(sizes, [3, 3, 3, 3, 3, 2, 2, 2, 3, 2, 2, 2, 3, 3, 2]);
    }

    #[test]
    fn errors_name_file_line_and_column() {
        for (from, to, parts) in [
            (
                "18, Private",
                "17.5, Private",
                vec!["adult.data, line 3, column 1", "`age`", "from 16 to 100", "`17.5`"],
            ),
            ("18, Private", "15, Private", vec!["`age`", "`15`"]),
            (
                "Hong, <=50K",
                "Honk, <=50K",
                vec!["line 3", "`native-country`", "Hong, Holand", "`Honk`"],
            ),
            (", Hong, <=50K", ", <=50K", vec!["line 3: expected 15 values, found 14"]),
        ] {
            let text = TRAINING.replace(from, to);
            assert_ne!(text, TRAINING);
            let message = read(&text, TEST).unwrap_err().to_string();
            for part in parts {
                assert!(message.contains(part), "{part} in {message}");
            }
        }
        assert!(read("", "").unwrap_err().to_string().contains("at least one record"));
        let missing = Path::new("missing.data");
        assert!(read_adult(missing, missing).unwrap_err().to_string().contains("missing.data"));
    }

    /// Returns the real files, if they are in one of the usual data folders.
    pub(in crate::datasets) fn real_files() -> Option<[PathBuf; 3]> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let named = std::env::var_os("MATMECH_DATA").map(PathBuf::from);
        let folders = named
            .into_iter()
            .chain([here.join("../data/downloads"), here.join("../../shared/data")]);
        folders
            .map(|folder| ["adult.data", "adult.test", "adult15.csv"].map(|name| folder.join(name)))
            .find(|files| files.iter().all(|file| file.is_file()))
    }

    #[test]
    fn the_table_equals_the_public_discretised_copy() {
        let Some([training, test, discretised]) = real_files() else {
            eprintln!(
                "skipped: adult.data, adult.test and adult15.csv are not on this machine; \
                 run `make data`"
            );
            return;
        };
        let (schema, records) = read_adult(&training, &test).unwrap();
        let (expected_schema, expected) = read_inferring_domain(&discretised).unwrap();
        assert_eq!(schema, expected_schema);
        assert_eq!(records.sizes(), [28, 9, 30, 16, 16, 7, 15, 6, 5, 2, 12, 24, 32, 42, 2]);
        assert_eq!(records.len(), 48_842);
        for p in 0..15 {
            assert!(records.column(p).unwrap().eq(expected.column(p).unwrap()), "attribute {p}");
        }
        let (mut triples, mut cells) = (0, 0);
        for triple in AttributeSet::first(15).of_size(3) {
            let marginal = records.marginal(triple).unwrap();
            assert_eq!(marginal, expected.marginal(triple).unwrap());
            (triples, cells) = (triples + 1, cells + marginal.len());
        }
        assert_eq!((triples, cells), (455, 1_788_864));
    }
}
