//! Conditional ResidualPlanner: the optimal division of a budget over a marginal's residuals.
//!
//! The division is optimal for the residuals' current precisions and is computed exactly by
//! water-filling (S4, Sec. 4.3 and App. D).

use crate::domain::AxisSet;
use crate::error::{Error, Result};
use crate::privacy::Rho;
use crate::residual::{cells_summed_out, privacy_coefficient, variance_coefficient};

/// Minimum share of the round's budget for a measurement (η of S4, App. D.2).
pub const MIN_SHARE: f64 = 1e-3;

/// Maximum number of attributes of a marginal: 2^20 residuals.
const MAX_ATTRIBUTES: usize = 20;

/// The noise variances of the residuals τ ⊆ γ of one marginal.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// The variances σ_τ², in the order of [`AxisSet::subsets`]; ∞ if not measured.
    pub variances: Vec<f64>,
    /// The variance of a cell of the estimated marginal after the round, Σ_τ v_τ / (λ_τ + σ_τ⁻²).
    ///
    /// Infinite if a residual has no measurement.
    pub objective: f64,
    /// A lower bound on the objective of every division of the same budget.
    ///
    /// It is the value of the Lagrangian dual.
    pub lower_bound: f64,
}

impl Allocation {
    /// Returns the measured residuals and their variances, ∅ first.
    pub fn measured(&self) -> impl Iterator<Item = (AxisSet, f64)> + '_ {
        let numbered = self.variances.iter().copied().enumerate();
        numbered
            .filter(|(_, variance)| variance.is_finite())
            .map(|(k, variance)| (AxisSet::from_number(k), variance))
    }

    /// Returns the relative gap objective / lower bound − 1.
    pub fn gap(&self) -> f64 {
        self.objective / self.lower_bound - 1.0
    }

    /// Returns the zCDP parameter Σ p_τ/(2σ_τ²), for a marginal of these sizes (S4, Prop. 4.3).
    pub fn rho(&self, sizes: &[usize]) -> f64 {
        self.measured()
            .map(|(tau, variance)| privacy_coefficient(sizes, tau) / (2.0 * variance))
            .sum()
    }
}

/// Divides the budget ρ of a round over the residuals of a marginal.
///
/// Minimises Σ_τ v_τ/(σ_τ⁻² + λ_τ) over σ_τ⁻² ≥ 0 with Σ_τ p_τ/(2σ_τ²) = ρ. The marginal has
/// attributes of the given sizes, and its residuals have precisions λ_τ (0 if not measured yet).
///
/// With x_τ = 1/(2ρσ_τ²) and a_τ = λ_τ/(2ρ) the optimality conditions are v_τ/(x_τ + a_τ)² = p_τ/L²
/// where x_τ > 0. Since √(v_τ/p_τ) = 1/n_{γ∖τ}, this is water-filling,
///
/// ```text
/// x_τ = max(0, L/n_{γ∖τ} − a_τ),      Σ_τ p_τ x_τ = 1,
/// ```
///
/// and the level is L = (1 + Σ p_τ a_τ)/Σ p_τ/n_{γ∖τ} over the k residuals with the smallest b_τ =
/// a_τ n_{γ∖τ}, where b_k ≤ L ≤ b_{k+1}.
///
/// A residual that was measured before is not measured again if its share p_τ x_τ is below
/// [`MIN_SHARE`]; the problem is then solved again for the others. This only raises the level,
/// so their shares stay above the threshold and one more solve is enough. If all shares are that
/// small (ten or more attributes), the largest are kept. A residual without an estimate is always
/// measured, since otherwise no cell would have a finite variance. Attributes of one value have no
/// residual (p_τ = 0).
///
/// *Certificate*: for every multiplier μ the dual value Σ_τ min_{x ≥ 0} (v_τ/(x + a_τ) + μ p_τ x) −
/// μ is a lower bound. [`Allocation::lower_bound`] uses μ = 1/L² of the first solve, so
/// [`Allocation::gap`] is rounding plus the cost of the omitted residuals.
///
/// *Cost*: O(2^k k) for k attributes. *Reference*: S4, App. D.2, which uses a conic solver.
///
/// # Errors
/// A number of precisions other than 2^k, a precision that is negative or not finite, a size of 0,
/// or more than 20 attributes.
pub fn allocate(sizes: &[usize], precisions: &[f64], rho: Rho) -> Result<Allocation> {
    check(sizes, precisions)?;
    let cost = rho.privacy_cost().get();
    let residuals: Vec<ResidualShare> = precisions
        .iter()
        .zip(AxisSet::subsets(sizes.len()))
        .map(|(&precision, tau)| ResidualShare {
            tau,
            price: privacy_coefficient(sizes, tau),
            known: precision / cost,
            smeared: cells_summed_out(sizes, tau),
        })
        .filter(|r| r.price > 0.0)
        .collect();
    let level = water_level(residuals.iter());
    let lower_bound = dual(&residuals, level) / cost;
    let largest = residuals.iter().map(|r| r.share(level)).fold(0.0, f64::max);
    let threshold = MIN_SHARE.min(largest);
    let kept: Vec<&ResidualShare> =
        residuals.iter().filter(|r| r.known == 0.0 || r.share(level) >= threshold).collect();
    let level = water_level(kept.iter().copied());
    let mut variances = vec![f64::INFINITY; precisions.len()];
    for residual in kept {
        variances[residual.tau.number()] = (cost * residual.added(level)).recip();
    }
    let objective = cell_variance_after(sizes, precisions, &variances);
    Ok(Allocation { variances, objective, lower_bound })
}

