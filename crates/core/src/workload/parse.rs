//! Workload strings: `range:1024`, `range:32x32`, `range:2^10`, `affine:20x20`,
//! `permuted-range(seed=3):2048`, `range-sample(queries=1000,seed=1,bias=10):32x32`,
//! `two-step-range-sample(queries=1000):64x32`, `predicate-sample(queries=2000,p=0.5,seed=1):64`,
//! `range-marginals:32x32`, `prefix-marginals(ways=1+2):8x8x8`,
//! `identity-marginals(ways=all):8x8x4`, `random-marginals(count=20,seed=1):8x8x16x2`,
//! `matrix(shape=4x2):W.npy`, `decay(rate=0.99):1024`, `momentum(rate=0.9):128`,
//! `schedule(file=rates.csv)`, `schedule(file=rates.csv,momentum=0.9)`, `nested:4x8` (the nodes of 4
//! groups of 8 leaves), `nested:3+5+7` (of groups of 3, 5 and 7 leaves); and of these
//! `residual(…)`, `normalised(…)`, `permuted(…; seed=3)` and `union(…; …)`.

use std::path::Path;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::{Family, RangeSample, Training, Workload, format_shape};
use crate::call::Call;
use crate::counted::counted;
use crate::domain::Hierarchy;
use crate::error::{Error, Result};
use crate::named_file::resolved;

/// Examples of workload strings.
const REMEDY: &str = "write e.g. range:1024, range:32x32, range:2^10, affine:20x20, \
     permuted-range(seed=3):2048, range-sample(queries=1000,bias=10,seed=1):32x32, \
     identity-marginals(ways=2):8x8x8, matrix(shape=4x2):W.npy, residual(prefix:50), \
     normalised(range:64), union(range:64; cdf:64), decay(rate=0.99):1024, \
     momentum(rate=0.9):128, schedule(file=rates.csv), nested:4x8";

impl Workload {
    /// Parses a workload string such as `range:1024`.
    ///
    /// # Errors
    /// An unknown family, or invalid sizes or options. The message has examples of the grammar.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let mut workload = match wrapped(text) {
            Some(("residual", inner)) => Self::parse(inner)?.residual(),
            Some(("normalised", inner)) => Self::parse(inner)?.normalised()?,
            Some(("union", inner)) => {
                Self::union(parts(inner).into_iter().map(Self::parse).collect::<Result<_>>()?)?
            }
            Some((_, inner)) => parse_permuted(text, inner)?,
            None => parse_plain(text)?,
        };
        workload.name = text.to_string();
        Ok(workload)
    }
}

fn refuse(text: &str, expected: impl Into<String>, found: impl Into<String>) -> Error {
    Error::bad_input(format!("workload `{text}`"), expected, found, REMEDY)
}

/// Splits `NAME(ARGUMENTS)` for the names that take workloads as arguments.
fn wrapped(text: &str) -> Option<(&str, &str)> {
    let (name, arguments) = text.strip_suffix(')')?.split_once('(')?;
    ["residual", "normalised", "union", "permuted"].contains(&name).then_some((name, arguments))
}

