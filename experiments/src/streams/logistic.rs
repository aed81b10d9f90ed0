//! Logistic regression on a table of categories.

use ndarray::ArrayView1;

use crate::datasets::LoadedTable;
use crate::error::{Error, Result};

/// Records as examples: one feature per value of the attributes, and a constant.
///
/// A record has one feature per attribute and the constant, each with the value 1/√(attributes + 1),
/// so that its norm is 1.
#[derive(Debug)]
pub struct Examples {
    /// The features of a record, `per_record` each.
    features: Vec<u32>,
    per_record: usize,
    count: usize,
    labels: Vec<bool>,
}

impl Examples {
    /// Reads the examples of a table; the label is an attribute of two values.
    ///
    /// # Errors
    /// There is no such attribute.
    pub fn new(table: &LoadedTable, label: &str) -> Result<Self> {
        let attributes = table.schema.attributes();
        let Some(position) = attributes.iter().position(|a| a.name == label) else {
            let found = attributes.iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Error::config("label", "an attribute of the table", found, "choose one"));
        };
        if attributes[position].size != 2 {
            let found = format!("{} values", attributes[position].size);
            return Err(Error::config(
                "label",
                "an attribute of 2 values",
                found,
                "choose another",
            ));
        }
        let columns = |p: usize| table.records.column(p).into_iter().flatten();
        let others = (0..attributes.len()).filter(|p| *p != position);
        let (mut starts, mut count) = (Vec::new(), 0);
        for p in others.clone() {
            starts.push(count);
            count += attributes[p].size;
        }
        let per_record = attributes.len();
        let mut features = vec![count as u32; table.records.len() * per_record];
        for (place, (p, start)) in others.zip(starts).enumerate() {
            for (record, value) in columns(p).enumerate() {
                features[record * per_record + place] = start as u32 + value;
            }
        }
        let labels = columns(position).map(|value| value == 1).collect();
        Ok(Examples { features, per_record, count: count + 1, labels })
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns the number of features.
    pub fn features(&self) -> usize {
        self.count
    }

    fn of(&self, record: usize) -> &[u32] {
        &self.features[record * self.per_record..][..self.per_record]
    }
}

/// The weights of the features.
#[derive(Debug)]
pub struct Model<'a> {
    examples: &'a Examples,
    weights: Vec<f64>,
}

impl<'a> Model<'a> {
    /// Creates weights of 0.
    pub fn new(examples: &'a Examples) -> Self {
        Model { examples, weights: vec![0.0; examples.features()] }
    }

    /// Returns the score of a record.
    fn score(&self, record: usize) -> f64 {
        let features = self.examples.of(record);
        let sum: f64 = features.iter().map(|f| self.weights[*f as usize]).sum();
        sum / (features.len() as f64).sqrt()
    }

    /// Moves the weights by −`scale` times the sum of the batch's gradients and the noise.
    pub fn step(&mut self, batch: &[usize], noise: Option<ArrayView1<'_, f64>>, scale: f64) {
        let value = 1.0 / (self.examples.per_record as f64).sqrt();
        let errors: Vec<f64> = (batch.iter())
            .map(|&r| {
                1.0 / (1.0 + (-self.score(r)).exp()) - f64::from(u8::from(self.examples.labels[r]))
            })
            .collect();
        for (&record, error) in batch.iter().zip(errors) {
            for feature in self.examples.of(record) {
                self.weights[*feature as usize] -= scale * error * value;
            }
        }
        if let Some(noise) = noise {
            self.weights.iter_mut().zip(noise).for_each(|(w, z)| *w -= scale * z);
        }
    }

    /// Returns the share of records whose label is predicted.
    pub fn accuracy(&self, records: &[usize]) -> f64 {
        let right = records.iter().filter(|&&r| (self.score(r) > 0.0) == self.examples.labels[r]);
        right.count() as f64 / records.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::DataUse;
    use matmech::data::Records;
    use matmech::domain::AttributeKind;
    use matmech::schema::Schema;

    /// Three records over an attribute of three values and a label.
    fn examples() -> Examples {
        let schema = Schema::of_sizes(&[3, 2], AttributeKind::Categorical).unwrap();
        let records =
            Records::new(&schema, [[0, 2, 2], [0, 1, 1]].map(|c| c.into_iter().collect()).to_vec())
                .unwrap();
        let name = "test".to_owned();
        let data = DataUse { name, real: true, sha256: None, stand_in_revision: None };
        let label = schema.attributes()[1].name.clone();
        Examples::new(&LoadedTable { data, schema, records }, &label).unwrap()
    }

    #[test]
    fn gradients_have_at_most_norm_one_and_match_differences() {
        let examples = examples();
        assert_eq!((examples.len(), examples.features()), (3, 4));
        let mut model = Model::new(&examples);
        model.step(&[0], None, 1.0);
        // The gradient at 0 is (½ − y) x, and x is (1, 0, 0, 1)/√2.
        let half = 0.5 / 2f64.sqrt();
        assert_eq!(model.weights, [-half, 0.0, 0.0, -half]);
        let before = model.weights.clone();
        model.step(&[2], None, 1.0);
        let moved: f64 = model.weights.iter().zip(&before).map(|(a, b)| (a - b).powi(2)).sum();
        let loss = |w3: f64| (1.0 + (-(before[2] + w3) / 2f64.sqrt()).exp()).ln();
        let difference = (loss(before[3] + 1e-6) - loss(before[3] - 1e-6)) / 2e-6;
        assert!((model.weights[3] - before[3] + difference).abs() < 1e-9 && moved < 1.0);
    }

    #[test]
    fn a_separable_table_is_learnt_and_noise_is_added() {
        let examples = examples();
        let mut model = Model::new(&examples);
        for _ in 0..50 {
            model.step(&[0, 1, 2], None, 1.0);
        }
        assert_eq!(model.accuracy(&[0, 1, 2]), 1.0);
        let before = model.weights.clone();
        let noise = ndarray::array![1.0, 0.0, -2.0, 0.0];
        model.step(&[], Some(noise.view()), 0.5);
        assert_eq!(model.weights, [before[0] - 0.5, before[1], before[2] + 1.0, before[3]]);
    }
}
