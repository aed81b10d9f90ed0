//! Certificates: the arrays that prove the bounds of a cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use matmech::strategy::{Proof, ProofWeights};
use serde::{Deserialize, Serialize};

use super::knots;
use crate::error::{Error, Result};

/// Named arrays of 32-bit numbers from which [`Kind::prove`](super::Kind::prove) recomputes the
/// bounds of a cell without a search.
///
/// 32 bits suffice: a lower bound is stationary at the optimal weights, so their rounding changes
/// it to second order. Arrays of more than 2¹⁷ numbers, except weights of queries, are kept at knots
/// (`NAME:LENGTH`, with the indices in `NAME.at`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellCertificate {
    arrays: BTreeMap<String, Numbers>,
}

/// Suffixes of the parts of an exact array.
const PARTS: [&str; 3] = ["", ".low", ".lowest"];

/// An array, written as the hexadecimal digits of its bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
struct Numbers(Vec<f32>);

impl From<Numbers> for String {
    fn from(Numbers(numbers): Numbers) -> String {
        numbers.iter().map(|x| format!("{:08x}", x.to_bits())).collect()
    }
}

impl TryFrom<String> for Numbers {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let word = |digits: &[u8]| {
            let digits = std::str::from_utf8(digits).ok().filter(|d| d.len() == 8)?;
            u32::from_str_radix(digits, 16).ok().map(f32::from_bits)
        };
        let numbers: Option<Vec<f32>> = text.as_bytes().chunks(8).map(word).collect();
        numbers.map(Numbers).ok_or_else(|| "eight hexadecimal digits per number".to_owned())
    }
}

impl CellCertificate {
    /// Creates a certificate of a strategy problem.
    #[must_use]
    pub fn of(proof: &Proof) -> Self {
        let mut certificate = CellCertificate::default();
        certificate.insert_proof("", proof);
        certificate
    }

    /// Creates a certificate from stored arrays.
    #[must_use]
    pub fn of_arrays(arrays: impl IntoIterator<Item = (String, Vec<f32>)>) -> Self {
        CellCertificate { arrays: arrays.into_iter().map(|(name, x)| (name, Numbers(x))).collect() }
    }

    /// Iterates over the stored arrays.
    pub fn arrays(&self) -> impl Iterator<Item = (&str, &[f32])> {
        self.arrays.iter().map(|(name, numbers)| (name.as_str(), numbers.0.as_slice()))
    }

