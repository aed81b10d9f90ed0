//! Coefficients in `.npz` files.

use std::collections::BTreeMap;
use std::path::Path;

use ndarray::{Array2, arr1};
use ndarray::{ArrayD, ArrayView1, ArrayViewD, Ix1, Ix2};

use super::{Chains, Coefficients, NoiseRecurrence, Truncated};
use crate::error::{Error, Result};
use crate::matrix_file::{float_arrays, npz_of, read_npz, write_npz};

impl Coefficients {
    /// Writes the coefficients as `.npz`, an archive of float64 arrays.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.with_arrays(|arrays| write_npz(path, arrays))
    }

    /// Returns the bytes that [`write`](Self::write) writes.
    ///
    /// # Errors
    /// The archive takes 4 GiB or more.
    pub fn to_npz(&self) -> Result<Vec<u8>> {
        let too_large = |e| {
            let found = format!("{} steps ({e})", self.steps());
            Error::bad_input("coefficients", "less than 4 GiB", found, "use fewer steps")
        };
        self.with_arrays(npz_of).map_err(too_large)
    }

    /// Calls a function with the arrays of the file.
    ///
    /// | form | keys |
    /// |---|---|
    /// | recurrence | as truncated, with `taps` ((k−1)×n) instead of `bands` |
    /// | chains | `phi`, `sigma` (n×N), `factors`, `scale` (n) |
    /// | truncated | `rates` (N), `input`, `output` (n×N), `diagonal`, `scale` (n), `bands` (1) |
    fn with_arrays<T>(&self, call: impl FnOnce(&[(&str, ArrayViewD<'_, f64>)]) -> T) -> T {
        match self {
            Coefficients::Chains(form) => call(&[
                ("phi", form.phi.view().into_dyn()),
                ("sigma", form.sigma.view().into_dyn()),
                ("factors", vector(&form.factors)),
                ("scale", vector(&form.scale)),
            ]),
            Coefficients::Recurrence(form) => call(&[
                ("rates", vector(&form.rates)),
                ("input", form.input.view().into_dyn()),
                ("output", form.output.view().into_dyn()),
                ("diagonal", vector(&form.diagonal)),
                ("scale", vector(&form.scale)),
                ("taps", form.taps.view().into_dyn()),
            ]),
            Coefficients::Truncated(form) => call(&[
                ("rates", vector(&form.rates)),
                ("input", form.input.view().into_dyn()),
                ("output", form.output.view().into_dyn()),
                ("diagonal", vector(&form.diagonal)),
                ("scale", vector(&form.scale)),
                ("bands", arr1(&[form.bands as f64]).view().into_dyn()),
            ]),
        }
    }

    /// Reads coefficients from `.npz`. The keys determine the form.
    ///
    /// # Errors
    /// The file is no archive of float64 arrays; an array is missing, has another shape, or a
    /// number that is not finite; σ, d, r, λ or b is not positive.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of_arrays(path.display().to_string(), read_npz(path)?)
    }

    /// Returns the coefficients of [`to_npz`](Self::to_npz).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn of_npz(bytes: &[u8]) -> Result<Self> {
        let origin = "coefficients";
        Self::of_arrays(origin.into(), float_arrays(bytes, origin)?)
    }

    fn of_arrays(origin: String, arrays: BTreeMap<String, ArrayD<f64>>) -> Result<Self> {
        let mut arrays = Arrays { origin, arrays };
        if arrays.arrays.contains_key("phi") {
            let phi = arrays.matrix("phi", None)?;
            let shape = phi.dim();
            arrays.check("phi", "at least one row", shape.0 > 0)?;
            let sigma = arrays.matrix("sigma", Some(shape))?;
            arrays.check("sigma", "positive numbers", sigma.iter().all(|&x| x > 0.0))?;
            let factors = arrays.vector("factors", shape.0)?;
            let scale = arrays.positive("scale", shape.0)?;
            return Ok(Coefficients::Chains(Chains { phi, sigma, factors, scale }));
        }
        let input = arrays.matrix("input", None)?;
        let (n, buffers) = input.dim();
        arrays.check("input", "at least one row", n > 0)?;
        let output = arrays.matrix("output", Some((n, buffers)))?;
        let rates = arrays.vector("rates", buffers)?;
        arrays.check("rates", "nonnegative numbers", rates.iter().all(|&x| x >= 0.0))?;
        let diagonal = arrays.positive("diagonal", n)?;
        let scale = arrays.positive("scale", n)?;
        if arrays.arrays.contains_key("taps") {
            let taps = arrays.matrix("taps", None)?;
            let divides = taps.ncols() == n && n.is_multiple_of(taps.nrows() + 1);
            arrays.check(
                "taps",
                "one column per step and a row for every epoch but one",
                divides,
            )?;
            let period = n / (taps.nrows() + 1);
            return Ok(Coefficients::Recurrence(NoiseRecurrence {
                rates,
                input,
                output,
                diagonal,
                scale,
                taps,
                period,
            }));
        }
        let bands = arrays.vector("bands", 1)?[0];
        let valid = bands >= 1.0 && bands <= n as f64 && bands.fract() == 0.0;
        arrays.check("bands", "an integer from 1 to the number of steps", valid)?;
        let bands = bands as usize;
        Ok(Coefficients::Truncated(Truncated { rates, input, output, diagonal, scale, bands }))
    }
}

