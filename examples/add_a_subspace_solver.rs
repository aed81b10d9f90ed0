//! Adds a solver for residual subspaces: implement `SubspaceSolver` to use it in QuerySmasher.
//!
//! The certified solver iterates. This one uses V ∝ G^½, the strategy behind the SVD bound, from a
//! single eigendecomposition. It is optimal if the diagonal of G^½ is constant. Its lower bound is
//! the SVD bound.
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

/// Selects V = G^½, divided by its largest diagonal entry.
///
/// The root of a Kronecker product is the product of the roots, as `SubspaceSolver` requires.
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
        let factor = StrategyFactor::from_gram_scaled(problem.sizes, root)?;
        Ok(Solved {
            strategy: SubspaceStrategy::Kronecker(vec![factor]),
            // tr(G V⁺) = largest · tr(G G^−½) = largest · tr G^½.
            error: largest * trace,
            lower_bound: Some(bound),
            proof: None,
            iterations: 1,
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout().lock())
}

/// Writes the program's output to `out`, so that a test can read it.
pub fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    // Ten attributes of 20 values, with queries on all single attributes and pairs: prefix sums,
    // and `i + j <= c` on pairs.
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
