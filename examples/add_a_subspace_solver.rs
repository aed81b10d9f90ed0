//! Another way to measure residual subspaces: implement `SubspaceSolver`, and QuerySmasher plans
//! with it.
//!
//! The certified solver iterates. This one takes V ∝ G^½, the strategy behind the SVD bound, from a
//! single eigendecomposition. It is optimal where the diagonal of G^½ is constant, and its lower
//! bound is the SVD bound.
//!
//! ```sh
//! cargo run --release --example add_a_subspace_solver
//! ```

use std::error::Error;
use std::io::Write;

use matmech::linalg::Semidefinite;
use matmech::{
    CertifiedSolver, Family, GroupFamily, GroupedWorkload, Planner, PrivacyCost, QuerySmasher,
    Schema, Solved, StrategyFactor, SubspaceProblem, SubspaceSolver, SubspaceStrategy,
};

/// V = G^½, divided by its largest diagonal entry. Roots of Kronecker products are products of
/// roots, as `SubspaceSolver` asks.
#[derive(Debug)]
struct SquareRoot;

impl SubspaceSolver for SquareRoot {
    fn name(&self) -> &str {
        "square-root"
    }

    fn solve(&self, problem: &SubspaceProblem<'_>) -> matmech::Result<Solved> {
        let spectrum = Semidefinite::of(problem.gram()?.view())?;
        let root = (&spectrum.basis * &spectrum.values.mapv(f64::sqrt)).dot(&spectrum.basis.t());
        let trace = root.diag().sum();
        let largest = root.diag().iter().copied().fold(0.0, f64::max);
        let bound = trace * trace / root.nrows() as f64;
        let factor = StrategyFactor::of_unit_cost(problem.sizes, root)?;
        Ok(Solved {
            strategy: SubspaceStrategy::Kronecker(vec![factor]),
            // tr(G V⁺) = largest · tr(G G^−½) = largest · tr G^½.
            error: largest * trace,
            lower_bound: Some(bound),
            iterations: 1,
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout().lock())
}

/// All of the program; apart from `main`, so that a test can read what it prints.
pub fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    // Ten attributes of 20 values, all queries on one and on two of them: prefix sums, and
    // `i + j <= c` on pairs.
    for family in [GroupFamily::Product(Family::PREFIX), GroupFamily::Pairs(Family::AFFINE)] {
        let workload = GroupedWorkload::all_ways(Schema::uniform(20, 10)?, &family, &[1, 2])?;
        writeln!(out, "{}, {} queries", family.name(), workload.count())?;
        let solvers: [Box<dyn SubspaceSolver>; 2] =
            [Box::new(SquareRoot), Box::new(CertifiedSolver::default())];
        for solver in solvers {
            let name = solver.name().to_owned();
            let plan = QuerySmasher::with_solver(solver).plan(&workload, PrivacyCost::UNIT)?;
            let bound = plan.lower_bound_rmse().ok_or("both solvers prove a lower bound")?;
            let (rmse, work) = (plan.rmse(), plan.iterations());
            writeln!(
                out,
                "  {name:<18} rmse {rmse:.6}  lower bound {bound:.6}  eigendecompositions {work}"
            )?;
        }
    }
    Ok(())
}
