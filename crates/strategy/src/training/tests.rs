use super::*;
use crate::stream::{Coefficients, Form, NoisyValues, Stream, StreamOptions};
use crate::workload::Workload;
use crate::{Participation, Problem};

/// Returns noise of two epochs of six steps.
fn coefficients() -> Coefficients {
    let workload = Workload::parse("prefix:12").unwrap();
    let problem = Problem { participation: Participation::Epochs(2), ..Problem::new(&workload) };
    let options = StreamOptions::default();
    Stream::fit(&problem, Form::Recurrence, 2, &options).unwrap().coefficients
}

fn steps(scale: f64) -> PrivateSteps {
    let batches = Batches::fixed(20, 6, None).unwrap();
    PrivateSteps::new(batches, coefficients(), scale).unwrap()
}

fn noisy(steps: &mut PrivateSteps, sum: f64) -> Vec<f64> {
    let mut values = vec![sum; 5];
    steps.add_noise(&mut [NoisyValues::Double(&mut values)]).unwrap();
    values
}

#[test]
fn fixed_batches_partition_the_records_in_the_given_order() {
    let order: Vec<i64> = (0..11).map(|i| (i * 4) % 11).collect();
    let batches = Batches::fixed(11, 3, Some(order.clone())).unwrap();
    let sizes: Vec<usize> = (0..3).map(|t| batches.of_step(t).len()).collect();
    assert_eq!(sizes, [4, 4, 3]);
    assert_eq!((0..3).flat_map(|t| batches.of_step(t).to_vec()).collect::<Vec<_>>(), order);
    assert_eq!(batches.of_step(7), batches.of_step(1));
    let mut drawn = Batches::fixed(1000, 3, None).unwrap().parts().0.to_vec();
    assert_ne!(drawn, (0..1000).collect::<Vec<i64>>());
    drawn.sort_unstable();
    assert_eq!(drawn, (0..1000).collect::<Vec<i64>>());
    for order in [vec![0, 1], vec![0, 1, 1], vec![0, 1, 3], vec![-1, 0, 1]] {
        assert!(Batches::fixed(3, 2, Some(order)).is_err());
    }
    assert!(Batches::fixed(3, 4, None).is_err() && Batches::fixed(3, 0, None).is_err());
}

/// Every record is in one batch, and pairs of records are in the same batch as often as independent
/// draws: 1/b of the time. Batches of equal sizes, as of a permutation, are in the same batch less
/// often, (N/b − 1)/(N − 1).
#[test]
fn random_batches_are_independent_draws() {
    let (records, bins, trials) = (4, 2, 20_000);
    let (mut same, mut first) = (0.0, 0.0);
    for _ in 0..trials {
        let batches = Batches::random(records, bins).unwrap();
        let mut all = batches.parts().0.to_vec();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3]);
        let zero = batches.of_step(0);
        same += f64::from(u8::from(zero.contains(&1) == zero.contains(&3)));
        first += f64::from(u8::from(zero.contains(&2)));
    }
    // Six standard deviations; equal sizes would give a share of 1/3.
    let tolerance = 6.0 * 0.5 / f64::from(trials).sqrt();
    for share in [same / f64::from(trials), first / f64::from(trials)] {
        assert!((share - 0.5).abs() < tolerance, "{share}");
    }
    assert!(Batches::random(0, 2).is_err() && Batches::random(2, 0).is_err());
    assert!(!format!("{:?}", Batches::random(9, 2).unwrap()).contains("records"));
}

#[test]
fn steps_out_of_order_are_refused() {
    let mut steps = steps(1.0);
    let refused = |result: crate::error::Result<()>, text: &str| {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(text), "{message}");
    };
    let mut sum = vec![0.0; 5];
    refused(steps.add_noise(&mut [NoisyValues::Double(&mut sum)]), "a batch before it");
    assert_eq!(sum, [0.0; 5]);
    for step in 0..12 {
        assert!(steps.next_batch().unwrap().is_some());
        refused(steps.next_batch().map(|_| ()), "once per batch");
        if step > 0 {
            let mut other = [0.0; 4];
            refused(steps.add_noise(&mut [NoisyValues::Double(&mut other)]), "5 coordinates");
            assert_eq!(other, [0.0; 4]);
        }
        noisy(&mut steps, 0.0);
        refused(steps.add_noise(&mut [NoisyValues::Double(&mut sum)]), "a batch before it");
    }
    assert_eq!(steps.next_batch().unwrap(), None);
    assert_eq!(steps.step(), 12);
    assert!(PrivateSteps::new(Batches::random(9, 5).unwrap(), coefficients(), 1.0).is_err());
    assert!(PrivateSteps::new(Batches::random(9, 6).unwrap(), coefficients(), f64::NAN).is_err());
    assert!(!format!("{steps:?}").contains("key"));
}

/// The neighbouring pair: batches and noise do not depend on the sums, which a record changes. From
/// one state, two runs differ by the difference of their sums.
#[test]
fn noise_and_batches_do_not_depend_on_the_sums() {
    let first = steps(0.5);
    let state = first.state().unwrap();
    let mut runs = [first, PrivateSteps::resumed(coefficients(), state).unwrap()];
    for step in 0..12 {
        let batches = runs.each_mut().map(|run| run.next_batch().unwrap().unwrap().to_vec());
        assert_eq!(batches[0], batches[1]);
        let [one, two] = &mut runs;
        let (a, b) = (noisy(one, 0.0), noisy(two, f64::from(step)));
        for (a, b) in a.iter().zip(&b) {
            assert_eq!(a + f64::from(step), *b);
        }
    }
}

/// At every step, also with a batch that has no noise yet.
#[test]
fn resumed_steps_are_equal_bit_for_bit() {
    let mut steps = steps(2.0);
    for step in 0..12 {
        let open = steps.next_batch().unwrap().unwrap().to_vec();
        let mut resumed = PrivateSteps::resumed(coefficients(), steps.state().unwrap()).unwrap();
        assert_eq!(resumed.step(), step);
        assert_eq!(resumed.next_batch().unwrap().unwrap(), open);
        assert_eq!(noisy(&mut resumed, 1.0), noisy(&mut steps, 1.0));
    }
    let state = steps.state().unwrap();
    let (records, starts) = state.batches.parts();
    assert_eq!(Batches::of_parts(records.to_vec(), starts.to_vec()).unwrap(), state.batches);
    assert!(Batches::of_parts(records.to_vec(), vec![0, 9, 3, 20]).is_err());
    assert!(Batches::of_parts(vec![0, 0], vec![0, 2]).is_err());
    let mut end = PrivateSteps::resumed(coefficients(), state).unwrap();
    assert_eq!(end.next_batch().unwrap(), None);
}
