"""`PrivateTraining`: batches, noise, refusals, states, and kinds of arrays."""

import collections
import copy
import importlib.util
import os
import pickle
import subprocess
import sys
import unittest

import numpy as np

import matmech
from common import ROOT, TestCase
from matmech import _matmech

ARGUMENTS = {"records": 23, "steps_per_epoch": 6, "epochs": 2, "epsilon": 2.0, "delta": 1e-6,
             "clip": 0.5, "buffers": 2, "participation": "fixed"}


def training(**changes):
    return matmech.PrivateTraining(**{**ARGUMENTS, **changes})


def run(run, sums=lambda step: np.zeros(3)):
    """Returns the batches and the noisy sums of the remaining steps."""
    start = run.step
    pairs = [(b, run.private(sums(start + t))) for t, b in enumerate(run.batches())]
    return [list(b) for b, _ in pairs], [s for _, s in pairs]


class Batches(TestCase):
    def test_fixed_batches_are_the_same_in_every_epoch(self):
        batches, _ = run(training())
        self.assertEqual(len(batches), 12)
        self.assertEqual(batches[:6], batches[6:])
        self.assertEqual(sorted(sum(batches[:6], [])), list(range(23)))
        self.assertEqual(sorted(map(len, batches[:6])), [3, 4, 4, 4, 4, 4])
        order = np.random.default_rng(0).permutation(23)
        given, _ = run(training(order=order))
        self.assertEqual(sum(given[:6], []), list(order))
        self.assertEqual(next(training().batches()).dtype, np.int64)

    def test_random_batches_vary_in_size(self):
        # The native part, with a given noise multiplier.
        fitted = matmech.stream("prefix:12", participation="epochs:2", buffers=2)
        sizes = set()
        for _ in range(20):
            native = _matmech.Training(fitted._coefficients, 23, 6, True, None, 1.0)
            batches = []
            for _ in range(12):
                batches.append(list(native.next_batch()))
                native.add_noise([np.zeros(1)])
            self.assertEqual(batches[:6], batches[6:])
            self.assertEqual(sorted(sum(batches[:6], [])), list(range(23)))
            sizes |= {len(batch) for batch in batches}
        self.assertGreater(len(sizes), 3)


