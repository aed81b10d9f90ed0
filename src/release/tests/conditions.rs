//! Releases over schemas with impossible combinations and public counts.

use ndarray::{Array1, Array2};

use super::*;
use crate::access::ReleaseTable;
use crate::domain::AttributeSet;
use crate::linalg::Semidefinite;
use crate::privacy::{Neighbours, RationalDeviation};
use crate::release::queries::of_plan;
use crate::test_support::set;
use crate::workload::query::ResolvedQuery;

const SIZES: [usize; 3] = [3, 2, 2];

const CONDITIONS: &str = "[[impossible]]\nwhere = { A1 = 0, A2 = 1 }\n\
                          [[public]]\nwhere = { A3 = 1 }\n\
                          [[public]]\nwhere = { A1 = [1, 2], A3 = 0 }\n";

/// Pairs of the first attribute with the others, and a prefix.
const PAIRS: &str = "[[queries]]\nfamily = \"range\"\nattributes = [\"A1\", \"A2\"]\n\
                     [[queries]]\nfamily = \"identity\"\nattributes = [\"A1\", \"A3\"]\n\
                     [[queries]]\nfamily = \"prefix\"\nattributes = [\"A2\"]\n";

const UNIT: PrivacyUnit =
    PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, rows: 1, distinct: None };

fn conditioned() -> Schema {
    let text = format!("{}{CONDITIONS}", schema_text(&SIZES));
    Schema::from_toml(&text, "S.toml").unwrap()
}

/// Records that respect the impossible combination.
fn possible(schema: &Schema) -> Records {
    let rows: Vec<Vec<u32>> = (rows(&SIZES).into_iter())
        .map(|row| if row[0] == 0 { vec![0, 0, row[2]] } else { row })
        .collect();
    records_of(schema, &rows)
}

/// Returns the row of a query on a marginal, over all cells of the domain.
fn over_domain(set: AttributeSet, row: &[f64]) -> Array1<f64> {
    let of_cell = |cell: usize| {
        let values = crate::domain::coordinates(&SIZES, cell);
        let inside: Vec<usize> = set.positions().map(|p| values[p]).collect();
        row[crate::domain::cell_index(&set.select(&SIZES), &inside)]
    };
    (0..12).map(of_cell).collect()
}

