//! The selection of the strategy of Program 2.

use super::design::Design;
use super::design_set::{EigenDesign, Options};
use super::eigenbasis::EigenQueries;
use super::program2::{FactorDesign, assembled};
use super::weighting::WeightingOptions;
use crate::error::Result;
use crate::registry::by_name;
use crate::workload::Gram;
use crate::{Call, Selection, StrategySelector};

impl StrategySelector for EigenDesign {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("eigen-design")
    }

    fn summary(&self) -> &str {
        "weighted eigen-queries of the workload; eigen-design:STRATEGY weights those of a strategy"
    }

    fn options(&self) -> &'static [&'static str] {
        &["tolerance", "completion"]
    }

    fn takes_operand(&self) -> bool {
        true
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        let options = Options::of(call)?;
        let mut selector = match call.operand() {
            None => Self::new(options)?,
            Some(design) => Self::weighting(by_name(design)?, options)?,
        };
        selector.name = Some(call.text().to_owned());
        Ok(Box::new(selector))
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        // The relative gaps of the factors add up.
        let tolerance = self.options.weighting.tolerance / gram.factors().len() as f64;
        let weighting = WeightingOptions { tolerance, ..self.options.weighting };
        let mut solved: Vec<FactorDesign> = Vec::new();
        match &self.design {
            None => {
                for (factor, eigen) in gram.factors().iter().zip(EigenQueries::of_factors(gram)?) {
                    let next = match solved.iter().find(|known| known.is_for(factor)) {
                        Some(known) => known.repeated(),
                        None => FactorDesign::of_eigen_queries(factor.clone(), eigen, &weighting)?,
                    };
                    solved.push(next);
                }
            }
            Some(selector) => {
                for design in Design::of_strategy(selector.as_ref(), gram)? {
                    solved.push(FactorDesign::of_design(design, &weighting)?);
                }
            }
        }
        assembled(self.name(), solved, self.options.completion)
    }
}
