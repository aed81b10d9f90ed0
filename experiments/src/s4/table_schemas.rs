//! Records, attributes and domains of the tables (S4, Table 3).

use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::columns;
use crate::datasets::{Catalogue, DataUse};
use crate::error::Result;
use crate::experiment::{CellOf, Kind, Row};

/// The columns of S4's Table 3 for each table.
///
/// `schema` is the text `records|attributes|mean size|domain`, with the domain size to three
/// digits. For a missing table it is that of the stand-in, whose sizes are inferred from the paper.
#[derive(Debug)]
pub struct TableSchemas {
    /// The tables.
    pub catalogue: Catalogue,
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    datasets: Vec<String>,
}

/// The only method: the schema is read, not computed.
const METHOD: &str = "schema";

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
}

impl Kind for TableSchemas {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "table-schemas";
    const SUMMARY: &'static str = "records, attributes and domains of the tables of S4";
    const KEYS: &'static [&'static str] = &["dataset", columns::DATA];
    const REVISION: u32 = 2;
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let cell = |(i, dataset): (usize, &String)| {
            let data = self
                .catalogue
                .identify(dataset)
                .map_err(|error| error.under(&format!("datasets[{i}]")))?;
            Ok(CellOf::new([dataset, &data.label()], METHOD, Params { data }))
        };
        grid.datasets.iter().enumerate().map(cell).collect()
    }

    fn run(&self, _method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let table = self.catalogue.load(&params.data.name)?;
        let sizes = table.schema.sizes();
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len().max(1) as f64;
        let domain: f64 = sizes.iter().map(|&size| size as f64).product();
        let digits = if mean.fract() == 0.0 || (mean * 10.0 - (mean * 10.0).round()).abs() < 1e-9 {
            1
        } else {
            2
        };
        let text = format!("{}|{}|{mean:.digits$}|{domain:.2e}", table.records.len(), sizes.len());
        Ok(vec![
            Row::text("schema", text),
            Row::new("largest", sizes.iter().copied().max().unwrap_or(0) as f64),
        ])
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::datasets::Folders;
    use crate::experiment::Experiment;

    /// The stand-in of Adult has the sizes of the real table; their product is the published domain
    /// size.
    #[test]
    fn adult_has_the_published_schema() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders {
            user: None,
            tables: root.path().join("tables"),
            downloads: root.path().join("downloads"),
        };
        let kind = TableSchemas { catalogue: Catalogue::new(root.path(), folders) };
        let kind: &dyn Experiment = &kind;
        let cells = kind.cells(&"datasets = ['adult']".parse().unwrap()).unwrap();
        assert_eq!(cells[0].key[1], (columns::DATA.to_owned(), "stand-in".to_owned()));
        assert_eq!(cells[0].data().unwrap().unwrap().name, "adult");
        let rows = kind.run(&cells[0], &mut ChaCha20Rng::seed_from_u64(0)).unwrap();
        assert_eq!(rows[0].text.as_deref(), Some("48842|15|16.4|9.44e15"));
    }
}
