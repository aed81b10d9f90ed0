//! The statement of a release: measurements, guarantee, accuracy, and what is not protected.

mod decimals;
mod of_plan;
mod protection;
mod terms;

pub use self::decimals::{at_most, decimals_of, in_digits, shortest};
pub use self::of_plan::Statement;
pub(super) use self::protection::Protection;
pub use self::terms::Terms;
