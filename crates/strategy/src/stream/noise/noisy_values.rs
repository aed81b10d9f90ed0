//! Values that get noise.

/// Values that get noise: consecutive coordinates.
#[derive(Debug)]
pub enum NoisyValues<'a> {
    /// 32-bit numbers. The sum is rounded once.
    Single(&'a mut [f32]),
    /// 64-bit numbers.
    Double(&'a mut [f64]),
}

impl<'a> NoisyValues<'a> {
    /// Returns the number of coordinates.
    pub(crate) fn len(&self) -> usize {
        match self {
            NoisyValues::Single(values) => values.len(),
            NoisyValues::Double(values) => values.len(),
        }
    }

    /// Adds scaled noise to the values.
    pub(super) fn add(&mut self, scale: f64, noise: &[f64]) {
        match self {
            NoisyValues::Single(values) => {
                let values = values.iter_mut();
                values.zip(noise).for_each(|(x, z)| *x = (f64::from(*x) + scale * z) as f32);
            }
            NoisyValues::Double(values) => {
                values.iter_mut().zip(noise).for_each(|(x, z)| *x += scale * z);
            }
        }
    }

    /// Returns the first values, and the others.
    fn split_at(self, length: usize) -> (Self, Self) {
        match self {
            NoisyValues::Single(values) => {
                let (first, rest) = values.split_at_mut(length);
                (NoisyValues::Single(first), NoisyValues::Single(rest))
            }
            NoisyValues::Double(values) => {
                let (first, rest) = values.split_at_mut(length);
                (NoisyValues::Double(first), NoisyValues::Double(rest))
            }
        }
    }
}

/// Parts of values from which the first are taken.
pub(super) struct Remaining<'a> {
    /// The last part first.
    parts: Vec<NoisyValues<'a>>,
}

impl<'a> Remaining<'a> {
    /// Creates all values of some parts.
    pub fn new(values: &'a mut [NoisyValues<'_>]) -> Self {
        let parts = values.iter_mut().rev().map(|part| match part {
            NoisyValues::Single(values) => NoisyValues::Single(values),
            NoisyValues::Double(values) => NoisyValues::Double(values),
        });
        Remaining { parts: parts.collect() }
    }

    /// Returns the next `length` values, or those that are left.
    pub fn take(&mut self, mut length: usize) -> Vec<NoisyValues<'a>> {
        let mut taken = Vec::new();
        while length > 0
            && let Some(part) = self.parts.pop()
        {
            let count = part.len().min(length);
            let (now, later) = part.split_at(count);
            length -= count;
            if later.len() > 0 {
                self.parts.push(later);
            }
            taken.push(now);
        }
        taken
    }
}
