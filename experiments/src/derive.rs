//! Derived rows: ratios of values of one run, for the comparison and the figures.

use std::collections::{BTreeMap, HashMap};

use crate::columns;
use crate::config::{DeriveSpec, Profile, Take};
use crate::error::{Error, FileRole, Result};
use crate::table::Table;

/// Returns the table extended by the rows of all `[[derive]]` tables of its config.
///
/// A later `[[derive]]` table can use the rows of an earlier one. The profile `quick`, which runs a
/// part of the cells, has no rows with `take`.
///
/// # Errors
/// Returns an error if a column is missing, or if no row has a partner although some rows match the
/// filter.
pub fn extended(table: &Table, specs: &[DeriveSpec], profile: Profile) -> Result<Table> {
    specs.iter().try_fold(table.clone(), |table, spec| {
        let columns: Vec<&str> = spec.set.keys().map(String::as_str).collect();
        let table = table.with_columns(&columns)?;
        // The extremes and means of a part of the cells are not those of all.
        if profile == Profile::Quick && spec.take.is_some() {
            Ok(table)
        } else {
            table.extended(&derived_rows(&table, spec)?)
        }
    })
}

/// In `over`: the value of the column with the smallest number.
const ANY: &str = "*";

/// In `over`: separates values, of which the one with the smallest number is taken.
const OR: char = '|';

fn is_choice(value: &str) -> bool {
    value == ANY || value.contains(OR)
}

/// Returns the derived value of a row and its partner, if it is finite.
///
/// `x` is the value of the row in the column `exponent_of`.
fn derived_value(spec: &DeriveSpec, (value, x): (f64, Option<f64>), partner: f64) -> Option<f64> {
    let ratio = if spec.root { (value / partner).sqrt() } else { value / partner };
    let derived = match &spec.exponent_of {
        Some(column) => ratio.ln() / (x? / spec.over.get(column)?.parse::<f64>().ok()?).ln(),
        None if spec.saving => 100.0 * (1.0 - ratio),
        None if spec.excess => 100.0 * (ratio - 1.0),
        None if spec.inverse => ratio.recip(),
        None => ratio,
    };
    derived.is_finite().then_some(derived)
}

/// A derived row: column → field.
type Fields = BTreeMap<String, String>;

