//! Scores of synthetic records: the k-marginal score of NIST's reports.

use std::sync::Arc;

use matmech::access::PrivateTable;
use matmech::call::Call;
use matmech::data::{Column, MarginalCounter, Records};
use matmech::domain::Attribute;
use matmech::mechanism::{self, Mechanism};
use matmech::privacy::Rho;
use matmech::schema::Schema;
use matmech::workload::{Family, GroupFamily, GroupedWorkload, attribute_sets};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::columns;
use crate::datasets::{Catalogue, DataUse, LoadedTable};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::statistics::Sample;

/// An attribute with more values is scored in this many bins of equal rank.
const BINS: usize = 20;

/// The number of sets of attributes that a report of NIST draws.
const DRAWN_SETS: f64 = 100.0;

/// Mechanisms that score a random part of the records themselves.
const SUBSAMPLE: &str = "subsample";

/// Tables × mechanisms that end with a model: the score of their synthetic records.
///
/// Every run draws as many records as the model's total. For a set γ of attributes, p_γ and q_γ are
/// the marginals of the table and of the synthetic records, divided by the numbers of records. As in
/// SDNist 2.3 (`metrics/kmarginal.py`, `report/dataset/binning.py`), a numeric attribute has 20 bins
/// of equal rank in the table. Metrics, means over the trials:
///
/// - `score_1`, `score_2`, `score_3`: 1000 (1 − mean_γ ‖p_γ − q_γ‖₁/2) over all sets of 1, 2 and 3
///   attributes. NIST's score is `score_2` over 100 drawn pairs; it adds the column `PUMA` to every
///   pair if the table has it, and is then over triples.
/// - `drawn_sd`: the standard deviation of `score_2` over 100 pairs drawn independently.
///
/// The method `subsample(share=0.1)` scores a random tenth of the table's records: NIST's reports
/// state it for comparison.
#[derive(Debug)]
pub struct RecordScores {
    /// The tables.
    pub catalogue: Catalogue,
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    epsilon: f64,
    delta: f64,
    /// Number of attributes per marginal of the workload.
    ways: usize,
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    dataset: String,
    methods: Vec<String>,
    trials: usize,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
    epsilon: f64,
    delta: f64,
    ways: usize,
    trials: usize,
}

/// The origin of the records that are scored.
enum Source {
    Mechanism(Box<dyn Mechanism>),
    /// A share of the table's records.
    Subsample(f64),
}

impl Source {
    fn parse(text: &str) -> matmech::Result<Self> {
        let call = Call::parse("method", text, "write a mechanism or subsample(share=0.1)")?;
        if call.name() == SUBSAMPLE {
            call.allow(&["share"])?;
            let share: f64 = call.required("share")?;
            return if share > 0.0 && share <= 1.0 {
                Ok(Source::Subsample(share))
            } else {
                Err(call.refuse("a share greater than 0 and at most 1", text))
            };
        }
        let mechanism = mechanism::by_name(text)?;
        if mechanism.ends_with_model() {
            Ok(Source::Mechanism(mechanism))
        } else {
            Err(call.refuse("a mechanism that ends with a model", text))
        }
    }
}

impl Kind for RecordScores {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "record-scores";
    const SUMMARY: &'static str = "synthetic records of mechanisms: k-marginal scores of NIST";
    const KEYS: &'static [&'static str] = &["dataset", columns::DATA];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let Grid { epsilon, delta, ways, runs } = grid;
        Rho::of_approximate_rounded_down(epsilon, delta)
            .map_err(|error| Error::refused("epsilon", error))?;
        let mut cells = Vec::new();
        for (i, run) in runs.iter().enumerate() {
            let data = self
                .catalogue
                .identify(&run.dataset)
                .map_err(|error| error.under(&format!("runs[{i}].dataset")))?;
            if run.trials == 0 {
                let key = format!("runs[{i}].trials");
                return Err(Error::config(key, "at least 1", "0", "write `trials = 10`"));
            }
            for (j, method) in run.methods.iter().enumerate() {
                Source::parse(method)
                    .map_err(|error| Error::refused(format!("runs[{i}].methods[{j}]"), error))?;
                let params =
                    Params { data: data.clone(), epsilon, delta, ways, trials: run.trials };
                cells.push(CellOf::new([&run.dataset, &data.label()], method, params));
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let source = Source::parse(method)?;
        let table = self.catalogue.load(&params.data.name)?;
        let rho = Rho::of_approximate_rounded_down(params.epsilon, params.delta)?;
        let bins = RankBins::new(&table)?;
        let truth = bins.marginals(&table.records)?;
        let mut scores: [Sample; 4] = Default::default();
        for _ in 0..params.trials {
            let mut noise = ChaCha20Rng::from_rng(rng);
            let records = source.records(&table, params.ways, rho, &mut noise)?;
            for (sample, score) in scores.iter_mut().zip(bins.scores(&truth, &records)?) {
                sample.push(score);
            }
        }
        let names = ["score_1", "score_2", "score_3", "drawn_sd"];
        let mut rows: Vec<Row> =
            names.iter().zip(&scores).flat_map(|(name, sample)| sample.rows(name)).collect();
        rows.push(Row::new("trials", params.trials as f64));
        Ok(rows)
    }
}

