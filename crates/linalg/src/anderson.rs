//! Safeguarded Anderson acceleration (type II) of a fixed-point iteration that raises a value.

use ndarray::{Array1, Array2, Axis};

use crate::{Loops, Wide, spd_solve};

/// Number of columns that are stored together.
const LANES: usize = 8;

type Lanes = [f64; LANES];

/// The treatment of accelerated steps that are too long.
#[derive(Debug, Clone, Copy)]
pub enum StepLimit {
    /// The step is refused if an entry exceeds this multiple of the largest residual.
    Refuse(f64),
    /// Every entry is clipped to plus or minus this value.
    Clip(f64),
    /// As `Clip`, plain steps too.
    ClipAll(f64),
}

/// An iterate that no step has undone.
#[derive(Debug)]
struct Reached {
    value: f64,
    accuracy: f64,
    /// The plain step from it.
    plain: Vec<f64>,
}

/// The past iterates of a fixed-point iteration `x ← x + f(x)` whose value rises.
///
/// A step after which the value is lower is undone: all iterates are dropped, and the plain step
/// from the iterate before follows.
///
/// The differences of consecutive iterates are the columns of two matrices, stored row by row.
#[derive(Debug)]
pub struct Anderson {
    /// The newest (x, f).
    newest: Option<(Vec<f64>, Vec<f64>)>,
    /// Δf_k, oldest first, in `groups` lanes per unknown.
    residuals: Vec<Lanes>,
    /// Δx_k + Δf_k, likewise.
    updates: Vec<Lanes>,
    columns: usize,
    groups: usize,
    window: usize,
    limit: StepLimit,
    reached: Option<Reached>,
}

impl Anderson {
    /// Starts without iterates; at most `window` are kept.
    pub fn new(window: usize, limit: StepLimit) -> Self {
        Anderson {
            newest: None,
            residuals: Vec::new(),
            updates: Vec::new(),
            columns: 0,
            groups: window.saturating_sub(1).div_ceil(LANES).max(1),
            window,
            limit,
            reached: None,
        }
    }

    /// Returns the number of iterates kept.
    fn kept(&self) -> usize {
        self.columns + usize::from(self.newest.is_some())
    }

    /// Returns the plain step from the iterate before, if the value has fallen, and drops all
    /// iterates.
    ///
    /// `accuracy` is the relative error of the value. A fall counts if it exceeds those of both
    /// values, and if the step combined iterates.
    pub fn undone(&mut self, value: f64, accuracy: f64) -> Option<Vec<f64>> {
        let before = self.reached.take()?;
        let fell = value < before.value * (1.0 - (accuracy + before.accuracy));
        if !fell || self.kept() < 2 {
            return None;
        }
        self.clear();
        Some(before.plain)
    }

    /// Adds an iterate with its residual, and returns the next one: the accelerated step, or the
    /// plain one if there is nothing to combine or the step is refused.
    ///
    /// `value` and `accuracy` are as in [`Anderson::undone`], `weights` those of the norm of the
    /// residuals. O(window² · dimension).
    pub fn next(
        &mut self,
        x: Vec<f64>,
        residual: Vec<f64>,
        weights: &[f64],
        (value, accuracy): (f64, f64),
    ) -> Vec<f64> {
        let plain: Vec<f64> = match self.limit {
            StepLimit::ClipAll(limit) => {
                x.iter().zip(&residual).map(|(x, f)| x + f.clamp(-limit, limit)).collect()
            }
            StepLimit::Refuse(_) | StepLimit::Clip(_) => {
                x.iter().zip(&residual).map(|(x, f)| x + f).collect()
            }
        };
        self.push(x, residual);
        let next = self.step(weights).unwrap_or_else(|| plain.clone());
        self.reached = Some(Reached { value, accuracy, plain });
        next
    }

    /// Drops all iterates.
    fn clear(&mut self) {
        self.newest = None;
        self.columns = 0;
        self.residuals.clear();
        self.updates.clear();
    }

