//! Derived rows: ratios of values of one run, in a file next to the result table.
//!
//! The rows are computed when a table is published, and when a command finds that a config has
//! changed. The comparison, the figures and the pages read the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::columns;
use crate::config::{Config, Profile};
use crate::entry::{Entry, STANDARD_ERROR, Take, Value};
use crate::error::{Error, FileRole, Result};
use crate::files::write_atomically;
use crate::layout::Results;
use crate::table::Table;

/// Reads the result table of a config, followed by its derived rows.
///
/// # Errors
/// Returns an error if a file is missing or malformed.
pub fn read(folder: Results<'_>, config: &Config) -> Result<Table> {
    let table = result_table(folder, config)?;
    if config.derive.is_empty() {
        return Ok(table);
    }
    let file = folder.derived(&config.experiment);
    let remedy = format!("run `reproduce compare --profile {}`", folder.profile());
    table.followed_by(&Table::read(&file, &folder.shown(&file), &remedy)?)
}

/// Writes the derived rows of a result table; without `[[derive]]` tables there is no file.
///
/// # Errors
/// Returns an error if the table is missing, malformed or does not fit the `[[derive]]` tables, or
/// if the file cannot be written.
pub fn write(folder: Results<'_>, config: &Config) -> Result<()> {
    if config.derive.is_empty() {
        return Ok(());
    }
    let rows = as_csv(&result_table(folder, config)?, &config.derive, folder.profile())?;
    let file = folder.derived(&config.experiment);
    if fs::read(&file).is_ok_and(|old| old == rows) {
        return Ok(());
    }
    write_atomically(&file, &rows)
        .map_err(|error| Error::unwritable(FileRole::ResultTable, &file, &error))
}

fn result_table(folder: Results<'_>, config: &Config) -> Result<Table> {
    let (file, id) = (folder.table(&config.experiment), &config.experiment);
    let remedy = format!("run `reproduce run configs/{id}.toml --profile {}`", folder.profile());
    Table::read(&file, &folder.shown(&file), &remedy)
}

/// Returns the derived rows of a result table as CSV.
///
/// The columns are those of the table without certificates, text and costs, then those of `set` and
/// [`columns::OF_DERIVED`]. The profile `quick`, which runs a part of the cells, has no rows with
/// `take`: the extremes of a part are not those of all.
///
/// # Errors
/// Returns an error if a column is missing, or if no row has a partner although some rows match the
/// filter.
pub fn as_csv(table: &Table, entries: &[Entry], profile: Profile) -> Result<Vec<u8>> {
    let mut keys = table.columns();
    keys.retain(|column| !columns::is_fixed(column));
    let set: BTreeSet<&str> =
        entries.iter().flat_map(|entry| entry.set.keys()).map(String::as_str).collect();
    let added = set.into_iter().filter(|c| *c != columns::METHOD && !keys.contains(c));
    let header: Vec<&str> = (columns::BEFORE_KEYS.into_iter())
        .chain(keys.iter().copied())
        .chain(added)
        .chain([columns::METHOD, columns::METRIC, columns::VALUE])
        .chain(columns::OF_DERIVED)
        .chain([columns::SEED])
        .collect();
    let bug = |error: csv::Error| Error::bug("derived rows", "text in memory", error);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&header).map_err(bug)?;
    for entry in entries.iter().filter(|e| profile != Profile::Quick || e.take.is_none()) {
        for row in derived_rows(table, entry, &keys)? {
            let field = |column: &&str| row.get(*column).map_or("", String::as_str);
            writer.write_record(header.iter().map(field)).map_err(bug)?;
        }
    }
    writer.into_inner().map_err(|error| bug(error.into_error().into()))
}

/// A derived row: column → field.
type Fields<'t> = BTreeMap<&'t str, String>;

