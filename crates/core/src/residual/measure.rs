//! Reference measures: the weights by which a residual averages over an attribute.

use std::sync::Arc;

use crate::domain::AttributeSet;
use crate::error::{Error, Result};

/// The maximum deviation of a measure's sum from 1.
///
/// Smaller deviations are scaled away.
const ROUNDING: f64 = 1e-9;

/// A probability measure ν on the values of one attribute.
///
/// Measures from users are positive everywhere.
///
/// Its residual rows are H = {f : f·ν = 0}, the range of `P = I − ν 1ᵀ` acting on rows from the
/// right. With ν = 1/n this is `I − J/n`, the residual of S3 and S4. *Source*: the project's
/// `docs/reference-measures.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    n: usize,
    /// `None` for the uniform measure.
    weights: Option<Arc<[f64]>>,
}

impl Measure {
    /// Creates the uniform measure ν = 1/n.
    pub fn uniform(n: usize) -> Self {
        Measure { n, weights: None }
    }

    /// Creates the measure with these weights, divided by their sum.
    ///
    /// Removes rounding errors of the sum.
    ///
    /// # Errors
    /// No weights, a weight that is not positive and finite, or a sum that is not 1.
    pub fn of(weights: Vec<f64>) -> Result<Self> {
        Self::named("reference measure of an attribute", weights)
    }

    /// [`Measure::of`] with a name for error messages.
    pub fn named(what: &str, mut weights: Vec<f64>) -> Result<Self> {
        const REMEDY: &str = "give one positive number per value, with sum 1; attributes that are \
                              not listed get the uniform measure";
        let refuse = |found: String| {
            Err(Error::bad_input(what, "positive numbers that sum to 1", found, REMEDY))
        };
        if let Some((value, weight)) =
            weights.iter().enumerate().find(|(_, w)| !(**w > 0.0 && w.is_finite()))
        {
            return refuse(format!("{weight} for value {value}"));
        }
        let sum: f64 = weights.iter().fold(0.0, |sum, w| sum + w);
        if (sum - 1.0).abs() > ROUNDING {
            return refuse(format!("{} numbers that sum to {sum}", weights.len()));
        }
        weights.iter_mut().for_each(|w| *w /= sum);
        Ok(Measure { n: weights.len(), weights: Some(weights.into()) })
    }

    /// Creates a measure with weights of any sign that sum to 1.
    ///
    /// `None` if one is not finite or the sum is not 1. The algebra does not need positive weights:
    /// the measure of a Kronecker strategy can have negative ones.
    pub fn signed(weights: &[f64]) -> Option<Self> {
        let sum: f64 = weights.iter().sum();
        let valid = weights.iter().all(|w| w.is_finite()) && (sum - 1.0).abs() <= ROUNDING;
        valid.then(|| Measure { n: weights.len(), weights: Some(weights.into()) })
    }

    /// Returns the number of values.
    pub fn size(&self) -> usize {
        self.n
    }

    /// Returns whether it was created as the uniform measure.
    ///
    /// The algebra has faster paths for it.
    pub fn is_uniform(&self) -> bool {
        self.weights.is_none()
    }

    /// Returns whether all weights are positive.
    pub fn is_positive(&self) -> bool {
        self.weights.as_ref().is_none_or(|weights| weights.iter().all(|w| *w > 0.0))
    }

    /// Returns ν of one value.
    pub fn weight(&self, value: usize) -> f64 {
        self.weights.as_ref().map_or(1.0 / self.n as f64, |weights| weights[value])
    }

    /// Returns ν as a vector.
    pub fn to_vec(&self) -> Vec<f64> {
        (0..self.n).map(|value| self.weight(value)).collect()
    }
}

/// A product measure on a domain: one [`Measure`] per attribute, and classes of equal ones.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceMeasure {
    measures: Vec<Measure>,
    classes: Vec<usize>,
}

impl ReferenceMeasure {
    /// Creates the uniform measure on attributes of these sizes.
    pub fn uniform(sizes: &[usize]) -> Self {
        ReferenceMeasure {
            measures: sizes.iter().map(|&n| Measure::uniform(n)).collect(),
            classes: vec![0; sizes.len()],
        }
    }

