//! Plans and subqueries against the formulas of S3.

use super::*;
use crate::domain::{Attribute, AttributeKind, AxisSet, Hierarchy};
use crate::residual::{averaged, centre_box};

/// Weighted Fourier Factorization against the authors' formula.
///
/// The formula has independent noise on every character of the full domain, without residual
/// subspaces.
#[test]
fn weighted_fourier_equals_the_factorisation_over_all_characters() {
    let workload = small_workload();
    let cells: usize = SIZES.iter().product();
    let mut roots = 0.0;
    for j in 0..cells {
        let frequency = coordinates(&SIZES, j);
        let mut power = 0.0;
        for group in workload.groups() {
            let lift = marginalisation(group.attributes());
            for (weight, row) in rows(group) {
                let query = Array1::from_vec(row).dot(&lift);
                let (mut re, mut im) = (0.0, 0.0);
                for (cell, q) in query.iter().enumerate() {
                    let at = coordinates(&SIZES, cell);
                    let turns: f64 =
                        (0..3).map(|k| (frequency[k] * at[k]) as f64 / SIZES[k] as f64).sum();
                    re += q * (2.0 * std::f64::consts::PI * turns).cos();
                    im += q * (2.0 * std::f64::consts::PI * turns).sin();
                }
                power += weight * group.weight() * (re * re + im * im);
            }
        }
        roots += power.sqrt();
    }
    let expected = (roots / cells as f64).powi(2);
    assert_relative_eq!(
        WeightedFourier.plan(&workload, cost(1.0)).unwrap().total_variance(),
        expected,
        max_relative = 1e-10
    );
}

