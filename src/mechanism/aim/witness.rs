//! Test helpers for the adaptive mechanisms: records with dependent attributes, and a recording
//! access to data.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::access::{CandidateSelection, Candidates, PaidAccess, Question};
use crate::data::{Column, Records};
use crate::domain::{AttributeKind, AttributeSet};
use crate::error::{Error, Result};
use crate::estimation::MarginalEstimates;
use crate::privacy::{NoiseStream, Rho};
use crate::schema::Schema;

pub(in crate::mechanism) fn schema(sizes: &[usize]) -> Schema {
    Schema::of_sizes(sizes, AttributeKind::Categorical).unwrap()
}

pub(in crate::mechanism) fn rho(x: f64) -> Rho {
    Rho::new(x).unwrap()
}

pub(in crate::mechanism) fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Records with dependent attributes: each value is the previous one, or uniformly random.
pub(in crate::mechanism) fn dependent(
    schema: &Schema,
    count: usize,
    rng: &mut ChaCha20Rng,
) -> Records {
    let mut columns = vec![Column::default(); schema.attributes().len()];
    for _ in 0..count {
        let mut previous = 0;
        for (column, attribute) in columns.iter_mut().zip(schema.attributes()) {
            let size = attribute.size as u32;
            let copied = rng.random::<f64>() < 0.6;
            previous = if copied { previous % size } else { rng.random_range(0..size) };
            column.push(previous);
        }
    }
    Records::new(schema, columns).unwrap()
}

/// A question and its answer, with the estimates that selection used.
#[derive(Debug, PartialEq, Clone)]
pub(in crate::mechanism) enum Exchange {
    /// The following measurements were paid together.
    Reserved(String, Rho),
    Selected(CandidateSelection, Candidates, Vec<f64>, usize),
    Measured(AttributeSet, f64, Vec<f64>),
}

/// Records all questions and answers; answers from a table, or replays the answers of another one.
pub(in crate::mechanism) struct Witness<'a> {
    pub table: &'a mut (dyn PaidAccess + 'a),
    pub replay: Option<std::vec::IntoIter<Exchange>>,
    pub seen: Vec<Exchange>,
}

impl PaidAccess for Witness<'_> {
    fn sizes(&self) -> &[usize] {
        self.table.sizes()
    }

    fn total(&self) -> Rho {
        self.table.total()
    }

    fn remaining(&self) -> Option<Rho> {
        self.table.remaining()
    }

    fn reserved(
        &mut self,
        what: &str,
        rho: Rho,
        measure: &mut dyn FnMut(&mut dyn PaidAccess) -> Result<()>,
    ) -> Result<()> {
        let (mut replay, mut seen) = (self.replay.take(), std::mem::take(&mut self.seen));
        if let Some(replay) = &mut replay {
            let Some(Exchange::Reserved(..)) = replay.next() else { return Err(diverged()) };
        }
        seen.push(Exchange::Reserved(what.to_owned(), rho));
        let outcome = self.table.reserved(what, rho, &mut |table| {
            let mut inside =
                Witness { table, replay: replay.take(), seen: std::mem::take(&mut seen) };
            let outcome = measure(&mut inside);
            (replay, seen) = (inside.replay, inside.seen);
            outcome
        });
        (self.replay, self.seen) = (replay, seen);
        outcome
    }

    fn measure(&mut self, question: &Question<'_>, stream: NoiseStream) -> Result<Vec<f64>> {
        let (Question::Marginal { attributes, variance }
        | Question::Residual { attributes, variance }) = *question
        else {
            panic!("AIM measures marginals and residuals")
        };
        let mut answer = self.table.measure(question, stream)?;
        if let Some(replay) = &mut self.replay {
            let Some(Exchange::Measured(.., replayed)) = replay.next() else {
                return Err(diverged());
            };
            answer = replayed;
        }
        self.seen.push(Exchange::Measured(attributes, variance, answer.clone()));
        Ok(answer)
    }

    fn select(
        &mut self,
        selection: &CandidateSelection,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) -> Result<usize> {
        let mut index = self.table.select(selection, candidates, estimates)?;
        if let Some(replay) = &mut self.replay {
            let Some(Exchange::Selected(.., replayed)) = replay.next() else {
                return Err(diverged());
            };
            index = replayed;
        }
        let shown = candidates.list().iter().flat_map(|c| {
            let bounds = [estimates.norm_bound(c.attributes), estimates.change_bound(c.attributes)];
            estimates.marginal(c.attributes).unwrap().into_iter().chain(bounds)
        });
        self.seen.push(Exchange::Selected(*selection, candidates.clone(), shown.collect(), index));
        Ok(index)
    }
}

fn diverged() -> Error {
    Error::bad_input(
        "replay",
        "the same questions",
        "different questions",
        "find the unpaid read of data in the loop",
    )
}
