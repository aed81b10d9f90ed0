//! Tables of answers to queries in words.

use std::io::Write;

use matmech::release::queries::{QueryAnswer, QueryAnswers};

/// Digits of the half-length of an interval that its ends show.
const DIGITS: i32 = 3;

/// Maximum decimals of a number.
const MAX_DECIMALS: i32 = 12;

/// Prints the answers to every query as a table, with its notes.
pub(super) fn print(out: &mut dyn Write, all: &[QueryAnswers]) -> std::io::Result<()> {
    for (k, answers) in all.iter().enumerate() {
        if k > 0 {
            writeln!(out)?;
        }
        writeln!(out, "query  {}", answers.query)?;
        let numbers = ["estimate", "low_95", "high_95"].map(str::to_owned);
        let header = answers.by.iter().cloned().chain(numbers).chain(["interval".to_owned()]);
        let rows = [header.collect()].into_iter().chain(answers.answers.iter().map(row));
        print_table(out, answers.by.len(), &rows.collect::<Vec<Vec<String>>>())?;
        for note in &answers.notes {
            writeln!(out, "note   {note}")?;
        }
    }
    Ok(())
}

fn row(answer: &QueryAnswer) -> Vec<String> {
    let QueryAnswer { estimate, low_95, high_95, .. } = answer;
    let half = low_95.zip(*high_95).map(|(low, high)| 0.5 * (high - low));
    let size = half.filter(|half| *half > 0.0).or(*estimate).filter(|x| *x != 0.0);
    let decimals = match size {
        Some(size) => DIGITS - 1 - size.abs().log10().floor() as i32,
        None => 0,
    };
    let decimals = decimals.clamp(0, MAX_DECIMALS);
    // Ends of intervals are rounded outwards.
    let scale = 10f64.powi(decimals);
    let number = |x: Option<f64>, rounded: fn(f64) -> f64| match x {
        Some(x) => format!("{:.*}", decimals as usize, rounded(x * scale) / scale + 0.0),
        None => "-".to_owned(),
    };
    let has_interval = !answer.interval.starts_with("none");
    let end = |x: Option<f64>, rounded: fn(f64) -> f64| match x {
        None if has_interval => "unlimited".to_owned(),
        x => number(x, rounded),
    };
    let interval = match answer.extrapolated && has_interval {
        true => format!("{}, extrapolated", answer.interval),
        false => answer.interval.clone(),
    };
    let numbers = [
        number(*estimate, f64::round),
        end(*low_95, f64::floor),
        end(*high_95, f64::ceil),
        interval,
    ];
    answer.by.iter().cloned().chain(numbers).collect()
}

/// Prints rows in aligned columns: texts to the left, the three numbers after `by` columns to the
/// right.
fn print_table(out: &mut dyn Write, by: usize, rows: &[Vec<String>]) -> std::io::Result<()> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cell = |(column, text): (usize, &String)| match widths[column] {
            width if (by..by + 3).contains(&column) => format!("{text:>width$}"),
            width => format!("{text:<width$}"),
        };
        let line = row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
        writeln!(out, "  {}", line.trim_end())?;
    }
    Ok(())
}