/// Subqueries, their sum and their orthogonality against S3, Fig. 1 and 2, and Theorem 2.
#[test]
fn the_query_of_figure_1_decomposes_as_in_figure_2() {
    let (sizes, query) = ([2, 3], vec![0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    let sixth = 1.0 / 6.0;
    let mut parts = Vec::new();
    for (number, expected) in [
        (0b00, vec![0.5]),
        (0b01, vec![sixth, -sixth]),
        (0b10, vec![-0.5, 0.0, 0.5]),
        (0b11, vec![-sixth, 2.0 * sixth, -sixth, sixth, -2.0 * sixth, sixth]),
    ] {
        let kept = AxisSet::from_number(number);
        let kept_sizes = kept.select(&sizes);
        let mut part = averaged(&sizes, kept, query.clone());
        centre_box(&kept_sizes, &mut part);
        assert_abs_diff_eq!(part.as_slice(), expected.as_slice(), epsilon = 1e-15);
        let lifted: Vec<f64> = (0..6)
            .map(|cell| {
                part[crate::domain::cell_index(
                    &kept_sizes,
                    &kept.select(&coordinates(&sizes, cell)),
                )]
            })
            .collect();
        parts.push(lifted);
    }
    let sum: Vec<f64> = (0..6).map(|cell| parts.iter().map(|p| p[cell]).sum()).collect();
    assert_abs_diff_eq!(sum.as_slice(), query.as_slice(), epsilon = 1e-15);
    for a in 0..4 {
        for b in 0..a {
            assert_abs_diff_eq!(
                parts[a].iter().zip(&parts[b]).map(|(x, y)| x * y).sum::<f64>(),
                0.0,
                epsilon = 1e-15
            );
        }
    }
}

/// Returns the total variance of S3, Theorem 4, from explicit matrices on the full domain.
///
/// It is `(Σ_A √tr(G_A S_A⁺))²`: G_A is the workload's Gram projected on the residual space of A,
/// and S_A the Gram that `bases` give that space. `bases` has one centred Gram of unit cost per
/// attribute.
fn total_of_bases(workload: &GroupedWorkload, bases: &[Array2<f64>; 3]) -> f64 {
    let cells: usize = SIZES.iter().product();
    let mut gram = Array2::<f64>::zeros((cells, cells));
    for group in workload.groups() {
        let lift = marginalisation(group.attributes());
        for (weight, row) in rows(group) {
            let query = Array1::from_vec(row).dot(&lift).insert_axis(Axis(0));
            gram.scaled_add(weight * group.weight(), &query.t().dot(&query));
        }
    }
    let product = |factors: Vec<Array2<f64>>| {
        Array2::from_shape_fn((cells, cells), |(a, b)| {
            let (a, b) = (coordinates(&SIZES, a), coordinates(&SIZES, b));
            factors.iter().enumerate().map(|(k, f)| f[[a[k], b[k]]]).product::<f64>()
        })
    };
    let mut roots = 0.0;
    for kept in 0..8usize {
        let chosen = |inside: &dyn Fn(usize) -> Array2<f64>, outside: &dyn Fn(usize) -> f64| {
            product(
                (0..3)
                    .map(|k| {
                        if kept >> k & 1 == 1 {
                            inside(k)
                        } else {
                            Array2::from_elem((SIZES[k], SIZES[k]), outside(k))
                        }
                    })
                    .collect(),
            )
        };
        let n = |k: usize| SIZES[k] as f64;
        let projection = chosen(&|k| Array2::eye(SIZES[k]) - 1.0 / n(k), &|k| 1.0 / n(k));
        let strategy = chosen(&|k| bases[k].clone(), &|_| 1.0);
        let projected = projection.dot(&gram).dot(&projection);
        roots += projected.dot(&pseudo_inverse(&strategy)).diag().sum().max(0.0).sqrt();
    }
    roots * roots
}

#[test]
fn planners_with_fixed_bases_equal_sums_over_residual_spaces() {
    let workload = small_workload();
    let residual = SIZES.map(|n| (Array2::eye(n) - 1.0 / n as f64) / (1.0 - 1.0 / n as f64));
    let expected = total_of_bases(&workload, &residual);
    assert_relative_eq!(variance(&ResidualPlanner, &workload), expected, max_relative = 1e-10);
    let solver = BasisSolver { bases: Bases::uniform(ResidualBasis) };
    assert_relative_eq!(
        variance(&QuerySmasher::with_solver(Box::new(solver)), &workload),
        expected,
        max_relative = 1e-10
    );
    let prefix = SIZES.map(|n| PrefixBasis.strategy(n).unwrap().gram().unwrap().as_ref().clone());
    for gram in &prefix {
        assert_relative_eq!(
            gram.diag().iter().copied().fold(0.0, f64::max),
            1.0,
            max_relative = 1e-12
        );
        assert!(gram.sum_axis(Axis(0)).iter().all(|s| s.abs() < 1e-12));
    }
    let plus = ResidualPlannerPlus::dividing(NoiseDivision::Workload);
    assert_relative_eq!(
        variance(&plus, &workload),
        total_of_bases(&workload, &prefix),
        max_relative = 1e-10
    );
}

/// ResidualPlanner on a 2-way marginal of sizes 2 and 3, against the manually computed closed form.
#[test]
fn residual_planner_equals_the_closed_form() {
    let workload =
        GroupedWorkload::all_ways(schema(&[2, 3]), &GroupFamily::Product(Family::IDENTITY), &[2])
            .unwrap();
    let plan = ResidualPlanner.plan(&workload, cost(1.0)).unwrap();
    // L_∅ = 1/6, L_1 = 1/3 · 1²/2, L_2 = 1/2 · 2²/3, L_12 = 1/2 · 4/3.
    let roots: f64 = [1.0 / 6.0, 1.0 / 6.0, 2.0 / 3.0, 2.0 / 3.0f64].iter().map(|l| l.sqrt()).sum();
    assert_relative_eq!(plan.total_variance(), roots * roots, max_relative = 1e-12);
    assert_eq!(plan.measurements().len(), 4);
}

/// All nodes over 264 leaves in counties of 1 to 32, alone and for each of two sexes: the errors are
/// those of the strategies' own matrices, which are not changed by exchanging leaves of a county.
#[test]
fn leaves_of_a_county_are_exchangeable_in_residual_subspaces() {
    let sizes: Vec<usize> = (1..=8).flat_map(|k| [k, 33 - 4 * k, 4 * k]).collect();
    let hierarchy = Hierarchy::groups(&sizes).unwrap();
    let leaves = hierarchy.leaves();
    let area = Attribute::new("area", leaves, AttributeKind::Categorical);
    let sex = Attribute::new("sex", 2, AttributeKind::Categorical);
    let schema = Schema::new(vec![area.with_hierarchy(hierarchy.clone()), sex]).unwrap();
    let nodes = [Family::nested(&hierarchy), Family::IDENTITY];
    let group = |positions: &[usize]| {
        let set = set(positions);
        QueryGroup::product(&schema, set, &nodes[..positions.len()], 1.0).unwrap()
    };
    let groups = vec![group(&[0]), group(&[0, 1])];
    let workload = GroupedWorkload::new(schema.clone(), groups).unwrap();
    let plan = QuerySmasher::default().plan(&workload, cost(1.0)).unwrap();
    let bound = plan.lower_bound().unwrap();
    assert!(plan.total_variance() <= bound * (1.0 + 1e-7), "{} {bound}", plan.total_variance());
    let gram = nodes[0].gram(&[leaves]).unwrap();
    let centring = Array2::eye(leaves) - 1.0 / leaves as f64;
    let residual = centring.dot(&gram).dot(&centring);
    let mean_energy = gram.sum() / (leaves * leaves) as f64;
    // Σ of the squared means of the two queries for the sexes is 2/4.
    let (mut alone, mut by_sex) = (0.0, 0.0);
    for measured in plan.measurements() {
        let SubspaceStrategy::Kronecker(factors) = measured.strategy.as_ref() else { panic!() };
        let has_area = measured.attributes.positions().any(|p| p == 0);
        let has_sex = measured.attributes.positions().any(|p| p == 1);
        let of_area = match has_area {
            true => {
                let strategy = factors[0].gram().unwrap();
                assert!((strategy[[1, 1]] - strategy[[2, 2]]).abs() < 1e-12);
                let inverse = linalg::Semidefinite::of(strategy.view()).unwrap().pseudo_inverse();
                (&residual * &inverse).sum()
            }
            false => mean_energy,
        };
        // V of the sexes is I − J/2 scaled to a diagonal of 1, so tr(P V⁺) = 1/2.
        let of_sex = 0.5;
        let share = measured.privacy_cost.get();
        if !has_sex {
            alone += of_area / share;
        }
        by_sex += of_area * of_sex / share;
    }
    assert_relative_eq!(alone, plan.groups()[0].variance, max_relative = 1e-8);
    assert_relative_eq!(by_sex, plan.groups()[1].variance, max_relative = 1e-8);
    let anova = Anova::default().plan(&workload, cost(1.0)).unwrap();
    assert!(anova.total_variance() <= plan.total_variance() * (1.0 + 1e-12));
}