/// Estimates and variances by least squares over all cells of the domain, with the known answers
/// and the noiseless measurements as measurements of almost no variance.
#[test]
fn estimates_are_least_squares_under_the_conditions() {
    let schema = conditioned();
    let (workload, plan) = plan_over("query-smasher", &schema, PAIRS, 0.5, UNIT);
    let records = possible(&schema);
    let measured = released(&plan, &records, 7);
    let truth = |cells: &crate::schema::CellBox| {
        let marginal = records.marginal(cells.attributes()).unwrap();
        let inside = cells.cells(cells.attributes(), &cells.attributes().select(&SIZES));
        inside.iter().zip(marginal).filter(|(i, _)| **i).map(|(_, x)| x).sum::<f64>()
    };
    let expected: Vec<u64> = schema.public_counts().iter().map(|c| truth(c) as u64).collect();
    assert_eq!(measured.public_counts, expected);
    let mut rows: Vec<(Array1<f64>, f64, f64)> = Vec::new();
    for (measurement, noisy) in &measured.list {
        let set = measurement.attributes;
        let cells: usize = set.select(&SIZES).iter().product();
        let variance = measurement.deviation.variance();
        let columns: Vec<Vec<i128>> = (0..cells)
            .map(|cell| {
                let mut unit = vec![0u32; cells];
                unit[cell] = 1;
                measurement.strategy.answers(&unit).unwrap()
            })
            .collect();
        for (k, y) in noisy.iter().enumerate() {
            let row: Vec<f64> = columns.iter().map(|column| column[k] as f64).collect();
            rows.push((over_domain(set, &row), *y as f64, variance));
        }
    }
    // Known answers in the scale of the others, with almost no variance.
    let smallest = |least: f64, row: &(Array1<f64>, f64, f64)| match row.2 {
        0.0 => least,
        variance => least.min(variance),
    };
    let (large, tiny) = (65536.0, rows.iter().fold(f64::INFINITY, smallest) / 1e7);
    for row in rows.iter_mut().filter(|row| row.2 == 0.0) {
        let factor = large / row.0.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        *row = (&row.0 * factor, row.1 * factor, tiny);
    }
    for cells in schema.public_counts() {
        let inside = cells.cells(AttributeSet::first(3), &SIZES);
        let row = inside.iter().map(|inside| if *inside { large } else { 0.0 }).collect();
        rows.push((row, large * truth(cells), tiny));
    }
    let pair = schema.impossible()[0].cells(set(&[0, 1]), &[3, 2]);
    for cell in (0..6).filter(|cell| pair[*cell]) {
        let mut one = vec![0.0; 6];
        one[cell] = large;
        rows.push((over_domain(set(&[0, 1]), &one), 0.0, tiny));
    }
    let (mut information, mut right) = (Array2::<f64>::zeros((12, 12)), Array1::<f64>::zeros(12));
    for (row, y, variance) in &rows {
        for i in 0..12 {
            right[i] += row[i] * y / variance;
            (0..12).for_each(|j| information[[i, j]] += row[i] * row[j] / variance);
        }
    }
    let norm = information.diag().iter().fold(0.0f64, |a, b| a.max(*b));
    information /= norm;
    let covariance = Semidefinite::of(information.view()).unwrap().pseudo_inverse() / norm;
    let solution = covariance.dot(&right);
    let estimates = Estimates::of(&measured).unwrap();
    let mut known = 0;
    for group in workload.groups() {
        let found = answers::of_group(&estimates, group).unwrap();
        for (row, answer) in group.rows().unwrap().zip(found) {
            let query = over_domain(group.attributes(), &row);
            let variance = query.dot(&covariance.dot(&query));
            approx::assert_abs_diff_eq!(answer.estimate, query.dot(&solution), epsilon = 1e-3);
            approx::assert_abs_diff_eq!(answer.standard_error.powi(2), variance, epsilon = 1e-3);
            known += usize::from(answer.standard_error == 0.0);
        }
    }
    // The impossible cell, the sums that follow from it, and those of the public counts.
    assert!(known >= 3, "{known}");
    // What was stored gives the same estimates.
    let folder = tempfile::tempdir().unwrap();
    let stored = Measurements {
        header: Header {
            schema_text: format!("{}{CONDITIONS}", schema_text(&SIZES)),
            ..measured.header.clone()
        },
        ..measured.clone()
    };
    stored.write(folder.path()).unwrap();
    let again = Estimates::of(&Measurements::read(folder.path()).unwrap()).unwrap();
    for group in workload.groups() {
        let [a, b] = [&estimates, &again].map(|e| answers::of_group(e, group).unwrap());
        assert_eq!(a, b);
    }
}

/// Over 4,000 releases: |z| of the mean or variance of one of 29 answers exceeds 5 with probability
/// below 29 · 2 · 6e-7 < 4e-5. Known answers are exact in every release.
#[test]
fn conditioned_estimates_are_unbiased_with_exact_standard_errors() {
    let schema = conditioned();
    let (workload, plan) = plan_over("query-smasher", &schema, PAIRS, 0.5, UNIT);
    let records = possible(&schema);
    let truth: Vec<f64> = (workload.groups().iter())
        .flat_map(|group| group.answers(&records.marginal(group.attributes()).unwrap()).unwrap())
        .collect();
    let (mut sums, mut squares) = (vec![0.0; truth.len()], vec![0.0; truth.len()]);
    let count = 4000u32;
    for seed in 0..count {
        let estimates = Estimates::of(&released(&plan, &records, seed.into())).unwrap();
        let found =
            workload.groups().iter().flat_map(|g| answers::of_group(&estimates, g).unwrap());
        for (k, (answer, truth)) in found.zip(&truth).enumerate() {
            if answer.standard_error == 0.0 {
                assert_eq!(answer.estimate, *truth);
                continue;
            }
            let z = (answer.estimate - truth) / answer.standard_error;
            sums[k] += z;
            squares[k] += z * z;
        }
    }
    let n = f64::from(count);
    for (sum, square) in sums.iter().zip(&squares).filter(|(_, square)| **square > 0.0) {
        assert!((sum / n.sqrt()).abs() < 5.0, "{sum}");
        assert!(((square / n - 1.0) * (n / 2.0).sqrt()).abs() < 5.0, "{square}");
    }
}

