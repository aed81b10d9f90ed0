//! Workload strings: `range:1024`, `range:32x32`, `range:2^10`, `affine:20x20`, `permuted-range(seed=3):2048`,
//! `range-sample(queries=1000,seed=1,bias=10):32x32`, `predicate-sample(queries=2000,p=0.5,seed=1):64`,
//! `range-marginals:32x32`, `prefix-marginals(ways=1+2):8x8x8`, `matrix(shape=4x2):W.npy`, and `residual(…)` around any of them.

use std::collections::BTreeMap;
use std::path::Path;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::{Family, RangeSample, Workload, by_x};
use crate::error::{Error, Result};

/// The options in the parentheses of a workload string.
type Options<'a> = BTreeMap<&'a str, &'a str>;

impl Workload {
    /// Reads a workload string.
    ///
    /// # Errors
    /// An unknown family, sizes or options that are not what the family takes; the message shows the grammar.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let mut workload = match text.strip_prefix("residual(").and_then(|rest| rest.strip_suffix(')')) {
            Some(inner) => Self::parse(inner)?.residual(),
            None => parse_plain(text)?,
        };
        workload.name = text.to_string();
        Ok(workload)
    }
}

fn refuse(text: &str, expected: impl Into<String>, found: impl Into<String>) -> Error {
    Error::bad_input(
        format!("workload `{text}`"),
        expected,
        found,
        "write e.g. range:1024, range:32x32, range:2^10, affine:20x20, permuted-range(seed=3):2048, \
         range-sample(queries=1000,bias=10,seed=1):32x32, matrix(shape=4x2):W.npy, residual(prefix:50)",
    )
}

/// What a prefix or suffix makes of a family.
#[derive(PartialEq)]
enum Variant {
    Plain,
    Permuted,
    Marginals,
}

fn parse_plain(text: &str) -> Result<Workload> {
    let (head, sizes) = text.split_once(':').ok_or_else(|| refuse(text, "FAMILY:SIZES", "no colon"))?;
    let (name, options) = match head.split_once('(') {
        None => (head, Options::new()),
        Some((name, rest)) => {
            let inside = rest.strip_suffix(')').ok_or_else(|| refuse(text, "a closing parenthesis", head))?;
            (name, parse_options(text, inside)?)
        }
    };
    match name {
        "matrix" => return parse_matrix(text, sizes, &options),
        "range-sample" => {
            allow(text, &options, &["queries", "seed", "bias"])?;
            let shape = parse_shape(text, sizes)?;
            let queries = required(text, &options, "queries")?;
            let mut rng = ChaCha20Rng::seed_from_u64(optional(text, &options, "seed", 0)?);
            let sample = match options.get("bias") {
                None => RangeSample::uniform(&shape, queries, &mut rng)?,
                Some(_) => RangeSample::biased(&shape, queries, required(text, &options, "bias")?, &mut rng)?,
            };
            return Ok(Workload::sample(sample));
        }
        "predicate-sample" => {
            allow(text, &options, &["queries", "seed", "p"])?;
            let shape = parse_shape(text, sizes)?;
            let queries = required(text, &options, "queries")?;
            let mut rng = ChaCha20Rng::seed_from_u64(optional(text, &options, "seed", 0)?);
            return Workload::predicates(&shape, queries, optional(text, &options, "p", 0.5)?, &mut rng);
        }
        _ => {}
    }
    let (plain, variant) = match (name.strip_prefix("permuted-"), name.strip_suffix("-marginals")) {
        (Some(plain), _) => (plain, Variant::Permuted),
        (None, Some(plain)) => (plain, Variant::Marginals),
        (None, None) => (name, Variant::Plain),
    };
    let family = Family::named(plain).ok_or_else(|| {
        let names = Family::ALL.iter().map(|family| family.name()).collect::<Vec<_>>().join(", ");
        let others = "permuted-…, …-marginals, range-sample, predicate-sample, matrix";
        refuse(text, format!("a family among {names}, {others}"), name)
    })?;
    if variant == Variant::Marginals {
        allow(text, &options, &["ways"])?;
        return Workload::marginals(family, &parse_shape(text, sizes)?, &parse_ways(text, &options)?);
    }
    let permuted = variant == Variant::Permuted;
    allow(text, &options, if permuted { &["seed"] } else { &[] })?;
    let shape = parse_shape(text, sizes)?;
    if family.arity() == 2 && shape.len() != 2 {
        return Err(refuse(text, "two sizes, e.g. 20x20", sizes));
    }
    let workload = Workload::family(family, &shape)?;
    Ok(if permuted { workload.permuted(optional(text, &options, "seed", 0)?) } else { workload })
}