fn derived_rows<'t>(
    table: &'t Table,
    entry: &'t Entry,
    keys: &[&'t str],
) -> Result<Vec<Fields<'t>>> {
    table.require(&entry.column, "derive.column")?;
    entry.over.keys().try_for_each(|column| table.require(column, "derive.over"))?;
    entry.filter.keys().try_for_each(|column| table.require(column, "derive.where"))?;
    let values = entry.values(table, |_| true);
    if values.is_empty() && (0..table.len()).any(|row| table.selects(&entry.filter, row)) {
        let expected = format!(
            "a row with {:?} among those with {:?} ([[derive]] {})",
            entry.over, entry.filter, entry.metric
        );
        let remedy = "correct `over` or `where`";
        return Err(Error::file(FileRole::Input, table.name(), expected, "none", remedy));
    }
    let fields = |value: &Value<'_>, number: f64| {
        let field = |column, row| table.field(column, row).to_owned();
        let copied = [columns::EXPERIMENT, columns::CELL, columns::METHOD, columns::SEED];
        let copied = keys.iter().copied().chain(copied);
        let mut fields: Fields<'_> =
            copied.map(|column| (column, field(column, value.row))).collect();
        let partner = value.partner.map(|partner| field(columns::CELL, partner));
        let take = match entry.take {
            None => "",
            Some(Take::Smallest) => "smallest of ",
            Some(Take::Largest) => "largest of ",
            Some(Take::Share) => "share below 1 of ",
        };
        fields.extend([
            (columns::METRIC, entry.metric.clone()),
            (columns::VALUE, number.to_string()),
            (columns::FROM, field(columns::METRIC, value.row)),
            (columns::COLUMN, entry.column.clone()),
            (columns::FORMULA, format!("{take}{}", entry.formula)),
            (columns::PARTNER, partner.unwrap_or_default()),
        ]);
        fields.extend(entry.set.iter().map(|(column, value)| (column.as_str(), value.clone())));
        fields
    };
    let kept = entry.kept(values);
    let errors = kept.iter().filter(|_| entry.standard_error).filter_map(|value| {
        let mut fields = fields(value, value.standard_error()?);
        fields.insert(columns::METRIC, format!("{}{STANDARD_ERROR}", entry.metric));
        fields.insert(columns::FORMULA, format!("standard error of {}", entry.formula));
        Some(fields)
    });
    Ok(kept.iter().map(|value| fields(value, value.number)).chain(errors).collect())
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

    /// Returns the table followed by its derived rows.
    fn extended(table: &Table, spec: &Entry, profile: Profile) -> Result<Table> {
        spec.validate(true).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.derived.csv");
        fs::write(&path, as_csv(table, std::slice::from_ref(spec), profile)?).unwrap();
        table.followed_by(&Table::read(&path, "t.derived.csv", "none")?)
    }

    fn derived(spec: &str) -> Vec<(String, String, f64)> {
        let spec: Entry = toml::from_str(spec).unwrap();
        let extended = extended(&table(), &spec, Profile::Standard).unwrap();
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
        let spec = "metric = 'ratio'\nover = { method = 'fast' }\n\
            where = { metric = 'error', method = ['slow'] }\n";
        let real = |dataset: &str, ratio| (dataset.to_owned(), "real".to_owned(), ratio);
        let stand_in = |dataset: &str, ratio| (dataset.to_owned(), "stand-in".to_owned(), ratio);
        assert_eq!(derived(spec), [real("small", 2.0), stand_in("large", 1.25)]);
        let times = format!("{spec}column = 'seconds'\n");
        assert_eq!(derived(&times), [real("small", 4.0), stand_in("large", 10.0)]);
        assert_eq!(
            derived(&format!("{times}formula = 'inverse'\n")),
            [real("small", 0.25), stand_in("large", 0.1)]
        );
    }

    #[test]
    fn extremes_and_means_are_one_row() {
        let spec = "metric = 'ratio'\nover = { method = 'fast' }\n\
            where = { metric = 'error', method = ['slow'] }\ncolumn = 'seconds'\n";
        assert_eq!(
            derived(&format!("{spec}take = 'smallest'\n")),
            [("small".to_owned(), "real".to_owned(), 4.0)]
        );
        // Ratios to the slow method: 1 and 0.5, 1 and 0.8, 1.
        let share = "metric = 'ratio'\nwhere = { metric = 'error' }\n\
                     over = { method = 'slow' }\ntake = 'share'\n";
        assert_eq!(derived(share)[0].2, 0.4);
        let set = format!("{spec}take = 'largest'\nset = {{ id = 'claim' }}\n");
        let spec: Entry = toml::from_str(&set).unwrap();
        let quick = extended(&table(), &spec, Profile::Quick).unwrap();
        assert_eq!((quick.len(), quick.columns().contains(&"id")), (5, true));
        let extended = extended(&table(), &spec, Profile::Standard).unwrap();
        assert_eq!(spec.take, Some(Take::Largest));
        assert_eq!(extended.with("id", "claim").unwrap().field(columns::VALUE, 0), "10");
        assert_eq!(extended.field("id", 0), "");
    }

    #[test]
    fn the_smallest_value_of_a_column_can_be_the_partner() {
        let ratios =
            derived("metric = 'ratio'\nwhere = { metric = 'error' }\nover = { method = '*' }\n");
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
        let text = "metric = 'ratio'\nwhere = { metric = 'error' }\nover = { method = 'fast' }\nstandard_error = true\n";
        let spec: Entry = toml::from_str(text).unwrap();
        let errors = extended(&table, &spec, Profile::Standard)
            .unwrap()
            .with(columns::METRIC, "ratio_se")
            .unwrap();
        let value = |row| errors.number(columns::VALUE, row).unwrap();
        let found: Vec<(&str, f64)> =
            (0..errors.len()).map(|row| (errors.field(columns::CELL, row), value(row))).collect();
        assert_eq!(found.iter().map(|(cell, _)| *cell).collect::<Vec<_>>(), ["a", "b", "d"]);
        approx::assert_relative_eq!(found[0].1, 2.0 * 0.05f64.sqrt(), max_relative = 1e-14);
        assert_eq!((found[1].1, found[2].1), (0.0, 0.0));
        let spec: Entry = toml::from_str(&format!("{text}take = 'largest'\n")).unwrap();
        assert_eq!(spec.validate(true).unwrap_err().key(), "standard_error");
    }

    #[test]
    fn savings_and_exponents_of_growth() {
        let saving = "metric = 'saving'\nover = { method = 'slow|other' }\n\
            where = { metric = 'error', method = ['fast'] }\n";
        let spec: Entry = toml::from_str(&format!("{saving}formula = 'saving'\n")).unwrap();
        let of = |spec: &Entry, table: &Table| -> Vec<f64> {
            let extended = extended(table, spec, Profile::Standard).unwrap();
            let derived = extended.with(columns::METRIC, &spec.metric).unwrap();
            (0..derived.len()).map(|row| derived.number(columns::VALUE, row).unwrap()).collect()
        };
        let found = of(&spec, &table());
        approx::assert_relative_eq!(found[..], [50.0, 20.0][..], max_relative = 1e-12);
        let text = format!("{saving}formula = 'root-excess'\n");
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
        let growth = "metric = 'growth'\nwhere = { metric = 't' }\nover = { d = '10' }\nformula = { exponent = 'd' }\n";
        let spec: Entry = toml::from_str(growth).unwrap();
        let found = of(&spec, &Table::read(&path, "g.csv", "none").unwrap());
        approx::assert_relative_eq!(found[..], [2.0, 2.0][..], max_relative = 1e-12);
    }

    #[test]
    fn a_missing_partner_is_an_error() {
        let spec = "metric = 'ratio'\nwhere = { metric = 'error' }\nover = { method = 'fats' }\n";
        let error = extended(&table(), &toml::from_str(spec).unwrap(), Profile::Standard)
            .unwrap_err()
            .to_string();
        assert!(error.contains("fats") && error.contains("t.csv"), "{error}");
    }

    #[test]
    fn invalid_specs_are_refused_by_key() {
        let valid = "metric = 'ratio'\nwhere = { metric = 'error' }\nover = { method = 'x' }\n";
        let refused = |text: &str| {
            let spec: Entry = toml::from_str(text).unwrap();
            spec.validate(true).unwrap_err().key().to_owned()
        };
        for (from, to, key) in [
            ("method = 'x'", "", "over"),
            ("method = 'x'", "value = 'x'", "over"),
            ("'ratio'", "'error'", "where"),
            ("metric = 'error'", "", "where"),
        ] {
            assert_eq!(refused(&valid.replace(from, to)), key, "{from}: {to}");
        }
        for (key, value) in [("from", "'t.csv'"), ("format", "'text'"), ("label", "'method'")] {
            assert_eq!(refused(&format!("{valid}{key} = {value}\n")), key);
        }
        let error = toml::from_str::<Entry>(&format!("{valid}wher = {{}}\n")).unwrap_err();
        assert!(error.message().contains("unknown field `wher`, expected one of `metric`"));
    }
}