    /// Returns whether there is no array.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty()
    }

    /// Adds an array.
    pub fn insert(&mut self, name: &str, values: &[f64]) {
        let short = |values: &[f64]| Numbers(values.iter().map(|&x| x as f32).collect());
        // Weights of queries, and the factors of patterns, are no smooth function of the index.
        if values.len() <= knots::MAX_LENGTH || name.contains("queries") {
            self.arrays.insert(name.to_owned(), short(values));
            return;
        }
        let at = knots::positions(values.len());
        let kept: Vec<f64> = at.iter().map(|&i| values[i]).collect();
        let at: Vec<f64> = at.iter().map(|&i| i as f64).collect();
        self.arrays.insert(format!("{name}:{}", values.len()), short(&kept));
        self.arrays.insert(format!("{name}.at"), short(&at));
    }

    /// Adds an array in three parts, whose sum is exact.
    pub fn insert_exactly(&mut self, name: &str, values: &[f64]) {
        let mut rest = values.to_vec();
        for part in PARTS {
            self.insert(&format!("{name}{part}"), &rest);
            rest.iter_mut().for_each(|x| *x -= f64::from(*x as f32));
        }
    }

    /// Returns an array of [`CellCertificate::insert_exactly`], if it is known.
    ///
    /// # Errors
    /// As [`CellCertificate::values`], or parts of different lengths.
    pub fn exact_values(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(mut sum) = self.values(name)? else { return Ok(None) };
        for part in &PARTS[1..] {
            let more = self.values(&format!("{name}{part}"))?.unwrap_or_default();
            if more.len() != sum.len() {
                let found = format!("{} and {} numbers", sum.len(), more.len());
                return Err(unfit(format!("parts of `{name}` of one length"), found));
            }
            sum.iter_mut().zip(more).for_each(|(x, y)| *x += y);
        }
        Ok(Some(sum))
    }

    /// Returns an array, if it is known.
    ///
    /// # Errors
    /// An array at knots is damaged.
    pub fn values(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let long = |Numbers(x): &Numbers| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        if let Some(numbers) = self.arrays.get(name) {
            return Ok(Some(long(numbers)));
        }
        let prefix = format!("{name}:");
        let Some((key, numbers)) = self.arrays.iter().find(|(key, _)| key.starts_with(&prefix))
        else {
            return Ok(None);
        };
        let length = key[prefix.len()..].parse().ok();
        let at = self.arrays.get(&format!("{name}.at")).map(long);
        let expanded = length
            .zip(at)
            .and_then(|(length, at)| knots::interpolated(&long(numbers), &at, length));
        expanded.map(Some).ok_or_else(|| {
            unfit(format!("values of `{name}` at increasing knots"), "others".to_owned())
        })
    }

    /// Adds the weights of a strategy problem; `prefix` tells several problems apart.
    pub fn insert_proof(&mut self, prefix: &str, proof: &Proof) {
        let both = [("dual", Some(&proof.dual)), ("strategy", proof.strategy.as_ref())];
        for (role, weights) in both {
            let Some(weights) = weights else { continue };
            for (k, cells) in weights.cells.iter().enumerate() {
                self.insert(&format!("{prefix}{role}.cells.{k}"), cells);
            }
            if !weights.queries.is_empty() {
                self.insert(&format!("{prefix}{role}.queries"), &weights.queries);
            }
            if weights.barrier != 0.0 {
                self.insert(&format!("{prefix}{role}.barrier"), &[weights.barrier]);
            }
        }
    }

    /// Returns the weights of a strategy problem, if they are known.
    ///
    /// # Errors
    /// An array is damaged.
    pub fn proof(&self, prefix: &str) -> Result<Option<Proof>> {
        let weights = |role: &str| {
            let mut cells = Vec::new();
            while let Some(x) = self.values(&format!("{prefix}{role}.cells.{}", cells.len()))? {
                cells.push(Arc::new(x));
            }
            let queries = self.values(&format!("{prefix}{role}.queries"))?.unwrap_or_default();
            let barrier = self.values(&format!("{prefix}{role}.barrier"))?;
            let barrier = barrier.and_then(|x| x.first().copied()).unwrap_or(0.0);
            Ok::<_, Error>((!cells.is_empty()).then_some(ProofWeights { cells, queries, barrier }))
        };
        let strategy = weights("strategy")?;
        Ok(weights("dual")?.map(|dual| Proof { dual, strategy }))
    }
}

/// Returns the error of arrays that do not fit a cell.
pub fn unfit(expected: String, found: String) -> Error {
    Error::Computation {
        what: "a certificate".to_owned(),
        expected,
        found,
        remedy: "run the experiment again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_survive_text_and_arrays() {
        let proof = Proof::new(
            ProofWeights {
                cells: vec![Arc::new(vec![0.25, 0.75]), Arc::new(vec![1.0])],
                queries: vec![0.5, 0.5],
                barrier: 0.125,
            },
            ProofWeights::of_cells(vec![Arc::new(vec![0.5, 0.5]), Arc::new(vec![1.0])]),
        );
        let mut certificate = CellCertificate::default();
        certificate.insert_proof("sample.3.", &proof);
        let json = serde_json::to_string(&certificate).unwrap();
        let read: CellCertificate = serde_json::from_str(&json).unwrap();
        assert_eq!(read, certificate);
        assert_eq!(read.proof("sample.3.").unwrap(), Some(proof));
        assert_eq!(read.proof("sample.4.").unwrap(), None);
        let stored = read.arrays().map(|(name, x)| (name.to_owned(), x.to_vec()));
        assert_eq!(CellCertificate::of_arrays(stored), certificate);
        assert!(serde_json::from_str::<CellCertificate>(&json.replace("3e", "zz")).is_err());
    }

    #[test]
    fn exact_arrays_keep_every_bit() {
        let values = [1.0 / 3.0, -2.0 / 7.0, 1e-9 / 11.0, 0.0];
        let mut certificate = CellCertificate::default();
        certificate.insert_exactly("m", &values);
        assert_eq!(certificate.exact_values("m").unwrap().unwrap(), values);
        assert_eq!(certificate.exact_values("n").unwrap(), None);
    }

    #[test]
    fn long_arrays_are_kept_at_knots() {
        let values: Vec<f64> = (0..300_000).map(|i| 1.0 / (i as f64 + 1.0)).collect();
        let mut certificate = CellCertificate::default();
        certificate.insert("w", &values);
        assert!(certificate.arrays().all(|(_, x)| x.len() <= knots::MAX_LENGTH));
        let read = certificate.values("w").unwrap().unwrap();
        assert_eq!(read.len(), values.len());
        for (a, b) in read.iter().zip(&values) {
            approx::assert_relative_eq!(a, b, max_relative = 2e-7);
        }
    }
}