/// The pair that attacks: one record more in the cells of a public count. Such tables are no
/// neighbours, and a unit under which they are is refused. A record moved within the cells of every
/// public count leaves them equal, and its cost is paid.
#[test]
fn public_counts_are_equal_between_neighbours() {
    let schema = conditioned();
    let records = possible(&schema);
    let open = |unit| ReleaseTable::open(&records, rho(1.0), unit, ReleaseNoise::of_counter(1));
    assert!(open(PrivacyUnit::default()).public_counts(schema.public_counts()).is_err());
    assert!(open(UNIT).public_counts(schema.public_counts()).is_ok());
    let parsed = GroupedWorkload::from_toml(&schema, PAIRS, "W.toml", std::path::Path::new(""));
    let workload = parsed.unwrap();
    let planner = crate::planner::by_name("query-smasher").unwrap();
    let planned = planner.plan(&workload, rho(0.5).privacy_cost()).unwrap();
    for (unit, is_accepted) in [(PrivacyUnit::default(), false), (UNIT, true)] {
        let plan = IntegerPlan::of(&planned, &workload, rho(0.5), unit);
        assert_eq!(plan.is_ok(), is_accepted);
    }
    let staged = crate::mechanism::by_name("staged").unwrap().as_staged().unwrap();
    let refused = crate::release::staged::StagedPlan::of(staged, &workload, rho(0.5), UNIT, 0.03);
    assert!(refused.unwrap_err().to_string().contains("[[public]]"));
    let (_, plan) = plan_over("query-smasher", &schema, PAIRS, 0.5, UNIT);
    let table = |last: [u32; 3]| {
        let mut rows: Vec<Vec<u32>> = (0..9).map(|k| vec![k % 3, 0, k % 2]).collect();
        rows.push(last.to_vec());
        records_of(&schema, &rows)
    };
    // Both are in A3 = 0 and A1 of {1, 2}.
    let [one, other] = [table([1, 0, 0]), table([2, 1, 0])];
    let [a, b] = [&one, &other].map(|records| released(&plan, records, 3).public_counts);
    assert_eq!(a, b);
    let mu = (2.0 * plan.cost().to_f64_rounded_up()).sqrt();
    let found = super::audit::attack_tables(&plan, &one, &other, 10_000, &|records, seed| {
        released(&plan, records, seed)
    });
    assert!(found.mu <= mu + 4.4 * found.error, "{} ± {} above {mu}", found.mu, found.error);
    let total = plan.measurements().iter().find(|m| m.attributes.is_empty()).unwrap();
    assert_eq!(total.deviation, RationalDeviation::ZERO);
}

