//! The privacy cost from the written integers only, by dense rational matrices.

use num_bigint::BigInt;
use num_rational::Ratio;
use num_traits::ToPrimitive;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::privacy::{ExactRho, Neighbours};
use crate::test_support::{rho, rng, schema};

pub(in crate::release) type Rational = Ratio<BigInt>;

/// Returns ρ by its definition, from `strategies.json` only.
///
/// It is the largest Σ k²|B(x − x')|²/(2σ²) over all neighbours, by dense matrices. Doubles select
/// the neighbours with nearly the largest sum; for these it is computed in rational numbers.
pub(in crate::release) fn recomputed(strategies: &str, unit: PrivacyUnit) -> Rational {
    let document: serde_json::Value = serde_json::from_str(strategies).unwrap();
    let integers = |rows: &serde_json::Value| -> Vec<Vec<BigInt>> {
        let row = |row: &serde_json::Value| {
            row.as_array()
                .unwrap()
                .iter()
                .map(|x| BigInt::from(x.as_i64().unwrap()))
                .collect::<Vec<_>>()
        };
        rows.as_array().unwrap().iter().map(row).collect()
    };
    let list = |value: &serde_json::Value| value.as_array().unwrap().clone();
    // Per subspace: the position of every attribute, and the cost of every pair of its cells; index
    // `cells` is an absent record.
    let mut names: Vec<String> = Vec::new();
    let mut sizes: Vec<usize> = Vec::new();
    let mut terms: Vec<(Vec<usize>, usize, Vec<Rational>)> = Vec::new();
    for subspace in list(&document["subspaces"]) {
        let mut matrix = vec![vec![BigInt::from(1)]];
        let mut shape = Vec::new();
        for index in list(&subspace["factors"]) {
            let factor = &document["factors"][index.as_u64().unwrap() as usize];
            shape.extend(list(&factor["shape"]).iter().map(|n| n.as_u64().unwrap() as usize));
            let rows = integers(&factor["rows"]);
            let product = |a: &Vec<BigInt>, b: &Vec<BigInt>| {
                a.iter().flat_map(|x| b.iter().map(move |y| x * y)).collect()
            };
            matrix = matrix.iter().flat_map(|a| rows.iter().map(move |b| product(a, b))).collect();
        }
        let attributes = list(&subspace["attributes"]);
        let positions = attributes.iter().zip(shape).map(|(name, size)| {
            let name = name.as_str().unwrap().to_owned();
            names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                sizes.push(size);
                names.len() - 1
            })
        });
        let positions: Vec<usize> = positions.collect();
        let cells = matrix[0].len();
        let (numerator, denominator) =
            subspace["deviation"].as_str().unwrap().split_once('/').unwrap();
        let deviation = Rational::new(numerator.parse().unwrap(), denominator.parse().unwrap());
        let rows = Rational::from(BigInt::from(unit.rows));
        let entry = |row: &Vec<BigInt>, cell: usize| {
            if cell == cells { BigInt::ZERO } else { row[cell].clone() }
        };
        let cost = |a: usize, b: usize| {
            let square: BigInt =
                matrix.iter().map(|row| entry(row, a) - entry(row, b)).map(|x| &x * &x).sum();
            match square == BigInt::ZERO {
                true => Rational::from(BigInt::ZERO),
                // Noiseless answers that a record changes have no finite cost.
                false if deviation == Rational::from(BigInt::ZERO) => {
                    Rational::from(BigInt::from(u64::MAX))
                }
                false => {
                    Rational::from(square) * &rows * &rows
                        / (&deviation * &deviation * BigInt::from(2))
                }
            }
        };
        let pairs = (0..=cells).flat_map(|a| (0..=cells).map(move |b| (a, b)));
        terms.push((positions, cells, pairs.map(|(a, b)| cost(a, b)).collect()));
    }
    let records: usize = sizes.iter().product();
    let cell_of = |record: usize, positions: &[usize], cells: usize| {
        if record == records {
            return cells;
        }
        let values = crate::domain::coordinates(&sizes, record);
        positions.iter().fold(0, |cell, p| cell * sizes[*p] + values[*p])
    };
    let of_neighbours = |a: usize, b: usize| -> Vec<usize> {
        let index = |(positions, cells, _): &(Vec<usize>, usize, Vec<Rational>)| {
            cell_of(a, positions, *cells) * (cells + 1) + cell_of(b, positions, *cells)
        };
        terms.iter().map(index).collect()
    };
    let mut neighbours = Vec::new();
    for a in 0..records {
        match unit.neighbours {
            Neighbours::AddOrRemoveOneRecord => neighbours.push((a, records)),
            Neighbours::ReplaceOneRecord => neighbours.extend((0..a).map(|b| (a, b))),
            _ => neighbours.extend((0..a).chain([records]).map(|b| (a, b))),
        }
    }
    let double = |cost: &Rational| cost.numer().to_f64().unwrap() / cost.denom().to_f64().unwrap();
    let doubles: Vec<Vec<f64>> =
        terms.iter().map(|(.., costs)| costs.iter().map(double).collect()).collect();
    let nearly = |(a, b): &(usize, usize)| {
        let costs = of_neighbours(*a, *b).into_iter().zip(&doubles);
        costs.map(|(k, costs)| costs[k]).sum::<f64>()
    };
    let largest = neighbours.iter().map(nearly).fold(0.0, f64::max);
    let candidates =
        neighbours.iter().filter(|pair| nearly(pair) >= largest * (1.0 - 1e-9)).take(200);
    let exactly = |(a, b): &(usize, usize)| {
        let costs = of_neighbours(*a, *b).into_iter().zip(&terms).map(|(k, (.., costs))| &costs[k]);
        costs.fold(Rational::from(BigInt::ZERO), |sum, cost| sum + cost)
    };
    candidates.map(exactly).max().unwrap_or_else(|| Rational::from(BigInt::ZERO))
}

