//! Paid access: costs, refusals, and the noise of answers.

use super::*;
use crate::data::Records;
use crate::domain::{AttributeSet, AxisSet};
use crate::error::Error;
use crate::planner::SubspaceStrategy;
use crate::privacy::{NoiseStream, PrivacyCost};
use crate::residual::centre_box;
use crate::schema::Schema;
use crate::strategy::StrategyFactor;
use crate::test_support::{rho, rng, schema, set};

fn records() -> Records {
    Records::uniform(&Schema::uniform(4, 3).unwrap(), 50, &mut rng(1)).unwrap()
}

/// Returns the noise of a question from a shared stream: its answer minus the noiseless answer.
fn noise_of(question: &Question<'_>, seed: u64) -> Vec<f64> {
    let records = records();
    let mut rng = rng(seed);
    let mut table = PrivateTable::of_records(&records, rho(1e12), &mut rng).unwrap();
    let noisy = table.measure(question, NoiseStream::Shared).unwrap();
    let mut exact = records.marginal(question.attributes()).unwrap();
    match question {
        Question::Marginal { .. } => {}
        Question::Residual { attributes, .. } => {
            centre_box(&attributes.select(records.sizes()), &mut exact)
        }
        Question::Strategy { strategy, .. } => exact = strategy.answers(&exact).unwrap(),
    }
    noisy.iter().zip(exact).map(|(y, x)| y - x).collect()
}

/// The noise is the stream's standard normals scaled by the question's standard deviation. The
/// distribution of the stream is tested in `privacy`.
#[test]
fn the_noise_of_a_question_has_its_variance() {
    let pair = set(&[0, 2]);
    let unit = noise_of(&Question::Marginal { attributes: pair, variance: 1.0 }, 5);
    let expect = |found: Vec<f64>, expected: Vec<f64>| {
        approx::assert_abs_diff_eq!(found.as_slice(), expected.as_slice(), epsilon = 1e-12);
    };
    let scaled = |deviation: f64| unit.iter().map(|z| deviation * z).collect::<Vec<f64>>();
    expect(noise_of(&Question::Marginal { attributes: pair, variance: 6.25 }, 5), scaled(2.5));
    let mut centred = scaled(2.5);
    centre_box(&[4, 4], &mut centred);
    expect(noise_of(&Question::Residual { attributes: pair, variance: 6.25 }, 5), centred);
    let factor = StrategyFactor::from_queries(&[4], 3.0 * ndarray::Array2::eye(4)).unwrap();
    let strategy = SubspaceStrategy::Kronecker(vec![factor.clone(), factor]);
    let privacy_cost = PrivacyCost::new(0.16).unwrap();
    expect(
        noise_of(&Question::Strategy { attributes: pair, strategy: &strategy, privacy_cost }, 5),
        scaled(2.5),
    );
}

/// ρ = Δ²/(2σ²) with Δ by brute force: the largest change of the noiseless answer when one record
/// is added.
#[test]
fn costs_follow_from_the_largest_change_by_one_record() {
    let sizes = [3, 4, 2];
    for attributes in set(&[0, 1, 2]).subsets() {
        let shape = attributes.select(&sizes);
        let cells: usize = shape.iter().product();
        let change = |centred: bool| {
            let squared = (0..cells).map(|cell| {
                let mut record = vec![0.0; cells];
                record[cell] = 1.0;
                if centred {
                    centre_box(&shape, &mut record);
                }
                record.iter().map(|x| x * x).sum::<f64>()
            });
            squared.fold(0.0, f64::max)
        };
        let variance = 0.7;
        let cost = |question: Question<'_>| question.cost(&sizes).unwrap().get();
        let close = |a: f64, b: f64| {
            approx::assert_relative_eq!(a, b / (2.0 * variance), max_relative = 1e-12)
        };
        close(cost(Question::Marginal { attributes, variance }), change(false));
        close(cost(Question::Residual { attributes, variance }), change(true));
    }
    assert_eq!(
        CandidateSelection { epsilon: 0.4, penalty_per_cell: 1.0 }.cost().unwrap().get(),
        0.4 * 0.4 / 8.0
    );
}