/// One residual, in units of 2ρ.
struct ResidualShare {
    /// The residual τ.
    tau: AxisSet,
    /// The privacy coefficient p_τ.
    price: f64,
    /// The current precision a_τ.
    known: f64,
    /// The number of cells n_{γ∖τ}.
    smeared: f64,
}

impl ResidualShare {
    /// Returns the level b_τ above which the residual is measured.
    fn entry(&self) -> f64 {
        self.known * self.smeared
    }

    /// Returns the added precision x_τ.
    fn added(&self, level: Level) -> f64 {
        ((level.rise - (self.entry() - level.base)) / self.smeared).max(0.0)
    }

    /// Returns the share p_τ x_τ of the round's budget.
    fn share(&self, level: Level) -> f64 {
        self.price * self.added(level)
    }
}

/// The water level L, split into the lowest entry and the rise above it.
///
/// The precision that a round adds may be tiny compared with the current one.
#[derive(Clone, Copy)]
struct Level {
    base: f64,
    rise: f64,
}

/// Returns the level at which the shares sum to 1.
fn water_level<'a>(residuals: impl Iterator<Item = &'a ResidualShare>) -> Level {
    let mut by_entry: Vec<&ResidualShare> = residuals.collect();
    by_entry.sort_by(|a, b| a.entry().total_cmp(&b.entry()));
    let base = by_entry.first().map_or(0.0, |r| r.entry());
    let (mut slope, mut known, mut rise) = (0.0, 0.0, f64::INFINITY);
    for residual in by_entry {
        let above = residual.entry() - base;
        if above >= rise {
            break;
        }
        let weight = residual.price / residual.smeared;
        slope += weight;
        known += weight * above;
        rise = (1.0 + known) / slope;
    }
    Level { base, rise }
}

/// Returns the Lagrangian dual at the multiplier 1/L², with v_τ = p_τ/n_{γ∖τ}².
fn dual(residuals: &[ResidualShare], level: Level) -> f64 {
    let level = level.base + level.rise;
    let multiplier = level.powi(-2);
    let inner = |r: &ResidualShare| match r.entry() < level {
        true => r.price * (2.0 / (r.smeared * level) - multiplier * r.known),
        false => r.price / (r.smeared.powi(2) * r.known),
    };
    residuals.iter().map(inner).sum::<f64>() - multiplier
}

