//! Access to data that forwards all questions, records them, and changes answers or the budget.

use std::vec::IntoIter;

use crate::access::{CandidateSelection, Candidates, PaidAccess, Question};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::MarginalEstimates;
use crate::privacy::{NoiseStream, Rho};

/// A question and its answer, with the estimates that selection used.
#[derive(Debug, PartialEq, Clone)]
pub(crate) enum Exchange {
    /// The following measurements were paid together.
    Reserved(String, Rho),
    Selected(CandidateSelection, Candidates, Vec<f64>, usize),
    Measured(AttributeSet, f64, Vec<f64>),
}

/// Forwards all questions to `table` and records them with their answers.
pub(crate) struct Forwarding<'a> {
    pub table: &'a mut (dyn PaidAccess + 'a),
    /// Answers instead of those of the table.
    pub replay: Option<IntoIter<Exchange>>,
    /// Another user spends the remaining budget before the question with this number.
    ///
    /// Questions of a reservation have no number.
    pub drained_before: usize,
    /// The number of questions and reservations so far.
    pub asked: usize,
    pub seen: Vec<Exchange>,
}

impl<'a> Forwarding<'a> {
    pub(crate) fn new(table: &'a mut (dyn PaidAccess + 'a)) -> Self {
        Forwarding { table, replay: None, drained_before: usize::MAX, asked: 0, seen: Vec::new() }
    }

    /// Drains the budget if it is time, and returns the replayed exchange.
    fn next(&mut self) -> Option<Exchange> {
        if self.asked == self.drained_before
            && let Some(rest) = self.table.remaining()
        {
            self.table.reserved("another user", rest, &mut |_| Ok(())).unwrap();
        }
        self.asked += 1;
        self.replay.as_mut().map(|replay| replay.next().unwrap())
    }
}

impl PaidAccess for Forwarding<'_> {
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
        if let Some(replayed) = self.next() {
            assert!(matches!(replayed, Exchange::Reserved(..)), "{replayed:?}");
        }
        let Forwarding { table, replay, seen, .. } = self;
        seen.push(Exchange::Reserved(what.to_owned(), rho));
        table.reserved(what, rho, &mut |table| {
            let (replay_inside, seen_inside) = (replay.take(), std::mem::take(seen));
            let mut inside =
                Forwarding { replay: replay_inside, seen: seen_inside, ..Forwarding::new(table) };
            let outcome = measure(&mut inside);
            (*replay, *seen) = (inside.replay, inside.seen);
            outcome
        })
    }

    fn measure(&mut self, question: &Question<'_>, stream: NoiseStream) -> Result<Vec<f64>> {
        let replayed = self.next();
        let mut answer = self.table.measure(question, stream)?;
        if let Some(replayed) = replayed {
            let Exchange::Measured(.., replayed) = replayed else { panic!("{replayed:?}") };
            answer = replayed;
        }
        let variance = match *question {
            Question::Marginal { variance, .. } | Question::Residual { variance, .. } => variance,
            Question::Strategy { privacy_cost, .. } => 1.0 / privacy_cost.get(),
        };
        self.seen.push(Exchange::Measured(question.attributes(), variance, answer.clone()));
        Ok(answer)
    }

    fn select(
        &mut self,
        selection: &CandidateSelection,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) -> Result<usize> {
        let replayed = self.next();
        let mut index = self.table.select(selection, candidates, estimates)?;
        if let Some(replayed) = replayed {
            let Exchange::Selected(.., replayed) = replayed else { panic!("{replayed:?}") };
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