#[test]
fn statements_name_conditions() {
    let schema = conditioned();
    let (_, plan) = plan_over("query-smasher", &schema, PAIRS, 0.5, UNIT);
    let rho = plan.cost().rounded_up().unwrap();
    let terms = Terms { rho, delta: 1e-9, rule: OutOfDomain::Drop, person: None };
    let statement = Statement::of(&plan, terms, "", "", None).unwrap().with_public_counts(&[5, 3]);
    let text = statement.to_markdown();
    for part in [
        "the number of records with A3 = 1 (5); the number of records with A1 from 1 to 2 and \
         A3 = 0 (3)",
        "No record is supposed to have A1 = 0 and A2 = 1",
        "tables that agree in these counts",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = statement.to_json().unwrap();
    let read: Statement = serde_json::from_str(&text).unwrap();
    assert_eq!(read, statement);
}

/// Of three attributes only the first two values together are asked for. With public counts for
/// all combinations of A = 0 and A ≤ 1 except A ≤ 1 everywhere, the cell (1, 1, 1) is that count plus
/// public ones: its standard error is the same. Without them it is more than 10⁴ times as large.
#[test]
fn uncertain_answers_of_completed_strategies_are_not_known() {
    let sizes = [3, 3, 3];
    let axis = |k: usize, wide: bool| format!("A{k} = {}", if wide { "[0, 1]" } else { "0" });
    let is_wide = |choice: usize| [1, 2, 3].map(|k| choice >> (k - 1) & 1 == 1);
    let public: String = (0..7)
        .map(|choice| {
            let parts = [1, 2, 3].map(|k| axis(k, is_wide(choice)[k - 1]));
            format!("[[public]]\nwhere = {{ {} }}\n", parts.join(", "))
        })
        .collect();
    let text = format!("{}{public}", schema_text(&sizes));
    let schema = Schema::from_toml(&text, "S.toml").unwrap();
    let asked = "count where A1 <= 1 and A2 <= 1 and A3 <= 1";
    let workload = format!("[[queries]]\nquery = \"{asked}\"\n");
    let (_, plan) = plan_over("query-smasher", &schema, &workload, 1e-3, UNIT);
    let records = records_of(&schema, &rows(&sizes));
    let measured = released(&plan, &records, 11);
    let counts = measured.public_counts.clone();
    let answer = |measured: &Measurements, text: &str| {
        let query = ResolvedQuery::parse(text, &measured.header.schema).unwrap();
        let found = of_plan(&Estimates::of(measured).unwrap(), &query).unwrap();
        let answer = &found.answers[0];
        (answer.estimate.unwrap(), answer.standard_error.unwrap())
    };
    let (sum, error) = answer(&measured, asked);
    let (cell, of_cell) = answer(&measured, "count where A1 = 1 and A2 = 1 and A3 = 1");
    let signed = |(choice, count): (usize, &u64)| {
        let narrow = 3 - is_wide(choice).iter().filter(|wide| **wide).count();
        if narrow % 2 == 0 { *count as f64 } else { -(*count as f64) }
    };
    let expected = sum + counts.iter().enumerate().map(signed).sum::<f64>();
    approx::assert_relative_eq!(of_cell, error, max_relative = 1e-9);
    approx::assert_abs_diff_eq!(cell, expected, epsilon = 1e-9 * error);
    // A sum of two answers, one of them known.
    let known = "count where A1 = 0 and A2 = 0 and A3 = 0";
    assert_eq!(answer(&measured, known), (counts[0] as f64, 0.0));
    let (both, of_both) = answer(&measured, &format!("{known} + {asked}"));
    approx::assert_relative_eq!(of_both, error, max_relative = 1e-9);
    approx::assert_abs_diff_eq!(both, sum + counts[0] as f64, epsilon = 1e-9 * error);
    let mut free = measured.clone();
    free.header.schema = Schema::from_toml(&schema_text(&sizes), "S.toml").unwrap();
    free.public_counts.clear();
    assert!(answer(&free, "count where A1 = 1 and A2 = 1 and A3 = 1").1 > 1e4 * error);
    // The pair that attacks the product of completed strategies.
    let table = |last: [u32; 3]| {
        let mut rows = rows(&sizes);
        rows.push(last.to_vec());
        records_of(&schema, &rows)
    };
    let [one, other] = [table([2, 2, 2]), table([2, 2, 1])];
    let mu = (2.0 * plan.cost().to_f64_rounded_up()).sqrt();
    let found = super::audit::attack_tables(&plan, &one, &other, 2_000, &|records, seed| {
        released(&plan, records, seed)
    });
    assert!(found.mu <= mu + 4.4 * found.error, "{} ± {} above {mu}", found.mu, found.error);
    // Rounding and completion cost a share of at most 3·10⁻⁴.
    let (planned, rounded) = plan.rounding();
    assert!((1.0..1.0 + 3e-4).contains(&(rounded / planned)), "{planned} {rounded}");
}

#[test]
fn too_many_impossible_cells_are_refused() {
    let text = "[[attribute]]\nname = \"a\"\nsize = 100\nkind = \"numeric\"\n\
                [[attribute]]\nname = \"b\"\nsize = 100\nkind = \"numeric\"\n\
                [[impossible]]\nwhere = { a = { from = 0, to = 20 }, b = { from = 1, to = 99 } }\n";
    let schema = Schema::from_toml(text, "S.toml").unwrap();
    assert!(check_impossible(&schema, &[set(&[0]), set(&[1])]).is_ok());
    let message = check_impossible(&schema, &[set(&[0, 1])]).unwrap_err().to_string();
    assert!(message.contains("2048 cells"), "{message}");
}
