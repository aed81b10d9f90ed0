//! Tables in Markdown pages, generated from results.
//!
//! A page is Markdown that is written manually, except for its blocks. A block begins with a
//! comment that selects, in TOML, files, rows and columns for the table below it (`Block`), and
//! ends with the line `<!-- end of results -->`:
//!
//! ```text
//! <!-- results
//! from = ["results/s4/fig4.csv"]
//! where = { dataset = ["adult"], metric = ["mean_l1"] }
//! rows = [["epsilon", "ε"]]
//! columns = [{ title = "planned", where = { method = "planned" } }]
//! -->
//! ```
//!
//! The pages are `README.md`, those of `docs/`, and the `README.md` files of `results/*/`.

mod block;
mod page;

pub use page::{pages, rendered, stale, write};