/// Returns the number that a double is printed as.
fn exact(x: f64) -> Rational {
    let text = format!("{x:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = Rational::from(format!("{whole}{fraction}").parse::<BigInt>().unwrap());
    let exponent = exponent.parse::<i32>().unwrap() - fraction.len() as i32;
    let power = Rational::from(BigInt::from(10).pow(exponent.unsigned_abs()));
    if exponent >= 0 { digits * power } else { digits / power }
}

/// Returns whether a stated ρ is at least the recomputed one and, if it is attained, exceeds it
/// only by rounding.
pub(in crate::release) fn agrees(stated: &ExactRho, recomputed: &Rational, attained: bool) -> bool {
    let stated = exact(stated.to_f64_rounded_up());
    let above =
        Rational::from(BigInt::from(1)) + Rational::new(BigInt::from(1), BigInt::from(10).pow(12));
    stated >= *recomputed && (!attained || stated <= recomputed * above)
}

/// Returns the written `strategies.json`.
pub(super) fn strategies_of(measured: &Measurements) -> String {
    let folder = tempfile::tempdir().unwrap();
    measured.write(folder.path()).unwrap();
    std::fs::read_to_string(folder.path().join("strategies.json")).unwrap()
}

/// Returns a random plan: one to three attributes of two to five values, and random families,
/// planner and unit.
fn random_plan(random: &mut ChaCha20Rng) -> (Vec<usize>, GroupedWorkload, IntegerPlan, f64) {
    loop {
        let sizes: Vec<usize> =
            (0..random.random_range(1..=3)).map(|_| random.random_range(2..=5)).collect();
        let families = ["identity", "prefix", "range", "circular", "total", "hybrid"];
        let groups = (0..random.random_range(1..=2)).map(|_| {
            let family = families[random.random_range(0..families.len())];
            let ways = random.random_range(1..=sizes.len());
            let weight = random.random_range(0.5..3.0);
            format!("[[queries]]\nfamily = \"{family}\"\nways = [{ways}]\nweight = {weight}\n")
        });
        let mut text: String = groups.collect();
        if sizes.len() > 1 && random.random_bool(0.2) {
            text.push_str("[[queries]]\nfamily = \"affine\"\nattributes = [\"A1\", \"A2\"]\n");
        }
        let planners = [
            "query-smasher",
            "query-smasher",
            "anova",
            "residual-planner",
            "residual-planner-plus",
            "weighted-fourier",
        ];
        let planner = planners[random.random_range(0..planners.len())];
        let neighbours = [
            Neighbours::AddOrRemoveOneRecord,
            Neighbours::ReplaceOneRecord,
            Neighbours::ReplaceAddOrRemoveOneRecord,
        ][random.random_range(0..3usize)];
        let unit = PrivacyUnit { neighbours, rows: random.random_range(1..4), distinct: None };
        let budget = 2f64.powf(random.random_range(-12.0..4.0));
        let schema = schema(&sizes);
        let Ok(workload) =
            GroupedWorkload::from_toml(&schema, &text, "W.toml", std::path::Path::new(""))
        else {
            continue;
        };
        let rho = rho(budget);
        // Planners return an error for families that they do not support.
        let planned = crate::planner::by_name(planner).unwrap().plan(&workload, rho.privacy_cost());
        let Ok(planned) = planned else { continue };
        match IntegerPlan::of(&planned, &workload, rho, unit) {
            Ok(plan) => return (sizes, workload, plan, budget),
            // Only the total is measured, and it is public for this unit.
            Err(error) if error.to_string().contains("the number of records is public") => {}
            // Three factors of a non-uniform measure may need more than 128 bits; they are refused
            // with a remedy.
            Err(error @ crate::error::Error::TooLarge { .. })
                if planner == "anova" && sizes.len() == 3 =>
            {
                assert!(error.to_string().contains("query-smasher"), "{error}");
            }
            Err(error) => panic!("{planner} on {sizes:?}: {error}\n{text}"),
        }
    }
}

/// 200 random plans on small domains, where every cost is attained. The stated cost matches the
/// written integers and is within the budget; rounding costs at largest 1e-6; written measurements
/// read back; the variances of single queries sum to the plan's errors.
#[test]
fn the_cost_matches_the_written_integers() {
    let mut random = rng(15);
    let (mut attained, mut rounded) = (0, 0);
    for _ in 0..200 {
        let (sizes, workload, plan, budget) = random_plan(&mut random);
        let records = records_of(workload.schema(), &rows(&sizes));
        let measured = released(&plan, &records, 1);
        let cost = recomputed(&strategies_of(&measured), plan.unit());
        assert!(agrees(plan.cost(), &cost, plan.is_attained()), "{cost} against {:?}", plan.cost());
        assert!(cost <= exact(budget), "{cost} of {budget}");
        assert!(!plan.is_attained() || plan.cost().to_f64_rounded_up() > budget * (1.0 - 3e-7));
        let (before, after) = plan.rounding();
        assert!(after <= before * (1.0 + 1e-6), "{before} {after}");
        attained += usize::from(plan.is_attained());
        rounded += usize::from(plan.precision().is_some());
        let folder = tempfile::tempdir().unwrap();
        measured.write(folder.path()).unwrap();
        let again = Measurements::read(folder.path()).unwrap();
        let estimates = Estimates::of(&again).unwrap();
        estimates.check_answers(&workload).unwrap();
        for (group, planned) in workload.groups().iter().zip(plan.plan().groups()) {
            let of_queries: f64 = estimates.variances(group).unwrap().iter().sum();
            approx::assert_relative_eq!(
                of_queries,
                planned.variance,
                max_relative = 1e-6,
                epsilon = 1e-12
            );
            let original = Estimates::of(&measured).unwrap().answers(group).unwrap();
            assert_eq!(original, estimates.answers(group).unwrap());
        }
    }
    assert!(attained == 200 && rounded > 50 && rounded < 200, "{attained} {rounded}");
}

/// Marginals need no rounding, and a planner that does not measure residual subspaces is named in
/// the error.
#[test]
fn marginals_are_not_rounded_and_unsupported_plans_are_refused() {
    let marginals = "[[queries]]\nfamily = \"identity\"\nways = [1, 2]\n";
    let (_, plan) = plan_of("query-smasher", &[5, 4, 2], marginals, 0.5, PrivacyUnit::default());
    assert_eq!(plan.precision(), None);
    let schema = schema(&[4, 3]);
    let workload =
        GroupedWorkload::from_toml(&schema, marginals, "W.toml", std::path::Path::new("")).unwrap();
    let rho = rho(0.5);
    let whole = crate::planner::by_name("hdmm-kronecker")
        .unwrap()
        .plan(&workload, rho.privacy_cost())
        .unwrap();
    let message =
        IntegerPlan::of(&whole, &workload, rho, PrivacyUnit::default()).unwrap_err().to_string();
    assert!(message.contains("query-smasher") && message.contains("hdmm"), "{message}");
}