class Noise(TestCase):
    def test_covariance_is_that_of_the_strategy(self):
        # Entries of the sample covariance of 20,000 coordinates are within six deviations of
        # (σ·clip)² C⁻¹C⁻ᵀ.
        fitted = matmech.stream("prefix:12", participation="epochs:2", buffers=2)
        private = training(strategy=fitted)
        count = 20_000
        _, sums = run(private, lambda step: np.zeros((count // 4, 4)))
        drawn = np.array(sums).reshape(12, count)
        inverse = np.linalg.inv(fitted.matrix()) * private.sigma * 0.5
        expected = inverse @ inverse.T
        deviation = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / count)
        self.assertLess(np.max(np.abs(drawn @ drawn.T / count - expected) / deviation), 6)

    def test_noise_and_batches_do_not_depend_on_gradients(self):
        # The neighbouring pair: from one state, runs with the gradients of a record and without
        # differ by these gradients only.
        state = training().state_dict()
        with_record = matmech.PrivateTraining.from_state_dict(state)
        without = matmech.PrivateTraining.from_state_dict(state)
        found = run(with_record, lambda step: np.full(3, 0.25 * (step % 6 == 2)))
        expected = run(without)
        self.assertEqual(found[0], expected[0])
        for step, (a, b) in enumerate(zip(found[1], expected[1])):
            np.testing.assert_allclose(a - b, 0.25 * (step % 6 == 2), rtol=0, atol=1e-12)

    def test_runs_differ(self):
        self.assertFalse(np.array_equal(run(training())[1], run(training())[1]))

    def test_structures_and_types_are_kept(self):
        Pair = collections.namedtuple("Pair", ["a", "b"])
        state = training().state_dict()
        flat = matmech.PrivateTraining.from_state_dict(state)
        nested = matmech.PrivateTraining.from_state_dict(state)
        next(flat.batches()), next(nested.batches())
        expected = flat.private(np.arange(9.0))
        pair = Pair(np.arange(4.0).reshape(2, 2).T, np.arange(4.0, 6))
        sums = {"z": [np.float32([7, 8])], "a": pair, "b": (np.array(6.0),)}
        before = copy.deepcopy(sums)
        noisy = nested.private(sums)
        self.assertEqual(list(noisy), ["z", "a", "b"])
        self.assertIsInstance(noisy["a"], Pair)
        np.testing.assert_array_equal(sums["a"].a, before["a"].a)
        # Sums of the same noise and other gradients: equal up to rounding.
        noise = expected[:4].reshape(2, 2) - np.arange(4.0).reshape(2, 2)
        np.testing.assert_allclose(noisy["a"].a - pair.a, noise, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(noisy["a"].b, expected[4:6])
        self.assertEqual((noisy["b"][0].shape, noisy["b"][0]), ((), expected[6]))
        self.assertEqual(noisy["z"][0].dtype, np.float32)
        np.testing.assert_array_equal(noisy["z"][0], expected[7:].astype(np.float32))

    def test_memory_layouts_of_numpy(self):
        state = training().state_dict()
        array = np.arange(12.0).reshape(3, 4)
        wide = np.repeat(array, 2, axis=1)[:, ::2]
        arrays = [array, np.asfortranarray(array), wide, array.astype(">f8")]
        noisy = []
        for array in arrays:
            one = matmech.PrivateTraining.from_state_dict(state)
            next(one.batches())
            noisy.append(one.private(array))
        for array in noisy[1:]:
            np.testing.assert_array_equal(array, noisy[0])

    def test_arrays_of_other_packages(self):
        # In another process: the threads of these packages do not survive the forks of other tests.
        packages = [name for name in PACKAGES if importlib.util.find_spec(name)]
        if not packages:
            self.skipTest("neither torch nor jax is installed")
        for name in packages:
            done = subprocess.run([sys.executable, "-c", KINDS + PACKAGES[name]], text=True,
                                  capture_output=True, timeout=300, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)


#: A step of a run for arrays of other packages.
KINDS = """
import matmech
def private(sums):
    training = matmech.PrivateTraining(records=23, steps_per_epoch=6, epochs=1, epsilon=2,
                                       delta=1e-6, clip=1.0, buffers=2, participation="fixed")
    next(training.batches())
    return training.private(sums)
"""

PACKAGES = {
    "torch": """
import torch
for dtype in [torch.float32, torch.float64]:
    sums = torch.ones(2, 3, dtype=dtype).T
    noisy = private({"w": sums})["w"]
    assert isinstance(noisy, torch.Tensor) and (noisy.dtype, noisy.shape) == (dtype, sums.shape)
    assert (sums == 1).all() and not (noisy == 1).any()
for other in [torch.ones(2, dtype=torch.float16), torch.ones(2, requires_grad=True)]:
    try:
        private(other)
        raise SystemExit("not refused")
    except matmech.BadInput:
        pass
print("done")
""",
    "jax": """
import jax, jax.numpy as jnp
for shape in [(), (5,), (2, 3)]:
    sums = jnp.ones(shape, dtype=jnp.float32)
    noisy = private([sums])[0]
    assert isinstance(noisy, jax.Array) and (noisy.dtype, noisy.shape) == (jnp.float32, shape)
    assert (sums == 1).all() and not (noisy == 1).any()
print("done")
""",
}


class Order(TestCase):
    def assert_refused(self, text, call):
        with self.assertRaises(matmech.BadInput) as caught:
            call()
        self.assertIn(text, str(caught.exception))
        self.assertIn("remedy", str(caught.exception))

    def test_steps_out_of_order_are_refused(self):
        private = training()
        self.assert_refused("a batch before it", lambda: private.private(np.zeros(3)))
        batches = private.batches()
        for step in range(12):
            next(batches)
            self.assert_refused("once per batch", lambda: next(private.batches()))
            if step:
                self.assert_refused("as in the first step", lambda: private.private(np.zeros(4)))
                self.assert_refused(
                    "as in the first step", lambda: private.private(np.zeros(3, np.float32)))
            batches = private.batches()
            # The refused step gets its noise.
            private.private(np.zeros(3))
            self.assert_refused("a batch before it", lambda: private.private(np.zeros(3)))
        self.assertEqual(list(batches), [])
        self.assert_refused("a second use", private.batches)
        self.assertEqual(private.step, 12)

    def test_invalid_arguments_are_refused(self):
        for changes, text in [
            ({"records": 0}, "records"), ({"records": 2.5}, "records"),
            ({"records": 5}, "at least 6 records"), ({"steps_per_epoch": 0}, "steps_per_epoch"),
            ({"clip": 0.0}, "clip"), ({"clip": float("nan")}, "clip"),
            ({"participation": "poisson"}, "participation"), ({"order": [0, 1]}, "order"),
            ({"order": np.zeros(23)}, "vector of integers"),
            ({"participation": "random", "order": range(23)}, "none with participation random"),
            ({"strategy": matmech.stream("prefix:8", buffers=2)}, "12 steps"),
        ]:
            with self.subTest(changes=changes):
                self.assert_refused(text, lambda: training(**changes))
        for changes in [{"epsilon": 0.0}, {"delta": 1.0}, {"epsilon": float("nan")}]:
            with self.assertRaises(matmech.InvalidBudget):
                training(**changes)
        private = training()
        next(private.batches())
        for sums in [3.0, "text", np.arange(3), np.zeros(3, np.float16), [np.zeros(2), None]]:
            self.assert_refused("sum", lambda: private.private(sums))

    def test_copies_and_pickles_are_refused(self):
        private = training()
        for call in [pickle.dumps, copy.copy, copy.deepcopy]:
            with self.assertRaises(TypeError) as caught:
                call(private)
            self.assertIn("state_dict", str(caught.exception))
        with self.assertRaises(TypeError):
            pickle.dumps(private._training)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_copy_of_the_process_is_refused(self):
        private = training()
        batches = private.batches()
        next(batches)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            outcome = []
            for call in [lambda: private.private(np.zeros(3)), private.state_dict,
                         lambda: next(private.batches())]:
                try:
                    call()
                    outcome.append("drawn")
                except matmech.BadInput as error:
                    outcome.append(str(error).split("\n")[0])
                except BaseException as error:
                    outcome.append(repr(error))
            os.write(writer, "\n".join(outcome).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            lines = pipe.read().decode().split("\n")
        os.waitpid(child, 0)
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.assertIn("the process that created it", line)


class State(TestCase):
    def test_runs_resume_bit_for_bit(self):
        private, sums = training(), lambda step: np.arange(3.0) * step
        middle = None
        for step, batch in enumerate(private.batches()):
            # With a batch without noise, which is returned again.
            state = pickle.loads(pickle.dumps(private.state_dict()))
            resumed = training()
            resumed.load_state_dict(state)
            self.assertEqual(resumed.step, step)
            np.testing.assert_array_equal(next(resumed.batches()), batch)
            noisy = private.private(sums(step))
            np.testing.assert_array_equal(resumed.private(sums(step)), noisy)
            if step == 4:
                middle = resumed
                rest = []
            elif step > 4:
                rest.append((list(batch), list(noisy)))
        batches, noisy = run(middle, sums)
        self.assertEqual(len(rest), 7)
        self.assertEqual([(b, list(s)) for b, s in zip(batches, noisy)], rest)

    def test_other_states_are_refused(self):
        state = training().state_dict()
        with self.assertRaises(matmech.BadInput) as caught:
            training(clip=0.25).load_state_dict(state)
        self.assertIn("arguments", str(caught.exception))
        used = training()
        next(used.batches())
        used.private(np.zeros(3))
        with self.assertRaises(matmech.BadInput) as caught:
            used.load_state_dict(state)
        self.assertIn("without a step", str(caught.exception))
        for load in [training().load_state_dict, matmech.PrivateTraining.from_state_dict]:
            with self.assertRaises(matmech.BadInput) as caught:
                load({**state, "version": 1})
            self.assertIn("version 2", str(caught.exception))
        later = used.state_dict()
        damaged = {**later["training"], "buffers": later["training"]["buffers"][:-1]}
        with self.assertRaises(matmech.BadInput):
            matmech.PrivateTraining.from_state_dict({**later, "training": damaged})


class Statement(TestCase):
    def test_numbers_are_those_of_noise_multiplier(self):
        fitted = matmech.stream("prefix:12", participation="epochs:2", buffers=2)
        found = matmech.noise_multiplier(
            fitted, workload="prefix:12", participation="epochs:2", epsilon=2.0, delta=1e-6)
        for private in [training(), training(strategy=fitted)]:
            data = private.statement_data()
            for name in ["sigma", "epsilon", "delta", "failure_probability", "method",
                         "participation"]:
                self.assertEqual(data[name], getattr(found, name), name)
            self.assertEqual(data["noise_deviation"], 0.5 * found.sigma)
            self.assertEqual((data["divisor"], private.divisor), (23 / 6, 23 / 6))
            self.assertEqual(private.guarantee().error, found.error)
            text = private.statement()
            for part in ["(2, 1e-06)", repr(found.sigma), "Gaussian, exact", "clip", "epochs:2"]:
                self.assertIn(part, text)
        self.assertEqual(training(epochs=1).statement_data()["participation"], "single")


class RandomAllocation(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fitted = matmech.stream("prefix:12", participation="random:2", buffers=2, epsilon=2.0,
                                    delta=1e-6)

    def allocated(self, **changes):
        return training(records=600, participation="random", **changes)

    def test_sigma_and_statement_are_those_of_random_allocation(self):
        private = self.allocated(epsilon=1.0)
        fitted = matmech.stream("prefix:12", participation="random:2", buffers=2, epsilon=1.0,
                                delta=1e-6)
        found = matmech.noise_multiplier(fitted, workload="prefix:12", participation="random:2",
                                         epsilon=1.0, delta=1e-6)
        data = private.statement_data()
        for name in ["sigma", "epsilon", "delta", "failure_probability", "method"]:
            self.assertEqual(data[name], getattr(found, name), name)
        self.assertEqual(data["participation"], "random:2")
        self.assertEqual(data["divisor"], 100.0)
        for part in ["one record is added or removed", "one of 6 batches uniformly", "secret"]:
            self.assertIn(part, private.statement())
        # Amplification: a smaller error than in a fixed order, at the same guarantee.
        self.assertLess(private.guarantee().error, training(epsilon=1.0).guarantee().error)

    def test_batches_are_allocated_at_random_and_runs_resume(self):
        private = self.allocated(strategy=self.fitted)
        state = private.state_dict()
        batches, sums = run(private)
        self.assertEqual(batches[:6], batches[6:])
        self.assertEqual(sorted(sum(batches[:6], [])), list(range(600)))
        self.assertGreater(len({len(batch) for batch in batches}), 1)
        resumed = matmech.PrivateTraining.from_state_dict(state)
        again, same = run(resumed)
        self.assertEqual(again, batches)
        np.testing.assert_array_equal(same, sums)
        other, _ = run(self.allocated(strategy=self.fitted))
        self.assertNotEqual(other, batches)

    def test_a_given_strategy_is_calibrated_for_random_allocation(self):
        fitted = self.fitted
        private = self.allocated(strategy=fitted)
        expected = matmech.noise_multiplier(fitted, workload="prefix:12", epsilon=2.0, delta=1e-6,
                                            participation="random:2")
        self.assertEqual(private.sigma, expected.sigma)


class Examples(unittest.TestCase):
    def run_example(self, name, *packages):
        missing = [p for p in packages if not importlib.util.find_spec(p)]
        if missing:
            self.skipTest(f"{name}: no {', '.join(missing)}")
        done = subprocess.run([sys.executable, ROOT / "examples" / name], capture_output=True,
                              text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        accuracy = float(done.stdout.split("accuracy ")[1].split()[0])
        self.assertGreater(accuracy, 0.85, done.stdout)

    def test_numpy(self):
        self.run_example("private_training_numpy.py")

    def test_torch(self):
        self.run_example("private_training_torch.py", "torch")

    def test_optax(self):
        self.run_example("private_training_optax.py", "jax", "optax")


if __name__ == "__main__":
    unittest.main()
