//! Mechanisms: estimate the answers of a workload from private data.
//!
//! A [`Mechanism`] gets a workload and a [`PaidAccess`](crate::access::PaidAccess); it cannot read a
//! record ([`access`](crate::access) explains why). To add a mechanism, implement the trait in a
//! separate file and add a line to [`mechanisms`].
//!
//! ```
//! use matmech::access::PrivateTable;
//! use matmech::data::Records;
//! use matmech::privacy::Guarantee;
//! use matmech::workload::{Family, GroupFamily, GroupedWorkload};
//! use matmech::{mechanism, privacy::PrivacyBudget, schema::Schema};
//! use rand::SeedableRng;
//! let schema = Schema::uniform(3, 4)?;
//! let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let records = Records::uniform(&schema, 1000, &mut rng)?;
//! let identity = GroupFamily::Product(Family::IDENTITY);
//! let workload = GroupedWorkload::all_ways(schema, &identity, &[2])?;
//! let guarantee = Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 };
//! let rho = PrivacyBudget::from(guarantee).rho()?;
//! // Seeded noise: for experiments, not for releases.
//! let mut table = PrivateTable::of_records(&records, rho, &mut rng)?;
//! let mut pairs = Vec::new();
//! mechanism::by_name("aim-grem")?.run(&workload, &mut table, &mut |_, answers| {
//!     pairs.push(answers.to_vec());
//!     Ok(())
//! })?;
//! assert_eq!((pairs.len(), pairs[0].len()), (6, 9));
//! assert!(table.accountant().spent() <= rho.get());
//! # Ok::<(), matmech::Error>(())
//! ```

pub mod aim;
pub mod aim_grem;
mod aim_hybrid;
mod aim_pgm;
mod batch_marginals;
mod conditional_residual_planner;
mod marginals;
mod matrix_mechanism;
mod mechanism_trait;
mod planned;
mod planned_queries;
mod registry;
mod staged;

pub use aim_grem::{AimGrem, UnmeasuredResiduals};
pub use aim_hybrid::AimHybrid;
pub use aim_pgm::AimPgm;
pub use batch_marginals::{BatchMarginals, ResidualPlannerMechanism};
pub use conditional_residual_planner::{Allocation, MIN_SHARE, allocate};
pub use marginals::{MarginalErrors, marginals_of};
pub use matrix_mechanism::{answer, estimate_cells};
pub use mechanism_trait::{ExpectedErrors, Mechanism, RunReport};
pub use planned::PlannedResiduals;
pub use planned_queries::{QuerySmasherMechanism, run_plan};
pub use registry::{by_name, listing, mechanisms, with_flags};
pub(crate) use staged::{Answers, LevelQueries, StageAnswers, StagedEstimates, Stages, sets_of};
pub use staged::{KnownWidths, Staged};

#[cfg(test)]
mod tests;