fn derived_rows(table: &Table, spec: &DeriveSpec) -> Result<Vec<Fields>> {
    table.require(&spec.column, "derive.column")?;
    spec.over.keys().try_for_each(|column| table.require(column, "derive.over"))?;
    let keys: Vec<&str> = table
        .columns()
        .into_iter()
        .filter(|column| !columns::is_fixed(column) || *column == columns::METHOD)
        .collect();
    let from = table.with(columns::METRIC, &spec.from)?;
    let key = |table: &Table, row: usize| -> Vec<String> {
        keys.iter().map(|column| table.field(column, row).to_owned()).collect()
    };
    let mut partners: HashMap<Vec<String>, f64> = HashMap::new();
    for row in 0..from.len() {
        let mut key = key(&from, row);
        for (field, column) in key.iter_mut().zip(&keys) {
            if let Some(choice) = spec.over.get(*column).filter(|value| is_choice(value))
                && (choice == ANY || choice.split(OR).any(|value| value == field.as_str()))
            {
                choice.clone_into(field);
            }
        }
        if let Some(value) = from.number(&spec.column, row) {
            let smallest = partners.entry(key).or_insert(value);
            *smallest = smallest.min(value);
        }
    }
    let divided = from.filtered(&spec.filter, "derive.where")?;
    let mut ratios = Vec::new();
    for row in 0..divided.len() {
        let partner: Vec<String> = keys
            .iter()
            .map(|column| {
                spec.over.get(*column).map_or(divided.field(column, row), String::as_str).to_owned()
            })
            .collect();
        let (Some(value), Some(partner)) =
            (divided.number(&spec.column, row), partners.get(&partner))
        else {
            continue;
        };
        let x = spec.exponent_of.as_ref().and_then(|column| divided.number(column, row));
        if let Some(ratio) = derived_value(spec, (value, x), *partner) {
            ratios.push((row, ratio));
        }
    }
    if ratios.is_empty() && !divided.is_empty() {
        let expected = format!(
            "a row with {:?} among those with metric \"{}\" ([[derive]] {})",
            spec.over, spec.from, spec.metric
        );
        return Err(Error::file(
            FileRole::Input,
            table.name(),
            expected,
            "none",
            "correct `over` or `where`",
        ));
    }
    let fields_of = |row: usize, ratio: f64| {
        let mut fields: Fields = keys
            .iter()
            .map(|column| ((*column).to_owned(), divided.field(column, row).to_owned()))
            .collect();
        for column in [columns::EXPERIMENT, columns::CELL, columns::SEED] {
            fields.insert(column.to_owned(), divided.field(column, row).to_owned());
        }
        fields.insert(columns::METRIC.to_owned(), spec.metric.clone());
        fields.insert(columns::VALUE.to_owned(), ratio.to_string());
        fields.extend(spec.set.clone());
        fields
    };
    let Some(take) = spec.take else {
        let mut rows: Vec<Fields> =
            ratios.iter().map(|&(row, ratio)| fields_of(row, ratio)).collect();
        for (row, error) in standard_errors(table, spec, &keys, &divided, &ratios)? {
            let metric = (columns::METRIC.to_owned(), format!("{}{STANDARD_ERROR}", spec.metric));
            rows.push(fields_of(row, error).into_iter().chain([metric]).collect());
        }
        return Ok(rows);
    };
    let by_ratio = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
    let kept = match take {
        Take::Smallest => ratios.iter().min_by(by_ratio).copied(),
        Take::Largest => ratios.iter().max_by(by_ratio).copied(),
        Take::Mean => {
            let mean = (ratios.iter().map(|(_, ratio)| ratio.ln()).sum::<f64>()
                / ratios.len() as f64)
                .exp();
            ratios.first().map(|&(row, _)| (row, mean))
        }
        Take::Share => {
            let below = ratios.iter().filter(|(_, ratio)| *ratio < 1.0).count();
            ratios.first().map(|&(row, _)| (row, below as f64 / ratios.len() as f64))
        }
    };
    Ok(kept.map(|(row, ratio)| fields_of(row, ratio)).into_iter().collect())
}

/// The suffix of the metric of a standard error.
const STANDARD_ERROR: &str = "_se";

