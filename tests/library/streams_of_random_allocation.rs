//! Streaming noise that is fitted to random allocation.

use matmech::strategy::stream::{Form, Stream, StreamOptions};
use matmech::strategy::{Participation, PrivacyTarget, Problem};
use matmech::workload::Workload;

/// Oracle: the assessment of the coefficients, which accounts for them again.
#[test]
fn a_fit_states_the_sensitivity_and_the_errors_of_its_coefficients() {
    let workload = Workload::parse("prefix:16").unwrap();
    for epochs in [1, 2] {
        let target = Some(PrivacyTarget { epsilon: 2.0, delta: 1e-3 });
        let participation = Participation::Random { epochs, target };
        let problem = Problem { participation, ..Problem::new(&workload) };
        let fit = Stream::fit(&problem, Form::Recurrence, 2, &StreamOptions::default()).unwrap();
        let (stated, again) = (fit.assessment, fit.coefficients.assess(&problem).unwrap());
        assert_eq!(stated.sensitivity.squared, 1.0);
        assert_eq!(stated.sensitivity.bound, again.sensitivity.bound);
        // The Monte Carlo takes the same samples, of a strategy that differs by rounding.
        for (stated, again) in [
            (stated.sensitivity.squared, again.sensitivity.squared),
            (stated.sensitivity.attained, again.sensitivity.attained),
            (stated.mean_error, again.mean_error),
            (stated.max_error.unwrap(), again.max_error.unwrap()),
            (stated.error, again.error),
        ] {
            assert!((again / stated - 1.0).abs() < 1e-6, "{epochs} epochs: {stated} {again}");
        }
    }
}
