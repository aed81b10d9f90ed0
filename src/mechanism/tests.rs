//! Tests of every registered mechanism.

use super::*;
use crate::access::{PaidAccess, PrivateTable};
use crate::data::Records;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::test_support::{Forwarding, all_ways, rho, rng};
use crate::workload::{Family, GroupFamily, GroupedWorkload, QueryGroup};

fn setting() -> (GroupedWorkload, Records) {
    let workload = all_ways(3, 4, GroupFamily::Product(Family::IDENTITY), &[1, 2]);
    let records = Records::uniform(workload.schema(), 400, &mut rng(1)).unwrap();
    (workload, records)
}

#[test]
fn names_and_summaries_are_distinct_and_found() {
    let all = mechanisms();
    for (k, mechanism) in all.iter().enumerate() {
        assert!(!mechanism.summary().is_empty());
        assert!(all[..k].iter().all(|other| other.name() != mechanism.name()));
        assert_eq!(by_name(mechanism.name()).unwrap().summary(), mechanism.summary());
    }
    match by_name("aim").err().unwrap() {
        Error::UnknownName { kind: "mechanism", name, known, .. } => {
            assert_eq!((name.as_str(), known.len()), ("aim", all.len()));
        }
        other => panic!("{other}"),
    }
}

/// Every group is answered once, in order; with a large budget by the true counts. The budget is
/// spent and not exceeded.
#[test]
fn every_mechanism_answers_the_workload_within_its_budget() {
    let (workload, records) = setting();
    for mechanism in mechanisms() {
        mechanism.accepts(&workload).unwrap();
        for budget in [1e-4, 1.0, 1e12] {
            let mut noise = rng(2);
            let mut table = PrivateTable::of_records(&records, rho(budget), &mut noise).unwrap();
            let mut next = 0;
            mechanism
                .run(&workload, &mut table, &mut |index, answers| {
                    assert_eq!(index, next);
                    next += 1;
                    let truth = records.marginal(workload.groups()[index].attributes())?;
                    assert_eq!(answers.len(), truth.len());
                    if budget > 1e6 {
                        let worst = answers
                            .iter()
                            .zip(&truth)
                            .map(|(a, t)| (a - t).abs())
                            .fold(0.0, f64::max);
                        assert!(worst < 0.01, "{}: {worst}", mechanism.name());
                    }
                    Ok(())
                })
                .unwrap();
            assert_eq!(next, workload.groups().len(), "{}", mechanism.name());
            let spent = table.accountant().spent();
            assert!(
                spent <= budget && spent >= budget * (1.0 - 1e-9),
                "{}: {spent}",
                mechanism.name()
            );
        }
    }
}

/// The mean squared error of 400 runs is within five standard errors of the expected one. The exact
/// variances are tested in each mechanism.
#[test]
fn expected_errors_agree_with_observed_errors() {
    const RUNS: usize = 400;
    let (workload, records) = setting();
    let budget = rho(0.1);
    let mut closed_forms = 0;
    for mechanism in mechanisms() {
        let Some(expected) = mechanism.expected(&workload, budget).unwrap().squared_error else {
            continue;
        };
        closed_forms += 1;
        let mut noise = rng(3);
        let errors: Vec<f64> = (0..RUNS)
            .map(|_| {
                let mut table = PrivateTable::of_records(&records, budget, &mut noise).unwrap();
                let mut squared = 0.0;
                let mut add = |index: usize, answers: &[f64]| -> Result<()> {
                    let truth = records.marginal(workload.groups()[index].attributes())?;
                    squared +=
                        answers.iter().zip(&truth).map(|(a, t)| (a - t).powi(2)).sum::<f64>();
                    Ok(())
                };
                mechanism.run(&workload, &mut table, &mut add).unwrap();
                squared
            })
            .collect();
        let mean = errors.iter().sum::<f64>() / RUNS as f64;
        // The standard error of the mean.
        let error = errors.iter().map(|x| (x - mean).powi(2)).sum::<f64>().sqrt() / RUNS as f64;
        assert!(
            (mean - expected).abs() < 5.0 * error,
            "{}: {mean} against {expected} ± {error}",
            mechanism.name()
        );
    }
    assert_eq!(closed_forms, 2);
}

