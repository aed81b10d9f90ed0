//! Which records take part in which step.

use super::system_integers::SystemIntegers;
use crate::error::{Error, Result};

/// The batches of an epoch, which are the same in every epoch.
///
/// Secret if they were drawn from the operating system: amplification by random allocation holds
/// only against whoever does not know them.
#[derive(Clone, PartialEq, Eq)]
pub struct Batches {
    /// The records, batch after batch.
    records: Vec<i64>,
    /// The index of the first record of every batch, and the number of records.
    starts: Vec<usize>,
}

/// Shows nothing of the allocation.
impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("batches", &self.count()).finish_non_exhaustive()
    }
}

impl Batches {
    /// Creates batches of sizes that differ by at most 1, in a given order of the records or in one
    /// drawn from the operating system.
    ///
    /// # Errors
    /// No batch, fewer records than batches, an order that is no permutation of the records, or no
    /// random bytes.
    pub fn fixed(records: usize, batches: usize, order: Option<Vec<i64>>) -> Result<Self> {
        check(records, batches)?;
        if records < batches {
            return Err(Error::bad_input(
                "batches",
                format!("at least {batches} records, one per batch"),
                records.to_string(),
                "use fewer steps per epoch",
            ));
        }
        let order = match order {
            Some(order) => permutation(order, records)?,
            None => shuffled(records)?,
        };
        // The first `records mod batches` batches have one record more.
        let (size, longer) = (records / batches, records % batches);
        let starts = (0..=batches).map(|j| j * size + j.min(longer)).collect();
        Ok(Batches { records: order, starts })
    }

    /// Creates batches by random allocation: every record draws its batch uniformly and
    /// independently, from the operating system. A batch may be empty.
    ///
    /// # Errors
    /// No batch, no record, or no random bytes.
    pub fn random(records: usize, batches: usize) -> Result<Self> {
        check(records, batches)?;
        let mut integers = SystemIntegers::new();
        let bins = (0..records)
            .map(|_| Ok(integers.below(batches as u64)? as usize))
            .collect::<Result<Vec<usize>>>()?;
        let mut starts = vec![0; batches + 1];
        bins.iter().for_each(|&bin| starts[bin + 1] += 1);
        for j in 0..batches {
            starts[j + 1] += starts[j];
        }
        let (mut next, mut allocated) = (starts.clone(), vec![0; records]);
        for (record, bin) in bins.into_iter().enumerate() {
            allocated[next[bin]] = record as i64;
            next[bin] += 1;
        }
        Ok(Batches { records: allocated, starts })
    }

    /// Creates the batches that [`parts`](Self::parts) returned.
    ///
    /// # Errors
    /// They are no batches: the records are no permutation, or the starts are not ascending.
    pub fn of_parts(records: Vec<i64>, starts: Vec<usize>) -> Result<Self> {
        let ends = (starts.first(), starts.last());
        let ascending = starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if ends != (Some(&0), Some(&records.len())) || starts.len() < 2 || !ascending {
            return Err(Error::bad_input(
                "stored batches",
                "ascending starts from 0 to the number of records",
                "others",
                "resume with the state as it was stored",
            ));
        }
        let count = records.len();
        Ok(Batches { records: permutation(records, count)?, starts })
    }

    /// Returns the records, batch after batch, and where every batch starts.
    pub fn parts(&self) -> (&[i64], &[usize]) {
        (&self.records, &self.starts)
    }

    /// Returns the number of batches of an epoch.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the indices of the records of a step: batch `step` mod the number of batches.
    pub fn of_step(&self, step: usize) -> &[i64] {
        let batch = step % self.count();
        &self.records[self.starts[batch]..self.starts[batch + 1]]
    }
}

/// Checks the sizes.
fn check(records: usize, batches: usize) -> Result<()> {
    if records > 0 && batches > 0 {
        return Ok(());
    }
    Err(Error::bad_input(
        "batches",
        "at least one record and one step per epoch",
        format!("{records} records and {batches} steps per epoch"),
        "give the number of records of the training data",
    ))
}

/// Returns an order if it has every record once.
fn permutation(order: Vec<i64>, records: usize) -> Result<Vec<i64>> {
    let mut seen = vec![false; records];
    let all = order.len() == records
        && order.iter().all(|&record| {
            usize::try_from(record)
                .ok()
                .and_then(|record| seen.get_mut(record))
                .is_some_and(|seen| !std::mem::replace(seen, true))
        });
    if all {
        return Ok(order);
    }
    Err(Error::bad_input(
        "order of the records",
        format!("every index from 0 to {} once", records.saturating_sub(1)),
        "others",
        "give a permutation, or leave it out",
    ))
}

/// Returns a uniform permutation (Fisher and Yates).
fn shuffled(records: usize) -> Result<Vec<i64>> {
    let mut integers = SystemIntegers::new();
    let mut order: Vec<i64> = (0..records as i64).collect();
    for last in (1..records).rev() {
        order.swap(last, integers.below(last as u64 + 1)? as usize);
    }
    Ok(order)
}