impl Source {
    /// Returns synthetic records, or records of the table.
    fn records(
        &self,
        table: &Arc<LoadedTable>,
        ways: usize,
        rho: Rho,
        rng: &mut ChaCha20Rng,
    ) -> Result<Records> {
        let (schema, records) = (&table.schema, &table.records);
        match self {
            Source::Subsample(share) => {
                let count = (share * records.len() as f64).round() as usize;
                let chosen = rand::seq::index::sample(rng, records.len(), count).into_vec();
                let mut columns = Vec::new();
                for position in 0..schema.attributes().len() {
                    let values: Vec<u32> = records.column(position).into_iter().flatten().collect();
                    columns.push(chosen.iter().map(|&record| values[record]).collect());
                }
                Ok(Records::new(schema, columns)?)
            }
            Source::Mechanism(mechanism) => {
                let identity = GroupFamily::Product(Family::IDENTITY);
                let workload = GroupedWorkload::all_ways(schema.clone(), &identity, &[ways])?;
                let report = {
                    let mut private = PrivateTable::of_records(records, rho, rng)?;
                    mechanism.run(&workload, &mut private, &mut |_, _| Ok(()))?
                };
                let model = report
                    .model
                    .ok_or_else(|| Error::bug(mechanism.name(), "a run with a model", "none"))?;
                let count = model.total().round().max(1.0) as usize;
                Ok(model.records(schema, count, rng)?)
            }
        }
    }
}

/// The bins of the values of every attribute.
struct RankBins {
    schema: Schema,
    /// The bin of every value, per attribute.
    bins: Vec<Vec<u32>>,
}

/// The marginals of tables of records, divided by the number of records.
type Marginals = Vec<Vec<f64>>;

impl RankBins {
    fn new(table: &LoadedTable) -> Result<Self> {
        let mut bins = Vec::new();
        let mut attributes = Vec::new();
        for (position, attribute) in table.schema.attributes().iter().enumerate() {
            let of_attribute: Vec<u32> = if attribute.size <= BINS {
                (0..attribute.size as u32).collect()
            } else {
                let mut counts = vec![0.0; attribute.size];
                for value in table.records.column(position).into_iter().flatten() {
                    counts[value as usize] += 1.0;
                }
                rank_bins(&counts)
            };
            let size = of_attribute.iter().max().map_or(1, |&last| last as usize + 1);
            attributes.push(Attribute { size, ..attribute.clone() });
            bins.push(of_attribute);
        }
        Ok(RankBins { schema: Schema::new(attributes)?, bins })
    }

    /// Returns the marginals on all sets of 1, 2 and 3 attributes.
    fn marginals(&self, records: &Records) -> Result<Marginals> {
        self.marginals_of(records, &[1, 2, 3])
    }

    fn marginals_of(&self, records: &Records, ways: &[usize]) -> Result<Marginals> {
        let columns = self
            .bins
            .iter()
            .enumerate()
            .map(|(position, bins)| {
                let values = records.column(position).into_iter().flatten();
                values.map(|value| bins[value as usize]).collect::<Column>()
            })
            .collect();
        let binned = Records::new(&self.schema, columns)?;
        let counter = MarginalCounter::new(&binned)?;
        let total = records.len() as f64;
        attribute_sets(&self.schema, ways)?
            .into_iter()
            .map(|set| {
                let mut counts = Vec::new();
                counter.count_into(set, &mut counts)?;
                counts.iter_mut().for_each(|count| *count /= total);
                Ok(counts)
            })
            .collect()
    }

    /// Returns the metrics `score_1`, `score_2`, `score_3` and `drawn_sd`.
    fn scores(&self, truth: &Marginals, records: &Records) -> Result<[f64; 4]> {
        let found = self.marginals(records)?;
        let mut of_ways = [(); 3].map(|()| Sample::default());
        let sets = attribute_sets(&self.schema, &[1, 2, 3])?;
        for (set, (truth, found)) in sets.iter().zip(truth.iter().zip(&found)) {
            let l1: f64 = truth.iter().zip(found).map(|(p, q)| (p - q).abs()).sum();
            of_ways[set.len() - 1].push(1000.0 * (1.0 - l1 / 2.0));
        }
        let [ones, pairs, triples] = of_ways.each_ref().map(Sample::mean);
        let variance = of_ways[1].mean_of(|score| (score - pairs).powi(2));
        Ok([ones, pairs, triples, (variance / DRAWN_SETS).sqrt()])
    }
}

