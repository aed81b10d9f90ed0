//! Equal tables have equal releases from every source.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::test_support::typed_tables::{SCHEMA, SCHEMA_OF_ALL_CELLS, count_sources, row};

/// Prefix sums, pairs and a triple over every kind of attribute.
const WORKLOAD: &str = "[[queries]]\nfamily = \"hybrid\"\nways = [1, 2]\n\
                        [[queries]]\nfamily = \"identity\"\n\
                        attributes = [\"decimal\", \"text\", \"flag\"]\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// The integers of a release with the noise of one stream: from CSV, columns in memory, record
    /// batches, Parquet, and an engine.
    #[test]
    fn equal_tables_have_equal_releases_from_every_source(
        rows in prop::collection::vec(row(), 1..40),
        variant in 0usize..60,
        seed in any::<u64>(),
        text in prop::sample::select(vec![SCHEMA, SCHEMA_OF_ALL_CELLS]),
    ) {
        let schema = Schema::from_toml(text, "S.toml").unwrap();
        let workload =
            GroupedWorkload::from_toml(&schema, WORKLOAD, "W.toml", Path::new("")).unwrap();
        let rho = rho(0.5);
        let planner = crate::planner::by_name("residual-planner").unwrap();
        let plan = planner.plan(&workload, rho.privacy_cost()).unwrap();
        let unit = PrivacyUnit::default();
        let plan = IntegerPlan::of(&plan, &workload, rho, unit).unwrap();
        let reservation = Reservation::unwritten(plan.cost().rounded_up().unwrap(), plan.unit());
        let folder = tempfile::tempdir().unwrap();
        let counted = count_sources(&rows, variant, folder.path(), &schema);
        let release = |source: &dyn crate::access::CountSource| {
            let (noise, of) = (ReleaseNoise::of_counter(seed), sources(text));
            run::measure(&plan, statement_of(&plan), of, source, &reservation, noise)
                .unwrap()
        };
        let expected = release(counted[0].as_ref());
        for source in &counted[1..] {
            let found = release(source.as_ref());
            for ((_, found), (_, expected)) in found.list.iter().zip(&expected.list) {
                prop_assert_eq!(found, expected);
            }
            prop_assert_eq!(found.list.len(), expected.list.len());
        }
    }
}