/// Returns the standard errors of the ratios, for rows whose two means have standard errors.
///
/// To first order, the standard error of a/b is (a/b)·√((s_a/a)² + (s_b/b)²). The ratio of a row to
/// itself is exact. The result is empty if `spec.error` is not set.
fn standard_errors(
    table: &Table,
    spec: &DeriveSpec,
    keys: &[&str],
    divided: &Table,
    ratios: &[(usize, f64)],
) -> Result<Vec<(usize, f64)>> {
    let Some(metric) = &spec.error else { return Ok(Vec::new()) };
    let of = |table: &Table| -> HashMap<Vec<String>, f64> {
        let key = |row| keys.iter().map(|column| table.field(column, row).to_owned()).collect();
        (0..table.len())
            .filter_map(|row| Some((key(row), table.number(columns::VALUE, row)?)))
            .collect()
    };
    let relative = of(&table.with(columns::METRIC, metric)?);
    let means = of(&table.with(columns::METRIC, &spec.from)?);
    let share = |key: &Vec<String>| Some(relative.get(key)? / means.get(key)?);
    let error = |&(row, ratio): &(usize, f64)| {
        let key: Vec<String> =
            keys.iter().map(|column| divided.field(column, row).to_owned()).collect();
        let partner: Vec<String> = keys
            .iter()
            .zip(&key)
            .map(|(column, field)| spec.over.get(*column).unwrap_or(field).clone())
            .collect();
        let error = if key == partner { 0.0 } else { ratio * share(&key)?.hypot(share(&partner)?) };
        Some((row, error))
    };
    Ok(ratios.iter().filter_map(error).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "experiment,cell,dataset,data,method,metric,value,lower_bound,gap,text,\
        seconds,peak_mb,seed\n\
        s9/t,a,small,real,slow,error,6,,,,8,1,7\n\
        s9/t,b,small,real,fast,error,3,,,,2,1,7\n\
        s9/t,c,large,stand-in,slow,error,5,,,,30,1,7\n\
        s9/t,d,large,stand-in,fast,error,4,,,,3,1,7\n\
        s9/t,e,alone,real,slow,error,4,,,,3,1,7\n";

    fn table() -> Table {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, TABLE).unwrap();
        Table::read(&path, "t.csv", "none").unwrap()
    }

    fn derived(spec: &str) -> Vec<(String, String, f64)> {
        let spec: DeriveSpec = toml::from_str(spec).unwrap();
        spec.validate().unwrap();
        let extended = extended(&table(), &[spec], Profile::Standard).unwrap();
        let ratios = extended.with(columns::METRIC, "ratio").unwrap();
        assert_eq!(extended.len(), 5 + ratios.len());
        let field = |column, row| ratios.field(column, row).to_owned();
        (0..ratios.len())
            .map(|row| {
                let ratio = ratios.number(columns::VALUE, row).unwrap();
                (field("dataset", row), field(columns::DATA, row), ratio)
            })
            .collect()
    }

    #[test]
    fn each_row_is_divided_by_its_partner() {
        let spec = "metric = 'ratio'\nfrom = 'error'\nover = { method = 'fast' }\n\
            where = { method = ['slow'] }\n";
        let real = |dataset: &str, ratio| (dataset.to_owned(), "real".to_owned(), ratio);
        let stand_in = |dataset: &str, ratio| (dataset.to_owned(), "stand-in".to_owned(), ratio);
        assert_eq!(derived(spec), [real("small", 2.0), stand_in("large", 1.25)]);
        let times = format!("{spec}column = 'seconds'\n");
        assert_eq!(derived(&times), [real("small", 4.0), stand_in("large", 10.0)]);
        assert_eq!(
            derived(&format!("{times}inverse = true\n")),
            [real("small", 0.25), stand_in("large", 0.1)]
        );
    }

    #[test]
    fn extremes_and_means_are_one_row() {
        let spec = "metric = 'ratio'\nfrom = 'error'\nover = { method = 'fast' }\n\
            where = { method = ['slow'] }\ncolumn = 'seconds'\n";
        assert_eq!(
            derived(&format!("{spec}take = 'smallest'\n")),
            [("small".to_owned(), "real".to_owned(), 4.0)]
        );
        let mean = derived(&format!("{spec}take = 'mean'\n"));
        approx::assert_relative_eq!(mean[0].2, 40f64.sqrt(), max_relative = 1e-14);
        // Ratios to the slow method: 1 and 0.5, 1 and 0.8, 1.
        let share =
            "metric = 'ratio'\nfrom = 'error'\nover = { method = 'slow' }\ntake = 'share'\n";
        assert_eq!(derived(share)[0].2, 0.4);
        let set = format!("{spec}take = 'largest'\nset = {{ id = 'claim' }}\n");
        let spec: DeriveSpec = toml::from_str(&set).unwrap();
        let quick = extended(&table(), std::slice::from_ref(&spec), Profile::Quick).unwrap();
        assert_eq!((quick.len(), quick.columns().contains(&"id")), (5, true));
        let extended = extended(&table(), &[spec], Profile::Standard).unwrap();
        assert_eq!(extended.with("id", "claim").unwrap().field(columns::VALUE, 0), "10");
        assert_eq!(extended.field("id", 0), "");
    }

    #[test]
    fn the_smallest_value_of_a_column_can_be_the_partner() {
        let ratios = derived("metric = 'ratio'\nfrom = 'error'\nover = { method = '*' }\n");
        assert_eq!(
            ratios.iter().map(|(_, _, ratio)| *ratio).collect::<Vec<_>>(),
            [2.0, 1.0, 1.25, 1.0, 1.0]
        );
    }

    /// (6 ± 0.6)/(3 ± 0.6) is 2 ± 2·√(0.1² + 0.2²). Rows without a standard error have none.
    #[test]
    fn ratios_of_means_have_standard_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let errors = "s9/t,a,small,real,slow,error_se,0.6,,,,8,1,7\n\
            s9/t,b,small,real,fast,error_se,0.6,,,,2,1,7\n\
            s9/t,c,large,stand-in,slow,error_se,1,,,,30,1,7\n";
        std::fs::write(&path, format!("{TABLE}{errors}")).unwrap();
        let table = Table::read(&path, "t.csv", "none").unwrap();
        let text =
            "metric = 'ratio'\nfrom = 'error'\nover = { method = 'fast' }\nerror = 'error_se'\n";
        let spec: DeriveSpec = toml::from_str(text).unwrap();
        spec.validate().unwrap();
        let errors = extended(&table, &[spec], Profile::Standard)
            .unwrap()
            .with(columns::METRIC, "ratio_se")
            .unwrap();
        let value = |row| errors.number(columns::VALUE, row).unwrap();
        let found: Vec<(&str, f64)> =
            (0..errors.len()).map(|row| (errors.field(columns::CELL, row), value(row))).collect();
        assert_eq!(found.iter().map(|(cell, _)| *cell).collect::<Vec<_>>(), ["a", "b", "d"]);
        approx::assert_relative_eq!(found[0].1, 2.0 * 0.05f64.sqrt(), max_relative = 1e-14);
        assert_eq!((found[1].1, found[2].1), (0.0, 0.0));
        let spec: DeriveSpec = toml::from_str(&format!("{text}take = 'largest'\n")).unwrap();
        assert_eq!(spec.validate().unwrap_err().key(), "error");
    }

    #[test]
    fn savings_and_exponents_of_growth() {
        let saving = "metric = 'saving'\nfrom = 'error'\nover = { method = 'slow|other' }\n\
            where = { method = ['fast'] }\n";
        let spec: DeriveSpec = toml::from_str(&format!("{saving}saving = true\n")).unwrap();
        let of = |spec: &DeriveSpec, table: &Table| -> Vec<f64> {
            let extended = extended(table, std::slice::from_ref(spec), Profile::Standard).unwrap();
            let derived = extended.with(columns::METRIC, &spec.metric).unwrap();
            (0..derived.len()).map(|row| derived.number(columns::VALUE, row).unwrap()).collect()
        };
        let found = of(&spec, &table());
        approx::assert_relative_eq!(found[..], [50.0, 20.0][..], max_relative = 1e-12);
        let text = format!("{saving}excess = true\nroot = true\n");
        let found = of(&toml::from_str(&text).unwrap(), &table());
        let expected = [100.0 * (0.5f64.sqrt() - 1.0), 100.0 * (0.8f64.sqrt() - 1.0)];
        approx::assert_relative_eq!(found[..], expected[..], max_relative = 1e-12);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.csv");
        let rows: String = [(10, 2.0), (20, 8.0), (40, 32.0)]
            .map(|(d, t)| format!("s9/g,c{d},{d},m,t,{t},,,,1,1,7\n"))
            .concat();
        let head =
            "experiment,cell,d,method,metric,value,lower_bound,gap,text,seconds,peak_mb,seed\n";
        std::fs::write(&path, format!("{head}{rows}")).unwrap();
        let growth = "metric = 'growth'\nfrom = 't'\nover = { d = '10' }\nexponent_of = 'd'\n";
        let spec: DeriveSpec = toml::from_str(growth).unwrap();
        spec.validate().unwrap();
        let found = of(&spec, &Table::read(&path, "g.csv", "none").unwrap());
        approx::assert_relative_eq!(found[..], [2.0, 2.0][..], max_relative = 1e-12);
        let spec: DeriveSpec =
            toml::from_str(&growth.replace("exponent_of = 'd'", "exponent_of = 'n'")).unwrap();
        assert_eq!(spec.validate().unwrap_err().key(), "exponent_of");
    }

    #[test]
    fn a_missing_partner_is_an_error() {
        let spec = "metric = 'ratio'\nfrom = 'error'\nover = { method = 'fats' }\n";
        let error = extended(&table(), &[toml::from_str(spec).unwrap()], Profile::Standard)
            .unwrap_err()
            .to_string();
        assert!(error.contains("fats") && error.contains("t.csv"), "{error}");
    }

    #[test]
    fn invalid_specs_are_refused_by_key() {
        for (spec, key) in [
            ("metric = 'ratio'\nfrom = 'error'\nover = {}\n", "over"),
            ("metric = 'ratio'\nfrom = 'error'\nover = { metric = 'x' }\n", "over"),
            ("metric = 'error'\nfrom = 'error'\nover = { method = 'x' }\n", "metric"),
        ] {
            let spec: DeriveSpec = toml::from_str(spec).unwrap();
            assert_eq!(spec.validate().unwrap_err().key(), key);
        }
    }
}