    /// Adds an iterate with its residual. O(window · dimension).
    fn push(&mut self, x: Vec<f64>, residual: Vec<f64>) {
        if let Some((x0, f0)) = &self.newest
            && self.window > 1
        {
            self.residuals.resize(x.len() * self.groups, [0.0; LANES]);
            self.updates.resize(x.len() * self.groups, [0.0; LANES]);
            let full = self.columns + 1 == self.window;
            let column = self.columns - usize::from(full);
            let rows = self
                .residuals
                .chunks_exact_mut(self.groups)
                .zip(self.updates.chunks_exact_mut(self.groups));
            for (o, (residuals, updates)) in rows.enumerate() {
                let (residuals, updates) =
                    (residuals.as_flattened_mut(), updates.as_flattened_mut());
                if full {
                    residuals.copy_within(1.., 0);
                    updates.copy_within(1.., 0);
                }
                let difference = residual[o] - f0[o];
                residuals[column] = difference;
                updates[column] = x[o] - x0[o] + difference;
            }
            self.columns = column + 1;
        }
        self.newest = Some((x, residual));
    }

    /// Returns the next x, or `None` if there is nothing to combine or the step is refused.
    ///
    /// The step is `f − Σ_k γ_k (Δx_k + Δf_k)` with γ that minimises `‖f − Σ_k γ_k Δf_k‖` in the
    /// norm with the given weights. O(window² · dimension).
    fn step(&self, weights: &[f64]) -> Option<Vec<f64>> {
        let (x, f) = self.newest.as_ref()?;
        let columns = self.columns;
        if columns == 0 {
            return None;
        }
        let padded = self.groups * LANES;
        let mut normal = vec![[0.0; LANES]; padded * self.groups];
        let mut right = vec![0.0; padded];
        Wide::detect().run(NormalEquations {
            rows: &self.residuals,
            groups: self.groups,
            weights,
            f,
            normal: &mut normal,
            right: &mut right,
        });
        let normal = normal.as_flattened();
        let mut normal = Array2::from_shape_fn((columns, columns), |(i, j)| normal[i * padded + j]);
        let scale = normal.diag().sum();
        for i in 0..columns {
            normal[[i, i]] += 1e-14 * scale + f64::MIN_POSITIVE;
        }
        let right = Array1::from_iter(right.into_iter().take(columns)).insert_axis(Axis(1));
        let gamma = spd_solve(normal.view(), right.view()).ok()?;
        let gamma: Vec<f64> = gamma.iter().copied().collect();
        let mut step: Vec<f64> = f
            .iter()
            .zip(self.updates.chunks_exact(self.groups))
            .map(|(f, updates)| {
                f - gamma.iter().zip(updates.as_flattened()).map(|(g, u)| g * u).sum::<f64>()
            })
            .collect();
        if step.iter().any(|s| !s.is_finite()) {
            return None;
        }
        match self.limit {
            StepLimit::Refuse(stretch) => {
                let limit = stretch * f.iter().fold(0.0f64, |m, r| m.max(r.abs()));
                if step.iter().any(|s| s.abs() > limit) {
                    return None;
                }
            }
            StepLimit::Clip(limit) | StepLimit::ClipAll(limit) => {
                step.iter_mut().for_each(|s| *s = s.clamp(-limit, limit));
            }
        }
        step.iter_mut().zip(x).for_each(|(s, x)| *s += x);
        Some(step)
    }
}

/// Adds up `AᵀDA` and `AᵀDf` for a matrix A, given by rows, and D = diag(weights).
struct NormalEquations<'a> {
    rows: &'a [Lanes],
    groups: usize,
    weights: &'a [f64],
    f: &'a [f64],
    normal: &'a mut [Lanes],
    right: &'a mut [f64],
}