/// With an exhausted budget every mechanism returns the same error, answers nothing and adds
/// nothing to the ledger.
#[test]
fn an_exhausted_budget_is_an_error_of_every_mechanism() {
    let (workload, records) = setting();
    for mechanism in mechanisms() {
        let mut noise = rng(4);
        let mut table = PrivateTable::of_records(&records, rho(1.0), &mut noise).unwrap();
        // A reservation that is not used up is lost.
        table.reserved("another user", rho(1.0), &mut |_| Ok(())).unwrap();
        let outcome =
            mechanism.run(&workload, &mut table, &mut |_, _| panic!("nothing may be answered"));
        assert!(matches!(outcome, Err(Error::BudgetExhausted { .. })), "{}", mechanism.name());
        assert_eq!(table.accountant().ledger().len(), 1, "{}", mechanism.name());
    }
}

/// The budget is exhausted before the k-th question, for every k up to the length of a run: a
/// structured error, no question after it, and no answers.
#[test]
fn a_budget_exhausted_during_a_run_is_an_error_without_answers() {
    let (workload, records) = setting();
    for mechanism in mechanisms() {
        let mut failures = Vec::new();
        for questions in 0.. {
            let mut noise = rng(6);
            let mut table = PrivateTable::of_records(&records, rho(1.0), &mut noise).unwrap();
            let mut access =
                Forwarding { drained_before: questions, ..Forwarding::new(&mut table) };
            let mut answered = 0;
            let outcome = mechanism.run(&workload, &mut access, &mut |_, _| {
                answered += 1;
                Ok(())
            });
            let ledger = table.accountant().ledger();
            match outcome {
                Err(Error::BudgetExhausted { .. }) => {
                    failures.push(ledger.len());
                    assert_eq!(answered, 0, "{}", mechanism.name());
                    assert_eq!(ledger.last().unwrap().what, "another user", "{}", mechanism.name());
                }
                Ok(_) => {
                    assert_eq!(answered, workload.groups().len());
                    break;
                }
                Err(other) => panic!("{}: {other}", mechanism.name()),
            }
        }
        // Each failure is one entry of the ledger later than the previous one.
        let positions: Vec<usize> = (1..=failures.len()).collect();
        assert_eq!(failures, positions, "{}", mechanism.name());
        // Mechanisms that pay for everything at once can only fail at the start.
        let pays_once = !mechanism.is_adaptive() || mechanism.name() == "staged";
        assert!(
            if pays_once { failures.len() == 1 } else { failures.len() > 5 },
            "{}: {failures:?}",
            mechanism.name()
        );
    }
}

#[test]
fn mechanisms_for_marginals_refuse_other_workloads() {
    let ranges = all_ways(3, 2, GroupFamily::Product(Family::RANGE), &[1]);
    let schema = ranges.schema();
    for mechanism in mechanisms() {
        let refused = mechanism.accepts(&ranges);
        match mechanism.name() {
            "query-smasher" | "staged" => refused.unwrap(),
            name => {
                let message = refused.unwrap_err().to_string();
                assert!(message.contains(name) && message.contains("marginals only"), "{message}");
            }
        }
    }
    let identity =
        QueryGroup::product(schema, AttributeSet::first(1), &[Family::IDENTITY], 2.0).unwrap();
    let weighted = GroupedWorkload::new(schema.clone(), vec![identity]).unwrap();
    assert!(marginals_of("m", &weighted).unwrap_err().to_string().contains("weight 2"));
    let identity =
        QueryGroup::product(schema, AttributeSet::first(1), &[Family::IDENTITY], 1.0).unwrap();
    let twice = GroupedWorkload::new(schema.clone(), vec![identity.clone(), identity]).unwrap();
    assert!(marginals_of("m", &twice).unwrap_err().to_string().contains("a second time"));
}

/// Options are read from the name; unknown options and invalid values are refused.
#[test]
fn mechanisms_are_named_with_their_options() {
    assert_eq!(by_name("aim-pgm(max-mb=5)").unwrap().name(), "aim-pgm");
    assert_eq!(by_name("aim-grem(reconstruction=independence)").unwrap().name(), "aim-grem");
    for (text, part) in [
        ("aim-pgm(max-mb=x)", "a number"),
        ("aim-pgm(max-mb=-1)", "-1"),
        ("aim-pgm(mb=5)", "max-mb"),
        ("aim-grem(max-mb=5)", "options among reconstruction"),
        ("aim-grem(reconstruction=none)", "independence"),
        ("aim-pgm(reconstruction=independence)", "aim-grem"),
        ("aim-pg", "aim-pgm"),
        ("aim-grem:x", "nothing after"),
    ] {
        let error = by_name(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