#[test]
fn invalid_questions_are_refused_before_anything_is_paid() {
    let records = records();
    let mut rng = rng(2);
    let mut table = PrivateTable::of_records(&records, rho(1.0), &mut rng).unwrap();
    for variance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let question = Question::Residual { attributes: set(&[1]), variance };
        assert!(
            table
                .measure(&question, NoiseStream::Shared)
                .unwrap_err()
                .to_string()
                .contains("variance")
        );
    }
    let outside = Question::Marginal { attributes: set(&[3]), variance: 1.0 };
    assert!(
        table.measure(&outside, NoiseStream::Shared).unwrap_err().to_string().contains("below 3")
    );
    assert!(table.accountant().ledger().is_empty());
}

/// Exhausted at the first question, in the middle, and within a reservation: the error has the cost
/// asked and the budget left, and nothing is measured.
#[test]
fn an_exhausted_budget_is_a_structured_error() {
    let records = records();
    let mut rng = rng(3);
    let mut table = PrivateTable::of_records(&records, rho(0.3), &mut rng).unwrap();
    let ask = |variance| Question::Marginal { attributes: set(&[0]), variance };
    let exhausted = |error: Error| match error {
        Error::BudgetExhausted { asked, left, .. } => (asked, left),
        other => panic!("{other}"),
    };
    let first = table.measure(&ask(1.0), NoiseStream::Shared).unwrap_err();
    assert_eq!(exhausted(first), (0.5, 0.3));
    table.measure(&ask(2.0), NoiseStream::Shared).unwrap();
    let (asked, left) = exhausted(table.measure(&ask(5.0), NoiseStream::Shared).unwrap_err());
    assert!(asked == 0.1 && (left - 0.05).abs() < 1e-15);
    assert_eq!(table.accountant().ledger().len(), 1);
    let (asked, _) =
        exhausted(table.reserved("too much", rho(0.06), &mut |_| panic!("not paid")).unwrap_err());
    assert_eq!(asked, 0.06);
    let in_two = table.reserved("the rest", rho(0.04), &mut |access| {
        access.measure(&ask(20.0), NoiseStream::Shared)?;
        access.measure(&ask(20.0), NoiseStream::Shared).map(drop)
    });
    let (asked, left) = exhausted(in_two.unwrap_err());
    assert!(asked == 0.025 && (left - 0.015).abs() < 1e-15);
    let (asked, left) = exhausted(table.measure(&ask(20.0), NoiseStream::Shared).unwrap_err());
    assert!(asked == 0.025 && (left - 0.01).abs() < 1e-15);
    let selection = CandidateSelection { epsilon: 1.0, penalty_per_cell: 0.0 };
    let estimates = crate::estimation::ResidualEstimates::new(&Schema::uniform(4, 3).unwrap());
    let candidates =
        Candidates::new(vec![Candidate { attributes: set(&[0]), cells: 4, weight: 1.0 }]);
    assert_eq!(exhausted(table.select(&selection, &candidates, &estimates).unwrap_err()).0, 0.125);
}

/// Scores with a negative weight change by more than the largest weight between tables that differ in
/// one record.
#[test]
fn selections_without_a_valid_sensitivity_are_refused_before_they_are_paid() {
    let records = records();
    let mut rng = rng(7);
    let mut table = PrivateTable::of_records(&records, rho(1.0), &mut rng).unwrap();
    let selection = CandidateSelection { epsilon: 1.0, penalty_per_cell: 0.0 };
    let estimates = crate::estimation::ResidualEstimates::new(&Schema::uniform(4, 3).unwrap());
    let candidate = |position, cells, weight| {
        let attributes = AttributeSet::from_positions(&[position]).unwrap();
        Candidate { attributes, cells, weight }
    };
    for list in [
        vec![],
        vec![candidate(0, 4, 0.0)],
        vec![candidate(0, 4, 1.0), candidate(1, 4, -9.0)],
        vec![candidate(0, 4, f64::NAN), candidate(1, 4, 1.0)],
        vec![candidate(0, 4, f64::INFINITY)],
        vec![candidate(0, 3, 1.0)],
        vec![candidate(3, 4, 1.0)],
    ] {
        let error = table.select(&selection, &Candidates::new(list), &estimates).unwrap_err();
        assert!(matches!(error, Error::BadInput { .. }), "{error}");
    }
    for epsilon in [0.0, -1.0, f64::NAN] {
        let selection = CandidateSelection { epsilon, penalty_per_cell: 0.0 };
        let candidates = Candidates::new(vec![candidate(0, 4, 1.0)]);
        assert!(table.select(&selection, &candidates, &estimates).is_err());
    }
    assert!(table.accountant().ledger().is_empty());
}

