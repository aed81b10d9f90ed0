//! The text of a drafted schema. **Not private.**

use super::grid::{self, EqualBins};
use super::literal;
use super::profile::{Kind, Profile};
use crate::data::table::{ColumnHeader, TypedTable};
use crate::decimal::Decimal;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::schema::ColumnType;

/// Maximum distinct numbers that are listed; more get bins.
const MAX_NUMBERS: usize = 12;

/// The width of the range over that of the middle 96 % of the numbers, above which bins have unequal
/// widths.
const HEAVY_TAIL: f64 = 10.0;

/// Fewest edges of unequal bins; with fewer the bins between the tails have equal widths.
const MIN_EDGES: usize = 4;

/// Labels of the cells of missing and of other values; the first that is no value of the column is
/// chosen.
const MISSING: [&str; 2] = ["unknown", "missing"];
const OTHER: [&str; 2] = ["other", "outside"];

/// The columns of a table by what a schema can do with them.
#[derive(Default)]
struct Sections {
    attributes: Vec<String>,
    left_out: Vec<String>,
    persons: Vec<String>,
}

/// Returns a commented schema, in TOML, that has a cell for every value, also for missing ones and
/// for values that are not in the table. Columns with more than `max_values` distinct texts are
/// left out.
///
/// **Not private**: values, ranges and counts are those of the records.
///
/// # Errors
/// The table cannot be read, or no column can be an attribute.
pub fn draft_schema(mut table: Box<dyn TypedTable>, max_values: usize) -> Result<String> {
    let headers = table.columns().to_vec();
    let origin = table.origin().to_owned();
    let mut sections = Sections::default();
    let mut columns: Vec<usize> = Vec::new();
    for (index, header) in headers.iter().enumerate() {
        match unusable(header, &headers) {
            Some(why) => {
                let name = header.name.as_deref().unwrap_or_default();
                sections.left_out.push(format!("{}: {why}", literal::text(name)));
            }
            None => columns.push(index),
        }
    }
    check_separator(&headers, &origin)?;
    let mut profiles: Vec<Profile> = columns.iter().map(|_| Profile::new(max_values)).collect();
    while let Some(batch) =
        table.next_batch(&columns).map_err(|error| error.at_its_line(&origin))?
    {
        for (profile, values) in profiles.iter_mut().zip(&batch.columns) {
            profile.extend(values);
        }
    }
    for (index, profile) in columns.iter().zip(&profiles) {
        let name = headers[*index].name.as_deref().unwrap_or_default();
        add(&mut sections, name, profile, max_values);
    }
    if sections.attributes.is_empty() {
        return Err(Error::bad_input(
            origin,
            "a column with few values, or with numbers",
            format!("none; left out: {}", sections.left_out.join("; ")),
            "give a larger maximum of values (--max-values), or group the values of a column",
        ));
    }
    Ok(sections.to_toml(&origin))
}

/// Refuses a table whose only column has a name with separators of other formats.
fn check_separator(headers: &[ColumnHeader], origin: &str) -> Result<()> {
    let [ColumnHeader { name: Some(name), .. }] = headers else { return Ok(()) };
    let separators = [(';', "semicolons"), ('\t', "tabs"), ('|', "vertical bars")];
    let Some((_, separator)) = separators.into_iter().find(|(c, _)| name.contains(*c)) else {
        return Ok(());
    };
    Err(Error::bad_input(
        format!("{origin}, header"),
        "names of columns that are separated by commas",
        format!("one name with {separator}: {}", literal::text(name)),
        "export the file as CSV with commas as separators and points in decimal numbers, such as \
         1.5",
    ))
}

/// Returns why a column cannot be an attribute, whatever its values.
fn unusable(header: &ColumnHeader, headers: &[ColumnHeader]) -> Option<String> {
    let same = headers.iter().filter(|other| other.name == header.name).count();
    match (&header.name, header.kind) {
        (None, _) => Some("the name is not UTF-8".to_owned()),
        (Some(name), _) if name.is_empty() => Some("the column has no name".to_owned()),
        (Some(_), ColumnType::Unsupported(kind)) => Some(format!("{kind} have no cells")),
        _ if same > 1 => Some("several columns have this name".to_owned()),
        _ => None,
    }
}

fn add(sections: &mut Sections, name: &str, profile: &Profile, max_values: usize) {
    let quoted = literal::text(name);
    let found = in_words(profile);
    let leave_out = |sections: &mut Sections, why: &str| {
        sections.left_out.push(format!("{quoted}: {found}; {why}"));
    };
    if profile.looks_like_identifiers() {
        sections.persons.push(format!("{quoted}: {found}"));
        return;
    }
    let keys = if profile.is_numeric() {
        number_keys(profile)
    } else {
        profile.values().map(|values| {
            let values: Vec<String> = values.iter().map(literal::value).collect();
            format!("kind = \"categorical\"\n{}", literal::list("values", &values))
        })
    };
    match keys {
        _ if sections.attributes.len() >= AttributeSet::CAPACITY => {
            leave_out(sections, "a schema has at most 128 attributes");
        }
        None if profile.kind == Some(Kind::Time) => {
            leave_out(sections, "derive a column of years or months");
        }
        None if profile.kind.is_none() => leave_out(sections, "no value can have a cell"),
        None => {
            let why =
                format!("more than {max_values} values, or numbers beyond doubles: group them");
            leave_out(sections, &why);
        }
        Some(mut keys) => {
            if profile.missing > 0 {
                keys += &format!("missing = {}\n", label(profile, MISSING));
            }
            keys += &format!("other = {}\n", label(profile, OTHER));
            sections.attributes.push(format!("# {found}\n[[attribute]]\nname = {quoted}\n{keys}"));
        }
    }
}

