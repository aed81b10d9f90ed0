//! Matrix files: NumPy's `.npy` (f64, two-dimensional) and `.csv` (one row per line, no header),
//! and `.npz` archives of arrays.

mod matrix;
mod npz;

pub use matrix::{npy_bytes, npy_of_bytes, read, write_npy, write_npy_vector};
pub use npz::{NpzArray, float_arrays, npz_arrays, npz_bytes, npz_of, read_npz, write_npz};
