//! Adult as in S2: the training part over 8 × 8 × 16 × 2 = 2048 cells, in natural orders.
//!
//! S2 states attributes and sizes only. Our coding:
//!
//! - age: 8 equal-width bins over [17, 90], the range of the data;
//! - `workclass`: Without-pay and Never-worked merged, in the order of the data set's
//!   documentation, `?` last;
//! - education: by its number, in the order of schooling;
//! - income.
//!
//! The domain is fixed and does not depend on the data.

use std::path::Path;

use matmech::Result;
use matmech::data::{Column, Records};
use matmech::schema::Schema;

use super::adult::{ATTRIBUTES, Code, append, bins, refuse_empty};
use super::coded_file::{recoded, table};

/// The columns of S2's attributes in the files.
const CELL_POSITIONS: [usize; 4] = [0, 1, 4, 14];

/// The coding of age: 8 equal-width bins over the range of the training part.
const EIGHT_AGES: Code = bins(17, 90, 8);

/// The coding of `workclass`: nine values, with Without-pay and Never-worked merged.
const EIGHT_CLASSES: [u32; 9] = [0, 1, 2, 3, 4, 5, 6, 6, 7];

/// Reads `adult.data` over the cells of S2.
///
/// # Errors
/// As [`read_adult`](super::adult::read_adult).
pub fn read_adult_cells(training: &Path) -> Result<(Schema, Records)> {
    let attributes = CELL_POSITIONS.map(|position| {
        let (name, code) = &ATTRIBUTES[position];
        (position, *name, if position == 0 { &EIGHT_AGES } else { code })
    });
    let mut columns: Vec<Column> = attributes.iter().map(|_| Column::default()).collect();
    append(training, &attributes, &mut columns)?;
    refuse_empty(&columns, training.display().to_string())?;
    columns[1] = recoded(&columns[1], &EIGHT_CLASSES);
    let names = attributes.map(|(_, name, _)| name.to_owned()).to_vec();
    table(names, [8, 8, 16, 2].into_iter().zip(columns).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use matmech::domain::AttributeSet;

    use super::super::adult::tests::real_files;
    use super::super::coded_file::read_inferring_domain;
    use super::*;

    /// Age has bins of 9.25 years, Without-pay and Never-worked are merged, and education is coded
    /// by its number.
    #[test]
    fn values_have_the_cells_of_s2() {
        let read = |lines: &str| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("adult.data");
            fs::write(&path, lines).unwrap();
            read_adult_cells(&path).map(|(schema, records)| {
                let column = |p| records.column(p).unwrap().collect::<Vec<u32>>();
                (schema.sizes(), [0, 1, 2, 3].map(column))
            })
        };
        let line = |age: u32, work: &str, education: u32, income: &str| {
            format!(
                "{age}, {work}, 50000, Masters, {education}, Divorced, Sales, Wife, White, \
                 Female, 0, 0, 40, ?, {income}\n"
            )
        };
        let lines = [
            line(17, "Private", 1, "<=50K"),
            line(26, "Without-pay", 16, ">50K"),
            line(27, "Never-worked", 9, "<=50K"),
            line(90, "?", 10, ">50K"),
        ];
        let (sizes, columns) = read(&lines.concat()).unwrap();
        assert_eq!(sizes, [8, 8, 16, 2]);
        assert_eq!(
            columns,
            [vec![0, 0, 1, 7], vec![0, 6, 6, 7], vec![0, 15, 8, 9], vec![0, 1, 0, 1]]
        );
        let message = read(&line(16, "Private", 1, "<=50K")).unwrap_err().to_string();
        assert!(
            message.contains("from 17 to 90") && message.contains("line 1, column 1"),
            "{message}"
        );
        assert!(read("").unwrap_err().to_string().contains("at least one record"));
    }

    #[test]
    fn the_file_of_the_project_has_the_counts_of_awk() {
        let committed =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/tables/adult-cells.csv");
        let (schema, records) = read_inferring_domain(&committed).unwrap();
        if let Some([training, ..]) = real_files() {
            let (_, original) = read_adult_cells(&training).unwrap();
            for k in 0..4 {
                assert!(records.column(k).unwrap().eq(original.column(k).unwrap()), "{k}");
            }
        } else {
            eprintln!("not compared with adult.data, which is not on this machine");
        }
        assert_eq!((schema.sizes(), records.len()), (vec![8, 8, 16, 2], 32_561));
        let marginal =
            |k: usize| records.marginal(AttributeSet::from_positions(&[k]).unwrap()).unwrap();
        // Counted with awk.
        assert_eq!(marginal(1), [22_696.0, 2541.0, 1116.0, 960.0, 2093.0, 1298.0, 21.0, 1836.0]);
        assert_eq!(marginal(3), [24_720.0, 7841.0]);
        assert!(
            marginal(0).iter().all(|&count| count > 0.0)
                && marginal(2).iter().all(|&count| count > 0.0)
        );
    }
}