/// Returns the first label that is no value of a column, or else one with a number.
fn label(profile: &Profile, labels: [&str; 2]) -> String {
    let numbered = (2..).map(|number| format!("{} {number}", labels[0]));
    let labels = labels.into_iter().map(str::to_owned).chain(numbered);
    let label = labels.into_iter().find(|label| !profile.has_text(label));
    literal::text(&label.unwrap_or_default())
}

/// Returns type, distinct values, range and missing values of a column.
fn in_words(profile: &Profile) -> String {
    let kind = match profile.kind {
        None => "no values",
        Some(Kind::Boolean) => "booleans",
        Some(Kind::Time) => "dates or times",
        Some(Kind::Integer) => "integers",
        Some(Kind::Number) => "numbers with fractions",
        Some(Kind::Text) => "text",
    };
    let (distinct, is_more) = profile.distinct();
    let more = if is_more { "at least " } else { "" };
    let mut words = format!("{kind}, {more}{distinct} distinct");
    if let (true, Some((low, high))) = (profile.is_numeric(), &profile.range) {
        words += &format!(", from {low} to {high}");
    }
    let share = |count: usize| 100.0 * count as f64 / profile.records.max(1) as f64;
    words += &format!(", {:.1} % missing or empty", share(profile.missing));
    if profile.kind == Some(Kind::Text) && 2 * profile.decimal_commas > profile.counted() {
        words += "; numbers with decimal commas are texts: export them with points, such as 1.5";
    }
    if profile.without_cell > 0 {
        words += &format!(", {:.1} % that no schema can list", share(profile.without_cell));
    }
    words
}

/// Returns the keys of a column of numbers.
fn number_keys(profile: &Profile) -> Option<String> {
    if let (Some(values), true) = (profile.values(), profile.distinct().0 <= MAX_NUMBERS) {
        let values: Vec<String> = values.iter().map(literal::value).collect();
        return Some(format!("kind = \"numeric\"\n{}", literal::list("values", &values)));
    }
    let (low, high) = profile.range.as_ref()?;
    let is_integer = profile.kind == Some(Kind::Integer);
    let bins = grid::equal_bins(low, high, is_integer)?;
    let equal = equal_bins_key(&bins)?;
    let quantiles = profile.quantiles(&[0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98]);
    let (first, last) = (quantiles.first()?, quantiles.last()?);
    let rounding = format!(
        "# Rounding: the bins are {} wide. Use a width that is meaningful without the records.\n",
        bins.step
    );
    let kind = if is_integer { "kind = \"integer\"\n" } else { "kind = \"numeric\"\n" };
    let middle = last - first;
    let is_heavy = high.minus(low).to_f64() > HEAVY_TAIL * middle;
    // A long tail is one cell.
    let (below, above) = (first - low.to_f64() > middle, high.to_f64() - last > middle);
    // Without the long tails, whose grid is too coarse for the other end.
    let end = |is_open: bool, quantile: f64, end: &Decimal| match is_open {
        true => Decimal::shortest(quantile),
        false => Some(end.clone()),
    };
    let ends = end(below, *first, low).zip(end(above, *last, high));
    let inner = ends.and_then(|(low, high)| grid::equal_bins(&low, &high, is_integer));
    let inner = inner.unwrap_or_else(|| bins.clone());
    let mut edges = grid::edges(&inner, &quantiles, is_integer);
    if above {
        edges.pop();
    }
    if below && !edges.is_empty() {
        edges.remove(0);
    }
    // Quantiles that are close to each other have few edges on the grid.
    if edges.len() < MIN_EDGES {
        edges = inner.edges();
    }
    if !is_heavy || edges.len() < 2 {
        return Some(format!("{kind}{rounding}{equal}"));
    }
    let written: Option<Vec<String>> = edges.iter().map(literal::number).collect();
    let open = [("below", below), ("above", above)].map(|(key, is_open)| match is_open {
        true => format!("{key} = true\n"),
        false => String::new(),
    });
    Some(format!(
        "{kind}# Top-coding: 96 % of the numbers are from {first} to {last}. All numbers beyond\n\
         # the last edge of a long tail are one value.\n{}{}# Bins of equal width: {equal}",
        literal::list("edges", &written?),
        open.concat()
    ))
}

fn equal_bins_key(bins: &EqualBins) -> Option<String> {
    let (low, high) = (literal::number(&bins.low)?, literal::number(&bins.high)?);
    Some(format!("bins = {{ low = {low}, high = {high}, count = {} }}\n", bins.count))
}

impl Sections {
    fn to_toml(&self, origin: &str) -> String {
        let mut text = format!(
            "# NOT PRIVATE: made from the records of {}. Do not publish this file.\n\
             # The schema of a release must not depend on the records. Replace values and ranges\n\
             # by those that are known without them, such as a code list, and delete these\n\
             # comments. No record is dropped: `missing` is the cell of missing values, and `other`\n\
             # that of values outside the attribute.\n",
            literal::text(origin)
        );
        for attribute in &self.attributes {
            text += &format!("\n{attribute}");
        }
        for (title, columns) in [
            (
                "Identifiers? Almost every record has a different value: for --person.",
                &self.persons,
            ),
            ("Left out:", &self.left_out),
        ] {
            if !columns.is_empty() {
                text += &format!("\n# {title}\n");
                columns.iter().for_each(|column| text += &format!("# {column}\n"));
            }
        }
        text
    }
}
