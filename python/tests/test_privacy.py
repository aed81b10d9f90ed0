"""`noise_multiplier`: parity with the command, and the forms of a strategy."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

import matmech
from common import TestCase, command


class NoiseMultiplier(TestCase):
    def test_it_has_the_reports_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "C.npy")
            np.save(file, np.tril(2 / (1 + np.arange(16))[:, None] + np.eye(16)))
            noise = Path(folder, "noise.npz")
            matmech.stream("prefix:16", participation="epochs:4", buffers=2).write(noise)
            for strategy in [file, noise, "wavelet", "recurrence(buffers=2)"]:
                for given in [{"epsilon": 1.5, "delta": 1e-6}, {"sigma": 4.0, "delta": 1e-6},
                              {"sigma": 4.0, "epsilon": 1.0}]:
                    options = {"workload": "prefix:16", "participation": "epochs:4", **given}
                    words = [w for k, v in options.items() for w in (f"--{k}", v)]
                    expected = command("privacy", "--strategy", strategy, *words)
                    found = matmech.noise_multiplier(strategy, **options)
                    self.assert_same(found.report, expected)

    def test_arrays_and_coefficients_are_used_as_they_are(self):
        fitted = matmech.stream("prefix:24", participation="epochs:3", buffers=2)
        options = {"participation": "epochs:3", "epsilon": 1, "delta": 1e-6}
        of_coefficients = matmech.noise_multiplier(fitted, **options)
        of_matrix = matmech.noise_multiplier(fitted.matrix(), **options)
        self.assertAlmostEqual(of_coefficients.sigma, of_matrix.sigma, places=6)
        self.assertAlmostEqual(of_coefficients.error, of_matrix.error, places=6)
        doubled = matmech.noise_multiplier(2 * fitted.matrix(), **options)
        self.assertAlmostEqual(doubled.sigma, 2 * of_matrix.sigma, places=6)
        self.assertAlmostEqual(doubled.error, of_matrix.error, places=6)
        self.assertFalse(of_matrix.scaled)

    def test_invalid_arguments_are_refused(self):
        identity = np.eye(4)
        for arguments, text in [
            ({"epsilon": 1}, "epsilon alone"),
            ({"sigma": float("nan"), "delta": 1e-6}, "standard deviation"),
            ({"epsilon": 1, "delta": 1e-6, "workload": "prefix:8"}, "8 steps"),
            ({"epsilon": 1, "delta": 1e-6, "participation": "epochs:3"}, "multiple of 3"),
        ]:
            with self.assertRaises(matmech.Error) as caught:
                matmech.noise_multiplier(identity, **arguments)
            self.assertIn(text, str(caught.exception))
        with self.assertRaises(matmech.BadInput) as caught:
            matmech.noise_multiplier(np.ones((3, 3)), epsilon=1, delta=1e-6)
        self.assertIn("above the diagonal", str(caught.exception))
        with self.assertRaises(TypeError):
            matmech.noise_multiplier("wavelet", epsilon=1, delta=1e-6)


if __name__ == "__main__":
    unittest.main()