/// Estimates of a user, which need not be finite.
#[test]
fn selections_with_estimates_that_are_not_finite_end_with_an_error() {
    struct Given(f64);
    impl crate::estimation::MarginalEstimates for Given {
        fn marginal(&self, _gamma: AttributeSet) -> Result<Vec<f64>, Error> {
            Ok(vec![0.0, self.0, 0.0, 0.0])
        }
    }
    let records = records();
    let mut rng = rng(8);
    let mut table = PrivateTable::of_records(&records, rho(1.0), &mut rng).unwrap();
    let selection = CandidateSelection { epsilon: 1.0, penalty_per_cell: 0.0 };
    let list = [0, 1].map(|position| {
        let attributes = AttributeSet::from_positions(&[position]).unwrap();
        Candidate { attributes, cells: 4, weight: 1.0 }
    });
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let candidates = Candidates::new(list.to_vec());
        let error = table.select(&selection, &candidates, &Given(value)).unwrap_err();
        assert!(error.to_string().contains("finite"), "{error}");
    }
}

#[test]
fn a_data_vector_has_the_marginals_of_its_records() {
    let records = records();
    let everything = AttributeSet::first(3);
    let vector = records.marginal(everything).unwrap();
    let question = |attributes| Question::Marginal { attributes, variance: 1e-20 };
    let [mut noise, mut unused] = [4, 4].map(rng);
    let mut table = PrivateTable::of_vector(&[4, 4, 4], &vector, rho(1e30), &mut noise).unwrap();
    for axes in AxisSet::subsets(3) {
        let attributes = everything.at(axes);
        let found = table.measure(&question(attributes), NoiseStream::Shared).unwrap();
        let expected = records.marginal(attributes).unwrap();
        approx::assert_abs_diff_eq!(found.as_slice(), expected.as_slice(), epsilon = 1e-8);
    }
    assert!(PrivateTable::of_vector(&[4, 4], &vector, rho(1.0), &mut unused).is_err());
    assert!(PrivateTable::of_vector(&[64], &[f64::NAN; 64], rho(1.0), &mut unused).is_err());
}

#[test]
fn empty_records_are_refused() {
    let schema = Schema::uniform(2, 1).unwrap();
    let none = Records::new(&schema, vec![crate::data::Column::default()]).unwrap();
    let mut rng = rng(6);
    let message = PrivateTable::of_records(&none, rho(1.0), &mut rng).err().unwrap().to_string();
    assert!(message.contains("records") && message.contains("remedy"), "{message}");
}

/// Marginals summed from a larger one of the same reservation: the answers equal bit for bit those
/// of a table without a reservation, which counts each marginal.
#[test]
fn summed_marginals_equal_counted_marginals() {
    let schema = schema(&[3, 5, 2, 4]);
    let records = Records::uniform(&schema, 300, &mut rng(1)).unwrap();
    let asked = [
        set(&[0, 1, 3]),
        set(&[1, 3]),
        set(&[0]),
        set(&[]),
        set(&[0, 2]),
        set(&[2]),
        set(&[0, 1, 3]),
    ];
    let ask = |access: &mut dyn PaidAccess, (round, attributes): (usize, AttributeSet)| {
        let question = Question::Residual { attributes, variance: 0.5 };
        access.measure(&question, NoiseStream::Separate { round: round as u64 }).unwrap()
    };
    let (mut first, mut second) = (rng(2), rng(2));
    let mut table = PrivateTable::of_records(&records, rho(100.0), &mut first).unwrap();
    let alone: Vec<Vec<f64>> =
        asked.into_iter().enumerate().map(|asked| ask(&mut table, asked)).collect();
    let mut table = PrivateTable::of_records(&records, rho(100.0), &mut second).unwrap();
    let mut together = Vec::new();
    table
        .reserved("all", rho(50.0), &mut |access| {
            together.extend(asked.into_iter().enumerate().map(|asked| ask(access, asked)));
            Ok(())
        })
        .unwrap();
    assert_eq!(alone, together);
}