/// Splits a text at the semicolons outside parentheses.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (index, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ';' if depth == 0 => {
                parts.push(text[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// Parses `permuted(WORKLOAD)` or `permuted(WORKLOAD; seed=3)`.
fn parse_permuted(text: &str, arguments: &str) -> Result<Workload> {
    let (workload, seed) = match parts(arguments).as_slice() {
        [workload] => (*workload, 0),
        [workload, option] => {
            let seed = option.strip_prefix("seed=").and_then(|seed| seed.trim().parse().ok());
            (
                *workload,
                seed.ok_or_else(|| {
                    refuse(text, "`seed=` and a number after the semicolon", *option)
                })?,
            )
        }
        more => {
            let found = format!("{} parts", more.len());
            return Err(refuse(text, "a workload and an optional seed", found));
        }
    };
    permuted(text, Workload::parse(workload)?, seed)
}

/// The variant of a family, by the prefix or suffix of its name.
#[derive(PartialEq)]
enum Variant {
    Plain,
    Permuted,
    Marginals,
}

fn parse_plain(text: &str) -> Result<Workload> {
    let call = Call::parse("workload", text, REMEDY)?;
    if call.name() == "schedule" {
        return parse_schedule(text, &call);
    }
    let sizes = call.operand().ok_or_else(|| refuse(text, "FAMILY:SIZES", "no colon"))?;
    let seeded = || -> Result<ChaCha20Rng> {
        Ok(ChaCha20Rng::seed_from_u64(call.option("seed")?.unwrap_or(0)))
    };
    match call.name() {
        "matrix" => return parse_matrix(text, sizes, &call),
        "nested" => return parse_nested(text, sizes, &call),
        "decay" | "momentum" => return parse_training(text, sizes, &call),
        "range-sample" => {
            call.allow(&["queries", "seed", "bias"])?;
            let shape = parse_shape(text, sizes)?;
            let queries = call.required("queries")?;
            check_stored(text, "queries", queries, MAX_STORED)?;
            let sample = match call.option("bias")? {
                None => RangeSample::uniform(&shape, queries, &mut seeded()?)?,
                Some(bias) => RangeSample::biased(&shape, queries, bias, &mut seeded()?)?,
            };
            return Ok(Workload::sample(sample));
        }
        "two-step-range-sample" => {
            call.allow(&["queries", "seed"])?;
            let shape = parse_shape(text, sizes)?;
            let queries = call.required("queries")?;
            check_stored(text, "queries", queries, MAX_STORED)?;
            return Ok(Workload::sample(RangeSample::two_step(&shape, queries, &mut seeded()?)?));
        }
        "predicate-sample" => {
            call.allow(&["queries", "seed", "p"])?;
            let shape = parse_shape(text, sizes)?;
            let queries: usize = call.required("queries")?;
            let cells: usize = shape.iter().product();
            check_stored(text, "entries", queries.saturating_mul(cells), MAX_ENTRIES)?;
            return Workload::predicates(
                &shape,
                queries,
                call.option("p")?.unwrap_or(0.5),
                &mut seeded()?,
            );
        }
        "random-marginals" => {
            call.allow(&["count", "seed"])?;
            let count = call.required("count")?;
            check_stored(text, "marginals", count, MAX_MARGINALS)?;
            return Workload::random_marginals(&parse_shape(text, sizes)?, count, &mut seeded()?);
        }
        _ => {}
    }
    let name = call.name();
    let (plain, variant) = match (name.strip_prefix("permuted-"), name.strip_suffix("-marginals")) {
        (Some(plain), _) => (plain, Variant::Permuted),
        (None, Some(plain)) => (plain, Variant::Marginals),
        (None, None) => (name, Variant::Plain),
    };
    let family = Family::named(plain).ok_or_else(|| {
        let names = Family::ALL.iter().map(|family| family.name()).collect::<Vec<_>>().join(", ");
        let others = "permuted-…, …-marginals, random-marginals, range-sample, \
                      two-step-range-sample, predicate-sample, matrix, nested, decay, momentum, \
                      schedule";
        refuse(text, format!("a family among {names}, {others}"), name)
    })?;
    if variant == Variant::Marginals {
        call.allow(&["ways"])?;
        let shape = parse_shape(text, sizes)?;
        let ways = parse_ways(text, &call, shape.len())?;
        return Workload::marginals(family, &shape, &ways);
    }
    let is_permuted = variant == Variant::Permuted;
    call.allow(if is_permuted { &["seed"] } else { &[] })?;
    let shape = parse_shape(text, sizes)?;
    if family.arity() == 2 && shape.len() != 2 {
        return Err(refuse(text, "two sizes, e.g. 20x20", sizes));
    }
    let workload = Workload::family(family, &shape)?;
    if !is_permuted {
        return Ok(workload);
    }
    permuted(text, workload, call.option("seed")?.unwrap_or(0))
}

/// Permutes a workload whose order of cells fits in memory.
fn permuted(text: &str, workload: Workload, seed: u64) -> Result<Workload> {
    check_stored(text, "cells", workload.cells(), MAX_STORED)?;
    Ok(workload.permuted(seed))
}

/// Checks a number of things that are stored one by one.
fn check_stored(text: &str, unit: &'static str, count: usize, limit: usize) -> Result<()> {
    if count <= limit {
        return Ok(());
    }
    let (what, remedy) = (format!("workload `{text}`"), format!("use fewer {unit}"));
    Err(Error::too_large(what, unit, limit as f64, count as f64, remedy))
}

/// Parses `ways=2`, `ways=1+2`, or `ways=all` for all numbers of attributes.
fn parse_ways(text: &str, call: &Call<'_>, attributes: usize) -> Result<Vec<usize>> {
    let written = call.written("ways").unwrap_or("1");
    if written == "all" {
        return Ok((1..=attributes).collect());
    }
    let number = |part: &str| part.trim().parse().ok();
    let ways: Option<Vec<usize>> = written.split('+').map(number).collect();
    ways.ok_or_else(|| {
        refuse(text, "a number for `ways`, several like 1+2, or `all`", format!("`{written}`"))
    })
}

/// Parses sizes such as `1024`, `32x32`, `2^10` or `16x2^3`.
fn parse_shape(text: &str, sizes: &str) -> Result<Vec<usize>> {
    const MAX_POWER: usize = 128;
    let invalid = || refuse(text, "positive sizes like 1024, 32x32 or 2^10", format!("`{sizes}`"));
    let mut shape = Vec::new();
    for part in sizes.split('x') {
        let (size, power) = part.split_once('^').unwrap_or((part, "1"));
        let size: usize = size.trim().parse().map_err(|_| invalid())?;
        let power: usize = power.trim().parse().map_err(|_| invalid())?;
        if size == 0 || power == 0 || power > MAX_POWER {
            return Err(invalid());
        }
        shape.extend(std::iter::repeat_n(size, power));
    }
    Ok(shape)
}

fn parse_matrix(text: &str, path: &str, call: &Call<'_>) -> Result<Workload> {
    call.allow(&["shape"])?;
    let rows = crate::matrix_file::read(&resolved(Path::new(path)))?;
    let shape = match call.written("shape") {
        Some(sizes) => parse_shape(text, sizes)?,
        None => vec![rows.ncols()],
    };
    if shape.iter().product::<usize>() != rows.ncols() {
        return Err(refuse(
            text,
            format!("a matrix with {} columns", format_shape(&shape)),
            counted(rows.ncols(), ["column", "columns"]),
        ));
    }
    Workload::explicit(&shape, rows)
}

/// Maximum number of entries of sampled predicates, 2 GiB.
const MAX_ENTRIES: usize = 1 << 28;

/// Maximum number of random marginals.
const MAX_MARGINALS: usize = 1 << 20;

/// Maximum number of steps of `decay` and `momentum`, whose rates are stored, of permuted cells, and
/// of sampled ranges.
const MAX_STORED: usize = 1 << 26;

/// Parses `nested:4x8`, with the numbers of children from the root to the leaves, and
/// `nested:3+5+7`, with the numbers of leaves of groups.
fn parse_nested(text: &str, sizes: &str, call: &Call<'_>) -> Result<Workload> {
    call.allow(&[])?;
    let hierarchy = match sizes.contains('+') {
        true => {
            let groups: Option<Vec<usize>> =
                sizes.split('+').map(|size| size.trim().parse().ok()).collect();
            let groups = groups.ok_or_else(|| refuse(text, "numbers like 3+5+7", sizes))?;
            Hierarchy::groups(&groups)?
        }
        false => {
            let children = parse_shape(text, sizes)?;
            let leaves = children.iter().try_fold(1usize, |n, &count| n.checked_mul(count));
            check_stored(text, "leaves", leaves.unwrap_or(usize::MAX), MAX_STORED)?;
            Hierarchy::balanced(&children)?
        }
    };
    let mut workload =
        Workload::product(&[(Family::nested(&hierarchy), &[hierarchy.leaves()][..])])?;
    workload.name = text.to_owned();
    Ok(workload)
}

/// Parses `decay(rate=0.99):1024` and `momentum(rate=0.9):128`.
fn parse_training(text: &str, sizes: &str, call: &Call<'_>) -> Result<Workload> {
    call.allow(&["rate"])?;
    let [steps] = parse_shape(text, sizes)?[..] else {
        return Err(refuse(text, "one size, the number of steps", sizes));
    };
    let rate = call.required("rate")?;
    let (momentum, decay) = if call.name() == "decay" { (0.0, rate) } else { (rate, 1.0) };
    check_stored(text, "steps", steps, MAX_STORED)?;
    Ok(Workload::training(Training::new(vec![1.0; steps], momentum, decay)?))
}

/// Parses `schedule(file=rates.csv)` or `schedule(file=rates.csv,momentum=0.9)`: a file of learning
/// rates, in one row or one column.
fn parse_schedule(text: &str, call: &Call<'_>) -> Result<Workload> {
    call.allow(&["file", "momentum"])?;
    call.no_operand()?;
    let path: String = call.required("file")?;
    let rates = crate::matrix_file::read(&resolved(Path::new(&path)))?;
    if rates.nrows() != 1 && rates.ncols() != 1 {
        return Err(refuse(
            text,
            "a file with one row or one column of learning rates",
            format!("{} x {} numbers in {path}", rates.nrows(), rates.ncols()),
        ));
    }
    let momentum = call.option("momentum")?.unwrap_or(0.0);
    Ok(Workload::training(Training::new(rates.into_iter().collect(), momentum, 1.0)?))
}
