//! The trait that a kind of experiment implements, with typed grid and params.

use rand_chacha::ChaCha20Rng;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Cell, CellCertificate, Experiment, Row};
use crate::config;
use crate::error::{Error, Result};

/// A kind of experiment: one file that implements this trait, and one line in [`crate::registry`].
///
/// Every kind is an [`Experiment`] and must meet its requirements. That implementation parses the
/// grid, stores the params and names the key columns.
pub trait Kind: std::fmt::Debug + Send + Sync {
    /// The contents of `[grid]` in a config; should be `#[serde(deny_unknown_fields)]`.
    type Grid: DeserializeOwned;

    /// Everything that determines the result of a cell, except its method and the seed.
    ///
    /// If the cell runs on a table, the field `data` is its
    /// [`DataUse`](crate::datasets::DataUse), and the key column [`DATA`](crate::columns::DATA) its
    /// label.
    type Params: Serialize + DeserializeOwned;

    /// The name in configs.
    const NAME: &'static str;

    /// A description in one line.
    const SUMMARY: &'static str;

    /// See [`Experiment::revision`].
    const REVISION: u32 = 1;

    /// The key columns of the result table, in order.
    const KEYS: &'static [&'static str];

    /// The metrics that are errors. See [`Experiment::error_metrics`].
    const ERRORS: &'static [&'static str];

    /// The metrics that are computed from times. See [`Experiment::cost_metrics`].
    const TIMED: &'static [&'static str] = &[];

    /// Returns the cells of a grid.
    ///
    /// # Errors
    /// Returns an error if a value is invalid, with the key relative to the grid.
    fn cells(&self, grid: Self::Grid) -> Result<Vec<CellOf<Self::Params>>>;

    /// See [`Experiment::lower_bound_method`]. By default there is no such method.
    const BOUND_ON_ALL: Option<&'static str> = None;

    /// See [`Experiment::bounded_by`]. By default there is no such method.
    fn bounded_by(&self, _method: &str) -> Option<&'static str> {
        None
    }

    /// Computes one cell.
    ///
    /// # Errors
    /// Returns an error if the cell cannot be computed.
    fn run(&self, method: &str, params: Self::Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>>;

    /// See [`Experiment::prove`]. By default there are no rows.
    ///
    /// # Errors
    /// Returns an error if the certificate does not fit the cell.
    fn prove(
        &self,
        _method: &str,
        _params: Self::Params,
        _certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        Ok(Vec::new())
    }
}

/// A cell with params of type `P`.
#[derive(Clone, Debug, PartialEq)]
pub struct CellOf<P> {
    /// The values of [`Kind::KEYS`], in their order.
    pub key: Vec<String>,
    /// The method.
    pub method: String,
    /// The params.
    pub params: P,
}

impl<P> CellOf<P> {
    /// Creates a cell. Keys are values of any type that can be printed.
    pub fn new<const N: usize>(
        key: [&dyn ToString; N],
        method: impl Into<String>,
        params: P,
    ) -> Self {
        Self { key: key.map(ToString::to_string).to_vec(), method: method.into(), params }
    }
}

impl<K: Kind> Experiment for K {
    fn kind(&self) -> &'static str {
        K::NAME
    }

    fn summary(&self) -> &'static str {
        K::SUMMARY
    }

    fn revision(&self) -> u32 {
        K::REVISION
    }

    fn key_columns(&self) -> &'static [&'static str] {
        K::KEYS
    }

    fn error_metrics(&self) -> &'static [&'static str] {
        K::ERRORS
    }

    fn cost_metrics(&self) -> &'static [&'static str] {
        K::TIMED
    }

    fn cells(&self, grid: &toml::Table) -> Result<Vec<Cell>> {
        let stored = |cell: CellOf<K::Params>| {
            if cell.key.len() != K::KEYS.len() {
                let found = format!("{} values", cell.key.len());
                return Err(Error::bug(
                    format!("a cell of the kind {}", K::NAME),
                    format!("a value for each of {:?}", K::KEYS),
                    found,
                ));
            }
            let columns = K::KEYS.iter().map(|column| (*column).to_owned());
            let params = serde_json::to_value(&cell.params).map_err(|error| {
                Error::bug(format!("a cell of the kind {}", K::NAME), "params that are JSON", error)
            })?;
            Ok(Cell { key: columns.zip(cell.key).collect(), method: cell.method, params })
        };
        Kind::cells(self, config::typed(grid)?)?.into_iter().map(stored).collect()
    }

    fn bounded_by(&self, method: &str) -> Option<&'static str> {
        Kind::bounded_by(self, method)
    }

    fn lower_bound_method(&self) -> Option<&'static str> {
        K::BOUND_ON_ALL
    }

    fn run(&self, cell: &Cell, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        Kind::run(self, &cell.method, params_of::<K>(cell)?, rng)
    }

    fn prove(&self, cell: &Cell, certificate: &CellCertificate) -> Result<Vec<Row>> {
        Kind::prove(self, &cell.method, params_of::<K>(cell)?, certificate)
    }
}

fn params_of<K: Kind>(cell: &Cell) -> Result<K::Params> {
    serde_json::from_value(cell.params.clone())
        .map_err(|error| Error::bug("a cell", format!("the params of the kind {}", K::NAME), error))
}