impl Loops for NormalEquations<'_> {
    #[inline(always)]
    fn run(self) {
        for ((row, weight), f) in self.rows.chunks_exact(self.groups).zip(self.weights).zip(self.f)
        {
            let sums = self.normal.chunks_exact_mut(self.groups).zip(self.right.iter_mut());
            for (a, (sums, right)) in row.as_flattened().iter().zip(sums) {
                let weighted = weight * a;
                *right += weighted * f;
                for (sum, lanes) in sums.iter_mut().zip(row) {
                    for l in 0..LANES {
                        sum[l] += weighted * lanes[l];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    /// A linear contraction with fixed point 0 and eigenvalues 0.9, 0.8, …, 0.4.
    fn residual(x: &[f64]) -> Vec<f64> {
        x.iter().enumerate().map(|(i, x)| -x * (0.1 + 0.1 * i as f64)).collect()
    }

    #[test]
    fn a_linear_iteration_ends_after_as_many_steps_as_eigenvalues() {
        let mut anderson = Anderson::new(12, StepLimit::Clip(10.0));
        let mut x = vec![1.0; 6];
        for step in 0..8 {
            let f = residual(&x);
            anderson.push(x.clone(), f.clone());
            assert_eq!(anderson.kept(), step + 1);
            x = anderson
                .step(&[1.0; 6])
                .unwrap_or_else(|| x.iter().zip(&f).map(|(x, f)| x + f).collect());
        }
        assert!(x.iter().all(|x| x.abs() < 1e-6), "{x:?}");
    }

    #[test]
    fn a_full_window_drops_the_oldest_iterate() {
        let points = [[1.0, 2.0], [0.5, 1.7], [0.2, 0.9], [0.1, 0.3]];
        let step = |points: &[[f64; 2]], window| {
            let mut anderson = Anderson::new(window, StepLimit::Clip(10.0));
            points.iter().for_each(|x| anderson.push(x.to_vec(), residual(x)));
            anderson.step(&[0.3, 0.7]).unwrap()
        };
        let (kept, all) = (step(&points[1..], 9), step(&points, 3));
        assert_relative_eq!(kept.as_slice(), all.as_slice(), max_relative = 1e-12);
    }

    #[test]
    fn long_steps_are_clipped_or_refused() {
        let pushed = |limit| {
            let mut anderson = Anderson::new(5, limit);
            anderson.push(vec![0.0], vec![1.0]);
            anderson.push(vec![0.01], vec![0.999]);
            anderson.step(&[1.0])
        };
        assert_relative_eq!(pushed(StepLimit::Clip(0.7)).unwrap()[0], 0.71);
        assert!(pushed(StepLimit::Refuse(2.0)).is_none());
        assert!(pushed(StepLimit::Refuse(20.0)).is_some());
        assert!(Anderson::new(5, StepLimit::Clip(0.7)).step(&[]).is_none());
    }

    /// The value `−x²`, whose residual is −x/2, with a last residual that overshoots.
    #[test]
    fn steps_that_lower_the_value_are_undone() {
        let mut anderson = Anderson::new(5, StepLimit::ClipAll(0.7));
        let mut x = anderson.next(vec![4.0], vec![-2.0], &[1.0], (-16.0, 0.0));
        assert_eq!(x, [3.3]);
        assert!(anderson.undone(-10.89, 0.0).is_none());
        x = anderson.next(x, vec![-1.65], &[1.0], (-10.89, 0.0));
        assert_relative_eq!(x[0], 2.6);
        assert_relative_eq!(anderson.undone(-11.0, 0.0).unwrap()[0], 2.6, max_relative = 1e-12);
        assert_eq!(anderson.kept(), 0);
        let accurate = |accuracy| {
            let mut anderson = Anderson::new(5, StepLimit::Clip(0.7));
            anderson.next(vec![1.0], vec![0.2], &[1.0], (1.0, accuracy));
            assert!(anderson.undone(2.0, accuracy).is_none());
            anderson.next(vec![1.2], vec![0.1], &[1.0], (2.0, accuracy));
            anderson.undone(1.9, accuracy)
        };
        assert_eq!(accurate(0.02).as_deref(), Some(&[1.2 + 0.1][..]));
        assert_eq!(accurate(0.03), None);
        // A plain step is never undone.
        let mut anderson = Anderson::new(5, StepLimit::Refuse(2.0));
        anderson.next(vec![1.0], vec![0.2], &[1.0], (1.0, 0.0));
        assert!(anderson.undone(0.5, 0.0).is_none());
    }
}