/// Returns the cell variance after the round, Σ_τ v_τ/(λ_τ + σ_τ⁻²).
fn cell_variance_after(sizes: &[usize], precisions: &[f64], variances: &[f64]) -> f64 {
    let term = |(tau, (&precision, &variance)): (AxisSet, (&f64, &f64))| match variance_coefficient(
        sizes, tau,
    ) {
        0.0 => 0.0,
        coefficient => coefficient / (precision + variance.recip()),
    };
    AxisSet::subsets(sizes.len()).zip(precisions.iter().zip(variances)).map(term).sum()
}

fn check(sizes: &[usize], precisions: &[f64]) -> Result<()> {
    let refuse = |what: &str, expected: String, found: String, remedy: &str| {
        Err(Error::bad_input(format!("conditional allocation, {what}"), expected, found, remedy))
    };
    if sizes.len() > MAX_ATTRIBUTES || sizes.contains(&0) {
        let expected = format!("at most {MAX_ATTRIBUTES} sizes of at least 1");
        return refuse(
            "marginal",
            expected,
            format!("{sizes:?}"),
            "use a marginal on fewer attributes",
        );
    }
    if precisions.len() != 1 << sizes.len() {
        let expected = format!("{}, one per subset of the attributes", 1 << sizes.len());
        return refuse(
            "precisions",
            expected,
            precisions.len().to_string(),
            "use 0 for residuals that are not measured",
        );
    }
    if let Some(bad) = precisions.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
        let expected = "finite numbers of at least 0".into();
        return refuse(
            "precisions",
            expected,
            bad.to_string(),
            "use 0 for residuals that are not measured",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::SupportedConeT::{NonnegativeConeT, SecondOrderConeT};
    use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus};
    use rand::RngExt;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::test_support::rng;

    fn allocate(sizes: &[usize], precisions: &[f64], rho: f64) -> Result<Allocation> {
        super::allocate(sizes, precisions, Rho::new(rho)?)
    }

    /// Returns the noise σ_τ² = σ² n_{γ∖τ} of the residuals in y = μ_γ + N(0, σ²I) with σ² = 1/(2ρ)
    /// (S4, Sec. 4.3, "iid"), for a marginal without earlier measurements.
    fn isotropic(sizes: &[usize], rho: f64) -> Allocation {
        let variances: Vec<f64> = AxisSet::subsets(sizes.len())
            .map(|tau| match privacy_coefficient(sizes, tau) > 0.0 {
                true => cells_summed_out(sizes, tau) / (2.0 * rho),
                false => f64::INFINITY,
            })
            .collect();
        let objective = cell_variance_after(sizes, &vec![0.0; variances.len()], &variances);
        Allocation { variances, objective, lower_bound: f64::NAN }
    }

    /// Returns p_τ and v_τ of all residuals, independent of the code under test.
    fn coefficients(sizes: &[usize]) -> Vec<(f64, f64)> {
        (0..1usize << sizes.len())
            .map(|mask| {
                let (mut p, mut v) = (1.0, 1.0);
                for (i, &n) in sizes.iter().enumerate() {
                    let n = n as f64;
                    if mask & (1 << i) != 0 {
                        p *= 1.0 - 1.0 / n;
                        v *= 1.0 - 1.0 / n;
                    } else {
                        v /= n * n;
                    }
                }
                (p, v)
            })
            .collect()
    }

    /// Returns a random instance: sizes 1 to 40, a third of the residuals unmeasured, the others with
    /// precisions over six decades.
    fn instance(rng: &mut ChaCha20Rng) -> (Vec<usize>, Vec<f64>, f64) {
        let sizes: Vec<usize> =
            (0..rng.random_range(1..=4)).map(|_| rng.random_range(1..=40)).collect();
        let rho = 10f64.powf(rng.random_range(-5.0..1.0));
        let precisions = (0..1 << sizes.len())
            .map(|_| match rng.random_bool(1.0 / 3.0) {
                true => 0.0,
                false => rho * 10f64.powf(rng.random_range(-3.0..3.0)),
            })
            .collect();
        (sizes, precisions, rho)
    }

    /// Returns the x of min Σ v t with t (x + a) ≥ 1, x ≥ 0, Σ p x ≤ 1, by interior points. With the
    /// scaling s = √(p/v), X = s x, b = s a and T = t/s: min Σ v s T with ‖(2, T − X − b)‖ ≤ T + X + b,
    /// X ≥ 0, Σ (p/s) X ≤ 1.
    fn by_cones(pv: &[(f64, f64)], a: &[f64]) -> Vec<f64> {
        let m = pv.len();
        let (mut rows, mut columns, mut values, mut right) = (vec![], vec![], vec![], vec![]);
        let mut row = |entries: &[(usize, f64)], bound: f64| {
            for &(column, value) in entries {
                rows.push(right.len());
                columns.push(column);
                values.push(value);
            }
            right.push(bound);
        };
        let unit: Vec<f64> = pv.iter().map(|(p, v)| (p / v).sqrt()).collect();
        let budget: Vec<(usize, f64)> =
            pv.iter().zip(&unit).enumerate().map(|(i, ((p, _), s))| (i, p / s)).collect();
        row(&budget, 1.0);
        for i in 0..m {
            row(&[(i, -1.0)], 0.0);
        }
        for (i, (s, a)) in unit.iter().zip(a).enumerate() {
            row(&[(i, -1.0), (m + i, -1.0)], s * a);
            row(&[], 2.0);
            row(&[(i, 1.0), (m + i, -1.0)], -s * a);
        }
        let matrix = CscMatrix::new_from_triplets(right.len(), 2 * m, rows, columns, values);
        let mut cones = vec![NonnegativeConeT(m + 1)];
        cones.extend((0..m).map(|_| SecondOrderConeT(3)));
        let objective: Vec<f64> =
            vec![0.0; m].into_iter().chain(pv.iter().zip(&unit).map(|((_, v), s)| v * s)).collect();
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .tol_gap_abs(1e-11)
            .tol_gap_rel(1e-11)
            .tol_feas(1e-11)
            .max_iter(200)
            .build()
            .unwrap();
        let zero = CscMatrix::zeros((2 * m, 2 * m));
        let mut solver =
            DefaultSolver::new(&zero, &objective, &matrix, &right, &cones, settings).unwrap();
        solver.solve();
        assert!(matches!(
            solver.solution.status,
            SolverStatus::Solved | SolverStatus::AlmostSolved
        ));
        solver.solution.x[..m].iter().zip(&unit).map(|(x, s)| x / s).collect()
    }

    /// Sixty instances: the conic solution, made feasible, is not below the lower bound and within the
    /// solver's tolerance of it, and the shares agree.
    #[test]
    fn agrees_with_clarabel() {
        let mut rng = rng(1);
        for _ in 0..60 {
            let (sizes, precisions, rho) = instance(&mut rng);
            let found = allocate(&sizes, &precisions, rho).unwrap();
            let cost = 2.0 * rho;
            // Attributes of one value have no residuals.
            let existing: Vec<usize> =
                (0..precisions.len()).filter(|&m| coefficients(&sizes)[m].0 > 0.0).collect();
            let pv: Vec<(f64, f64)> = existing.iter().map(|&m| coefficients(&sizes)[m]).collect();
            let a: Vec<f64> = existing.iter().map(|&m| precisions[m] / cost).collect();
            let solved: Vec<f64> = by_cones(&pv, &a).into_iter().map(|x| x.max(0.0)).collect();
            let total: f64 = pv.iter().zip(&solved).map(|((p, _), x)| p * x).sum();
            let x: Vec<f64> = solved.iter().map(|x| x / total).collect();
            let optimum: f64 = pv.iter().zip(&x).zip(&a).map(|(((_, v), x), a)| v / (x + a)).sum();
            let ratio = optimum / cost / found.lower_bound;
            assert!(
                ratio > 1.0 - 1e-12 && ratio < 1.0 + 1e-3,
                "{sizes:?} {precisions:?} {rho}: {ratio}"
            );
            // The certificate's gap bounds the cost of the omitted shares.
            assert!(found.objective >= found.lower_bound * (1.0 - 1e-12), "{found:?}");
            let dropped = existing.iter().any(|&m| found.variances[m].is_infinite());
            if !dropped {
                assert!(
                    found.gap().abs() < 1e-12,
                    "{sizes:?} {precisions:?} {rho}: {}",
                    found.gap()
                );
            }
            // Omitted shares are divided among the others.
            let omitted = existing
                .iter()
                .zip(&pv)
                .zip(&x)
                .filter(|((m, _), _)| found.variances[**m].is_infinite());
            let moved: f64 = omitted.map(|((_, (p, _)), x)| p * x).sum();
            for ((&mask, (p, _)), x) in existing.iter().zip(&pv).zip(x) {
                let share = p / (cost * found.variances[mask]);
                assert!(
                    (share - p * x).abs() < 5e-3 + moved,
                    "{sizes:?} {mask}: {share} against {}",
                    p * x
                );
            }
        }
    }

    /// Two and three residuals: no point of a fine grid of divisions is better.
    #[test]
    fn no_division_on_a_grid_is_better() {
        let objective = |sizes: &[usize], precisions: &[f64], rho: f64, shares: &[f64]| -> f64 {
            let pv = coefficients(sizes);
            let terms = pv.iter().zip(precisions).zip(shares);
            terms
                .filter(|((pv, _), _)| pv.0 > 0.0)
                .map(|(((p, v), known), s)| v / (known + 2.0 * rho * s / p))
                .sum()
        };
        let mut rng = rng(2);
        for round in 0..20 {
            // With sizes 1 and 5 there are two residuals, ∅ and the second attribute.
            let (sizes, steps) =
                if round % 2 == 0 { (vec![1, 5], 100_000) } else { (vec![3, 4], 60) };
            let rho = 0.3;
            let precisions: Vec<f64> =
                (0..4).map(|_| 10f64.powf(rng.random_range(-2.0..1.0))).collect();
            let found = allocate(&sizes, &precisions, rho).unwrap();
            let mut best = f64::INFINITY;
            let at = |k: usize| k as f64 / steps as f64;
            if sizes[0] == 1 {
                for k in 0..=steps {
                    best = best.min(objective(
                        &sizes,
                        &precisions,
                        rho,
                        &[at(k), 0.0, 1.0 - at(k), 0.0],
                    ));
                }
                assert_relative_eq!(best, found.lower_bound, max_relative = 1e-6);
            } else {
                for (i, j, k) in (0..=steps)
                    .flat_map(|i| (0..=steps - i).map(move |j| (i, j)))
                    .flat_map(|(i, j)| (0..=steps - i - j).map(move |k| (i, j, k)))
                {
                    let rest = at(steps - i - j - k);
                    best =
                        best.min(objective(&sizes, &precisions, rho, &[at(i), at(j), at(k), rest]));
                }
                assert!(
                    best >= found.lower_bound * (1.0 - 1e-12) && best < found.lower_bound * 1.02,
                    "{best} {found:?}"
                );
            }
            let shares: Vec<f64> = coefficients(&sizes)
                .iter()
                .zip(&found.variances)
                .map(|((p, _), s)| p / (2.0 * rho * s))
                .collect();
            assert_relative_eq!(
                objective(&sizes, &precisions, rho, &shares),
                found.objective,
                max_relative = 1e-12
            );
        }
    }

    /// S4, Theorem D.1 with zero precisions (and therefore no active bound): x_τ = √(v_τ/p_τ)/Σ √(p v).
    #[test]
    fn zero_precisions_have_a_closed_form() {
        for sizes in [vec![2], vec![3, 7], vec![16, 5, 42], vec![2, 2, 2, 2]] {
            let rho = 0.37;
            let found = allocate(&sizes, &vec![0.0; 1 << sizes.len()], rho).unwrap();
            let pv = coefficients(&sizes);
            let s: f64 = pv.iter().map(|(p, v)| (p * v).sqrt()).sum();
            assert_relative_eq!(s, 1.0, max_relative = 1e-14);
            for ((p, v), variance) in pv.iter().zip(&found.variances) {
                assert_relative_eq!(
                    1.0 / (2.0 * rho * variance),
                    (v / p).sqrt() / s,
                    max_relative = 1e-12
                );
            }
            assert_relative_eq!(found.objective, s * s / (2.0 * rho), max_relative = 1e-12);
            // It equals the isotropic measurement.
            let same = isotropic(&sizes, rho);
            assert_relative_eq!(
                found.variances.as_slice(),
                same.variances.as_slice(),
                max_relative = 1e-12
            );
        }
    }

    /// S4, Theorem D.1 with small precisions, for which all shares are positive.
    #[test]
    fn small_precisions_have_a_closed_form() {
        let (sizes, rho) = (vec![4, 6], 0.5);
        let known = [0.001, 0.002, 0.0, 0.01];
        let found = allocate(&sizes, &known, rho).unwrap();
        let pv = coefficients(&sizes);
        let q: f64 = pv.iter().zip(known).map(|((p, _), a)| p * a / (2.0 * rho)).sum();
        for (((p, v), a), variance) in pv.iter().zip(known).zip(&found.variances) {
            let x = (1.0 + q) * (v / p).sqrt() - a / (2.0 * rho);
            assert_relative_eq!(1.0 / (2.0 * rho * variance), x, max_relative = 1e-12);
        }
    }

    /// The budget is spent to 1e-12 for all precisions; omitted shares are divided among the others.
    #[test]
    fn the_budget_is_spent() {
        let mut rng = rng(3);
        let mut omitted = 0;
        for _ in 0..2000 {
            let (sizes, mut precisions, rho) = instance(&mut rng);
            if rng.random_bool(0.2) {
                precisions.iter_mut().for_each(|x| *x *= 1e12);
            }
            let found = allocate(&sizes, &precisions, rho).unwrap();
            assert_relative_eq!(found.rho(&sizes), rho, max_relative = 1e-12);
            for (mask, (p, _)) in coefficients(&sizes).into_iter().enumerate() {
                let share = p / (2.0 * rho * found.variances[mask]);
                assert!(
                    share == 0.0 || share >= MIN_SHARE || precisions[mask] == 0.0,
                    "{sizes:?} {mask} {share}"
                );
                omitted += usize::from(p > 0.0 && share == 0.0);
            }
        }
        assert!(omitted > 1000, "{omitted}");
    }

    /// The cost of an omitted share is small, and the certificate's gap bounds it.
    #[test]
    fn the_gap_bounds_the_cost_of_omitted_shares() {
        let (sizes, rho) = ([28, 9, 30], 1.0);
        let level = 2.0 * rho;
        // ∅ is so precise that its optimal share is between 0 and the threshold.
        let mut precisions = [0.0; 8];
        precisions[0] = level * 0.99995 / 7560.0;
        let found = allocate(&sizes, &precisions, rho).unwrap();
        assert!(
            found.variances[0].is_infinite() && found.variances[1..].iter().all(|v| v.is_finite())
        );
        assert!(found.gap() > 0.0 && found.gap() < 1e-6, "{}", found.gap());
        assert_relative_eq!(found.rho(&sizes), rho, max_relative = 1e-12);
        // A residual without an estimate is measured for any share.
        let first = allocate(&sizes, &[0.0; 8], rho).unwrap();
        assert_relative_eq!(
            1.0 / (2.0 * rho * first.variances[0]),
            1.0 / 7560.0,
            max_relative = 1e-12
        );
    }

    #[test]
    fn invalid_sizes_and_precisions_are_refused() {
        for (sizes, precisions, rho, part) in [
            (vec![2], vec![0.0], 1.0, "one per subset"),
            (vec![2], vec![0.0, -1.0], 1.0, "-1"),
            (vec![2], vec![f64::INFINITY, 0.0], 1.0, "inf"),
            (vec![0], vec![0.0, 0.0], 1.0, "sizes"),
            (vec![2; 21], vec![], 1.0, "at most 20"),
        ] {
            let message = allocate(&sizes, &precisions, rho).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("remedy"), "{message}");
        }
        // If every attribute has one value, only the total exists.
        let total = allocate(&[1, 1], &[3.0, 0.0, 0.0, 0.0], 0.5).unwrap();
        assert_eq!(total.variances, vec![1.0, f64::INFINITY, f64::INFINITY, f64::INFINITY]);
        assert_relative_eq!(total.objective, 0.25);
    }
}