/// Returns the bin of every value: ⌊20 r⌋ for the mean rank r ≤ 1 of its records, at most 19.
///
/// A value without records belongs to the bin of the next larger value that has some, or to the last
/// bin.
fn rank_bins(counts: &[f64]) -> Vec<u32> {
    let total: f64 = counts.iter().sum();
    let mut below = 0.0;
    let mut bins: Vec<Option<u32>> = Vec::with_capacity(counts.len());
    for &count in counts {
        let rank = (below + (count + 1.0) / 2.0) / total;
        bins.push((count > 0.0).then(|| ((BINS as f64 * rank) as u32).min(BINS as u32 - 1)));
        below += count;
    }
    let mut next = bins.iter().rev().flatten().next().copied().unwrap_or(0);
    let mut of_values: Vec<u32> = bins
        .iter()
        .rev()
        .map(|bin| {
            next = bin.unwrap_or(next);
            next
        })
        .collect();
    of_values.reverse();
    of_values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::Folders;
    use crate::experiment::Experiment;

    fn kind() -> (tempfile::TempDir, RecordScores) {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders {
            user: None,
            tables: root.path().join("tables"),
            downloads: root.path().join("downloads"),
        };
        let catalogue = Catalogue::new(root.path(), folders);
        (root, RecordScores { catalogue })
    }

    const GRID: &str = "epsilon = 1\ndelta = 1e-9\nways = 2\n\
                    runs = [{ dataset = 'titanic', trials = 2, \
                    methods = ['subsample(share=1)', 'subsample(share=0.1)', 'staged'] }]";

    #[test]
    fn bad_grids_name_the_key() {
        let (_root, kind) = kind();
        for (from, to, key) in [
            ("'titanic'", "'titanik'", "runs[0].dataset"),
            ("'staged'", "'residual-planner'", "runs[0].methods[2]"),
            ("share=0.1", "share=0", "runs[0].methods[1]"),
            ("share=0.1", "part=0.1", "runs[0].methods[1]"),
            ("epsilon = 1", "epsilon = -1", "epsilon"),
            ("trials = 2", "trials = 0", "runs[0].trials"),
        ] {
            let text = GRID.replacen(from, to, 1);
            assert_ne!(text, GRID);
            assert_eq!(Experiment::cells(&kind, &text.parse().unwrap()).unwrap_err().key(), key);
        }
    }

    /// All records have the full score, a part of them and synthetic records less.
    #[test]
    fn only_the_table_itself_has_the_full_score() {
        let (_root, kind) = kind();
        let kind: &dyn Experiment = &kind;
        let cells = kind.cells(&GRID.parse().unwrap()).unwrap();
        let scores = cells.iter().map(|cell| {
            let rows = kind.run(cell, &mut ChaCha20Rng::seed_from_u64(3)).unwrap();
            let of = |metric: &str| {
                rows.iter().find(|row| row.metric == metric).and_then(|row| row.value).unwrap()
            };
            ["score_1", "score_2", "score_3", "drawn_sd"].map(of)
        });
        let scores: Vec<[f64; 4]> = scores.collect();
        for (score, expected) in scores[0].iter().zip([1000.0, 1000.0, 1000.0, 0.0]) {
            assert!((score - expected).abs() < 1e-9);
        }
        for [ones, pairs, triples, deviation] in &scores[1..] {
            assert!(1000.0 > *ones && ones > pairs && pairs > triples && *triples > 0.0);
            assert!((0.1..30.0).contains(deviation));
        }
    }

    /// Two attributes with three records each: ‖p − q‖₁ is 0, 2/3 and, on the pair, 2/3.
    #[test]
    fn scores_match_a_computation_by_hand() {
        let schema = Schema::uniform(2, 2).unwrap();
        let records = |columns: [[u32; 3]; 2]| {
            let columns = columns.map(|column| column.into_iter().collect()).to_vec();
            Records::new(&schema, columns).unwrap()
        };
        let bins = RankBins { schema: schema.clone(), bins: vec![vec![0, 1]; 2] };
        let truth = bins.marginals_of(&records([[0, 0, 1], [0, 1, 1]]), &[1, 2]).unwrap();
        let found = bins.marginals_of(&records([[0, 1, 0], [0, 0, 1]]), &[1, 2]).unwrap();
        let l1 = |k: usize| -> f64 {
            truth[k].iter().zip(&found[k]).map(|(p, q): (&f64, &f64)| (p - q).abs()).sum()
        };
        assert!(l1(0) < 1e-15);
        assert!((l1(1) - 2.0 / 3.0).abs() < 1e-15);
        assert!((l1(2) - 2.0 / 3.0).abs() < 1e-15);
    }

    /// Oracle: the ranks of pandas, `s.rank(pct=True)`, by hand.
    #[test]
    fn bins_have_equal_ranks() {
        // Ranks 1/10, 3/10 twice (mean of 0.2, 0.3, 0.4), 0.75 (mean of 5 to 10).
        assert_eq!(rank_bins(&[1.0, 0.0, 3.0, 6.0, 0.0]), [2, 6, 6, 15, 15]);
        // One record of each of 40 values: two per bin, shifted by the rank of the record itself.
        let bins = rank_bins(&[1.0; 40]);
        let expected: Vec<u32> = (1..=40).map(|rank| (rank / 2).min(19)).collect();
        assert_eq!(bins, expected);
    }
}