fn parse_options<'a>(text: &str, inside: &'a str) -> Result<Options<'a>> {
    let mut options = Options::new();
    for item in inside.split(',').filter(|item| !item.trim().is_empty()) {
        let (key, value) = item.split_once('=').ok_or_else(|| refuse(text, "options as key=value", item))?;
        if options.insert(key.trim(), value.trim()).is_some() {
            return Err(refuse(text, "each option once", format!("`{}` twice", key.trim())));
        }
    }
    Ok(options)
}

fn allow(text: &str, options: &Options<'_>, known: &[&str]) -> Result<()> {
    match options.keys().find(|key| !known.contains(*key)) {
        None => Ok(()),
        Some(key) if known.is_empty() => Err(refuse(text, "no option for this family", format!("`{key}`"))),
        Some(key) => Err(refuse(text, format!("options among {}", known.join(", ")), format!("`{key}`"))),
    }
}

fn optional<T: std::str::FromStr>(text: &str, options: &Options<'_>, key: &str, default: T) -> Result<T> {
    match options.get(key) {
        None => Ok(default),
        Some(value) => value.parse().map_err(|_| refuse(text, format!("a number for `{key}`"), format!("`{value}`"))),
    }
}

fn required<T: std::str::FromStr>(text: &str, options: &Options<'_>, key: &str) -> Result<T> {
    let value = options.get(key).ok_or_else(|| refuse(text, format!("the option `{key}=…`"), "none"))?;
    value.parse().map_err(|_| refuse(text, format!("a number for `{key}`"), format!("`{value}`")))
}

/// `ways=2`, or several numbers: `ways=1+2`.
fn parse_ways(text: &str, options: &Options<'_>) -> Result<Vec<usize>> {
    let written = options.get("ways").copied().unwrap_or("1");
    let number = |part: &str| part.trim().parse().ok();
    let ways: Option<Vec<usize>> = written.split('+').map(number).collect();
    ways.ok_or_else(|| refuse(text, "a number for `ways`, or several like 1+2", format!("`{written}`")))
}

/// `1024`, `32x32`, `2^10`, or a mixture like `16x2^3`.
pub(super) fn parse_shape(text: &str, sizes: &str) -> Result<Vec<usize>> {
    let bad = || refuse(text, "positive sizes like 1024, 32x32 or 2^10", format!("`{sizes}`"));
    let mut shape = Vec::new();
    for part in sizes.split('x') {
        let (size, times) = part.split_once('^').unwrap_or((part, "1"));
        let size: usize = size.trim().parse().map_err(|_| bad())?;
        let times: usize = times.trim().parse().map_err(|_| bad())?;
        if size == 0 || times == 0 || times > 128 {
            return Err(bad());
        }
        shape.extend(std::iter::repeat_n(size, times));
    }
    Ok(shape)
}

fn parse_matrix(text: &str, path: &str, options: &Options<'_>) -> Result<Workload> {
    allow(text, options, &["shape"])?;
    let rows = crate::matrix_file::read(Path::new(path))?;
    let shape = match options.get("shape") {
        Some(sizes) => parse_shape(text, sizes)?,
        None => vec![rows.ncols()],
    };
    if shape.iter().product::<usize>() != rows.ncols() {
        return Err(refuse(
            text,
            format!("a matrix with {} columns", by_x(&shape)),
            format!("{} columns", rows.ncols()),
        ));
    }
    Workload::explicit(&shape, rows)
}