    /// Creates a measure from one measure per attribute.
    ///
    /// Attributes with equal measures share a class.
    pub fn new(measures: Vec<Measure>) -> Self {
        let same = |a: &Measure, b: &Measure| a == b || a.is_uniform() && b.is_uniform();
        let first = |k: usize| measures.iter().position(|m| same(m, &measures[k])).unwrap_or(k);
        let classes = (0..measures.len()).map(first).collect();
        ReferenceMeasure { measures, classes }
    }

    /// Creates a measure from one measure per class: attribute i has `measures[classes[i]]`.
    ///
    /// # Errors
    /// A class without a measure.
    pub fn of_classes(classes: Vec<usize>, measures: &[Measure]) -> Result<Self> {
        let of_attributes =
            classes.iter().map(|&class| measures.get(class).cloned()).collect::<Option<Vec<_>>>();
        let of_attributes = of_attributes.ok_or_else(|| {
            let found = format!("{} measures for classes {classes:?}", measures.len());
            Error::bad_input(
                "reference measure",
                "a measure for every class of attributes",
                found,
                "number classes from 0",
            )
        })?;
        Ok(ReferenceMeasure { measures: of_attributes, classes })
    }

    /// Returns the measure of one attribute.
    pub fn of_attribute(&self, position: usize) -> &Measure {
        &self.measures[position]
    }

    /// Returns the measures, one per attribute.
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// Returns the class of every attribute: attributes of one class share their measure.
    pub fn classes(&self) -> &[usize] {
        &self.classes
    }

    /// Returns the measures of a set of attributes, in ascending order of position.
    pub fn of(&self, attributes: AttributeSet) -> Vec<Measure> {
        attributes.positions().filter_map(|p| self.measures.get(p).cloned()).collect()
    }

    /// Returns whether it is uniform on every attribute.
    pub fn is_uniform(&self) -> bool {
        self.measures.iter().all(Measure::is_uniform)
    }

    /// Checks that the measure is on attributes of the given sizes.
    ///
    /// # Errors
    /// The number of attributes, or the number of values of an attribute, is different.
    pub fn check_sizes(&self, sizes: &[usize]) -> Result<()> {
        let found: Vec<usize> = self.measures.iter().map(Measure::size).collect();
        if found == sizes {
            return Ok(());
        }
        Err(Error::bad_input(
            "reference measure",
            format!("one measure per attribute, over {sizes:?} values"),
            format!("measures over {found:?} values"),
            "give every attribute as many numbers as it has values",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_measures_are_refused() {
        for (weights, expected) in [
            (vec![0.5, 0.4], "sum to 0.9"),
            (vec![0.0, 1.0], "0 for value 0"),
            (vec![1.5, -0.5], "-0.5 for value 1"),
            (vec![f64::NAN], "NaN"),
            (Vec::new(), "sum to 0"),
        ] {
            let message = Measure::of(weights).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let measure = ReferenceMeasure::new(vec![
            Measure::of(vec![0.25, 0.75]).unwrap(),
            Measure::uniform(3),
        ]);
        assert!(measure.check_sizes(&[2, 3]).is_ok());
        assert!(measure.check_sizes(&[2, 4]).unwrap_err().to_string().contains("[2, 3]"));
        assert!(measure.check_sizes(&[2]).is_err());
        assert!(ReferenceMeasure::of_classes(vec![0, 1], &[Measure::uniform(2)]).is_err());
    }

    #[test]
    fn equal_measures_share_a_class() {
        let skewed = Measure::of(vec![0.25, 0.75]).unwrap();
        let measure = ReferenceMeasure::new(vec![
            Measure::uniform(2),
            skewed.clone(),
            Measure::uniform(3),
            skewed,
        ]);
        assert_eq!(measure.classes(), [0, 1, 0, 1]);
        assert!(!measure.is_uniform() && ReferenceMeasure::uniform(&[2, 3]).is_uniform());
        assert_eq!(measure.of_attribute(1).to_vec(), [0.25, 0.75]);
    }
}