fn vector(values: &[f64]) -> ArrayViewD<'_, f64> {
    ArrayView1::from(values).into_dyn()
}

/// The arrays of a file.
struct Arrays {
    origin: String,
    arrays: BTreeMap<String, ArrayD<f64>>,
}

impl Arrays {
    fn refuse(&self, expected: String, found: impl Into<String>) -> Error {
        Error::Parse {
            origin: self.origin.clone(),
            place: None,
            expected,
            found: found.into(),
            remedy: "write the file with matmech stream --out FILE.npz".into(),
        }
    }

    fn check(&self, name: &str, expected: &str, valid: bool) -> Result<()> {
        if valid {
            return Ok(());
        }
        Err(self.refuse(format!("{expected} in `{name}`"), "other numbers"))
    }

    fn take(&mut self, name: &str, expected: &str) -> Result<ArrayD<f64>> {
        let Some(array) = self.arrays.remove(name) else {
            return Err(self.refuse(format!("an array `{name}`, {expected}"), "none"));
        };
        self.check(name, "finite numbers", array.iter().all(|x| x.is_finite()))?;
        Ok(array)
    }

    /// Returns a matrix with columns, of a known shape if there is one.
    fn matrix(&mut self, name: &str, shape: Option<(usize, usize)>) -> Result<Array2<f64>> {
        let expected = match shape {
            Some((rows, columns)) => format!("{rows} × {columns}"),
            None => "steps × buffers".into(),
        };
        let array = self.take(name, &expected)?;
        let found = format!("the shape {:?}", array.shape());
        match array.into_dimensionality::<Ix2>() {
            Ok(matrix) if matrix.ncols() > 0 && shape.is_none_or(|shape| matrix.dim() == shape) => {
                Ok(matrix.as_standard_layout().into_owned())
            }
            _ => Err(self.refuse(format!("an array `{name}`, {expected}"), found)),
        }
    }

    fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f64>> {
        let expected = format!("{length} numbers");
        let array = self.take(name, &expected)?;
        let found = format!("the shape {:?}", array.shape());
        match array.into_dimensionality::<Ix1>() {
            Ok(vector) if vector.len() == length => Ok(vector.to_vec()),
            _ => Err(self.refuse(format!("an array `{name}`, {expected}"), found)),
        }
    }

    fn positive(&mut self, name: &str, length: usize) -> Result<Vec<f64>> {
        let values = self.vector(name, length)?;
        self.check(name, "positive numbers", values.iter().all(|&x| x > 0.0))?;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::tests::streams;

    #[test]
    fn coefficients_survive_a_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("noise.npz");
        for coefficients in streams() {
            coefficients.write(&path).unwrap();
            let bytes = coefficients.to_npz().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
            for read in [Coefficients::read(&path), Coefficients::of_npz(&bytes)] {
                let read = read.unwrap();
                assert_eq!(read.form(), coefficients.form());
                assert_eq!(read.noise_matrix().unwrap(), coefficients.noise_matrix().unwrap());
            }
        }
    }

    #[test]
    fn files_with_wrong_arrays_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("noise.npz");
        let phi = Array2::from_elem((3, 2), 0.5);
        let ones = [1.0; 3];
        let refused = |changed: &str, array: ArrayViewD<'_, f64>, part: &str| {
            let mut arrays = BTreeMap::from([
                ("phi", phi.view().into_dyn()),
                ("sigma", phi.view().into_dyn()),
                ("factors", vector(&ones)),
                ("scale", vector(&ones)),
            ]);
            arrays.insert(changed, array);
            write_npz(&path, &arrays.into_iter().collect::<Vec<_>>()).unwrap();
            let message = Coefficients::read(&path).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains(changed), "{message}");
        };
        refused("sigma", (-&phi).view().into_dyn(), "positive");
        refused("sigma", phi.t().into_dyn(), "[2, 3]");
        refused("scale", vector(&ones[..2]), "3 numbers");
        refused("factors", vector(&[1.0, f64::NAN, 1.0]), "finite");
        write_npz(&path, &[("input", phi.view().into_dyn())]).unwrap();
        assert!(Coefficients::read(&path).unwrap_err().to_string().contains("`output`"));
    }
}
