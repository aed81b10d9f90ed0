use super::*;
use crate::PrivacyTarget;
use crate::allocation::{AllocationAccountant, Bins, MonteCarloOptions};
use crate::workload::{Family, Workload};

#[test]
#[ignore]
fn laboratory() {
    for (n, epochs, epsilon, expected) in
        [(64, 1, 1.0, 7.6), (64, 1, 4.0, 1.49), (128, 4, 1.0, 87.5), (128, 4, 4.0, 10.9)]
    {
        let gram = Workload::family(Family::PREFIX, &[n]).unwrap().gram().unwrap().to_dense().unwrap();
        let target = PrivacyTarget { epsilon, delta: 1e-4 };
        let free = Banded { steps: n, bands: n };
        let toeplitz = Toeplitz { steps: n, bands: n };
        let recurrent = Recurrent { steps: n, buffers: 4, horizon: n / epochs };
        let forms: [(&str, &dyn AllocatedForm); 3] =
            [("free", &free), ("toeplitz", &toeplitz), ("recurrent", &recurrent)];
        for (name, form) in forms {
            let started = std::time::Instant::now();
            let found = match name {
                "free" => fit_banded(gram.view(), n, epochs, target).unwrap(),
                _ => fit(form, gram.view(), epochs, target, None, &FitLimits::default()).unwrap(),
            };
            let time = started.elapsed();
            let bins = Bins::of_strategy(found.strategy.view(), epochs).unwrap();
            let accountant = AllocationAccountant::new(&bins, MonteCarloOptions::default()).unwrap();
            let sigma = accountant.sigma(epsilon, 1e-4).unwrap().sigma;
            let error = sigma * sigma * super::loss::total_error(gram.view(), found.strategy.view());
            println!("{n} {epochs} {epsilon} {name}: {:.4} estimate {:.4} expected {expected} residual {:.4} rounds {} {:?} fit {time:?} all {:?}", error / n as f64, found.estimate / n as f64, found.residual, found.rounds, found.status, started.elapsed());
        }
    }
}
