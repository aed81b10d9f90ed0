"""Workloads that are drawn at random, from their seeds.

The stream is ChaCha20 with a 64-bit block counter and the nonce 0. The key comes from the seed by
PCG32, as in `seed_from_u64` of Rust's rand_core 0.10. Integers, floating-point numbers, shuffles
and sets of indices are those of rand 0.10; normal and exponential numbers those of rand_distr 0.6.
The samplers are those of crates/core/src/workload/."""
import math
import numpy as np

BLOCKS = 2048  # that are computed together
MASK = 2 ** 64 - 1

def key_of(seed):
    """The key of ChaCha20: eight outputs of PCG32."""
    key = np.empty(8, np.uint32)
    for k in range(8):
        seed = (seed * 0x5851F42D4C957F2D + 0xA17654E46FBE17F3) & MASK
        x = (((seed >> 18) ^ seed) >> 27) & 0xFFFFFFFF
        turn = seed >> 59
        key[k] = (x >> turn | x << (-turn & 31)) & 0xFFFFFFFF
    return key

def mix(a, b, c, d):
    """The quarter round of ChaCha on four columns at once, in place."""
    shifted = np.empty_like(a)
    for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x += y
        z ^= x
        np.left_shift(z, turn, out=shifted)
        z >>= 32 - turn
        z |= shifted

def blocks_of(key, first, count):
    """The words of consecutive blocks of ChaCha20."""
    start = np.empty((16, count), np.uint32)
    start[:4] = np.frombuffer(b"expand 32-byte k", "<u4")[:, None]
    start[4:12] = key[:, None]
    counter = first + np.arange(count, dtype=np.uint64)
    start[12], start[13], start[14:] = counter & 0xFFFFFFFF, counter >> 32, 0
    a, b, c, d = start.reshape(4, 4, count).copy()
    for _ in range(10):
        mix(a, b, c, d)
        b, c, d = b[[1, 2, 3, 0]], c[[2, 3, 0, 1]], d[[3, 0, 1, 2]]
        mix(a, b, c, d)
        b, c, d = b[[3, 0, 1, 2]], c[[2, 3, 0, 1]], d[[1, 2, 3, 0]]
    return (np.concatenate([a, b, c, d]) + start).T.reshape(-1)

class Generator:
    """ChaCha20, and the numbers that rand derives from its words."""
    def __init__(self, seed):
        self.key, self.next_block, self.index = key_of(seed), 0, 0
        self.words = np.empty(0, np.uint32)

    def take(self, count):
        """The next 32-bit words."""
        parts = [self.words[self.index:self.index + count]]
        self.index += len(parts[0])
        missing = count - len(parts[0])
        while missing > 0:
            self.words = blocks_of(self.key, self.next_block, BLOCKS)
            self.next_block += BLOCKS
            parts.append(self.words[:missing])
            self.index = len(parts[-1])
            missing -= self.index
        return np.concatenate(parts)

    def u32(self):
        if self.index == len(self.words):
            return int(self.take(1)[0])
        self.index += 1
        return int(self.words[self.index - 1])

    def u64(self):
        low = self.u32()
        return self.u32() << 32 | low

    def u64s(self, count):
        pairs = self.take(2 * count).reshape(-1, 2).astype(np.uint64)
        return pairs[:, 1] << np.uint64(32) | pairs[:, 0]

    def unit(self):
        """A number in [0, 1) with 53 bits."""
        return (self.u64() >> 11) / 2 ** 53

    def fraction(self):
        """A number in [0, 1) with 52 bits."""
        return (self.u64() >> 12) / 2 ** 52

    def bools(self, count, probability=0.5):
        return self.u64s(count) < np.uint64(int(probability * 2 ** 64))

    def integer(self, low, high):
        """An integer from low to high, both included, below 2³² (Canon's method)."""
        size = high - low + 1
        product = self.u32() * size
        result, rest = product >> 32, product & 0xFFFFFFFF
        if rest > 2 ** 32 - size:
            result += rest + (self.u32() * size >> 32) >= 2 ** 32
        return low + result

    def indices(self, length, count):
        """Distinct indices below length (Floyd's method, which rand uses for fewer than 12)."""
        assert count < 12, "rand samples many indices by another method"
        found = []
        for j in range(length - count, length):
            t = self.integer(0, j)
            if t in found:
                found[found.index(t)] = j
            found.append(t)
        return found

    def permutation(self, length):
        """A shuffled range (Durstenfeld); one integer has the indices of several exchanges."""
        order, chunk, left = list(range(length)), 0, 1
        for i in range(length):
            if left == 0:
                bound, left = i + 1, 1
                while bound * (i + 1 + left) < 2 ** 32:
                    bound, left = bound * (i + 1 + left), left + 1
                chunk = self.integer(0, bound - 1)
            left -= 1
            j, chunk = (chunk, 0) if left == 0 else (chunk % (i + 1), chunk // (i + 1))
            order[i], order[j] = order[j], order[i]
        return np.array(order)

    def ziggurat(self, table, symmetric, density, tail):
        """A number by the ziggurat method of Marsaglia and Tsang, in Doornik's variant."""
        while True:
            bits = self.u64()
            i, fraction = bits & 255, (bits >> 12) / 2 ** 52
            u = 2 * fraction - 1 if symmetric else fraction + 2.0 ** -53
            x = u * table[i]
            if abs(x) < table[i + 1]:
                return x
            if i == 0:
                return tail(u)
            low, high = density(table[i]), density(table[i + 1])
            if high + (low - high) * self.unit() < density(x):
                return x

    def normal(self):
        def tail(u):
            x, y = 1.0, 0.0
            while -2 * y < x * x:
                x = math.log(self.fraction() + 2.0 ** -53) / NORMAL_END
                y = math.log(self.fraction() + 2.0 ** -53)
            return x - NORMAL_END if u < 0 else NORMAL_END - x
        return self.ziggurat(NORMAL, True, NORMAL_DENSITY, tail)

    def exponential(self):
        tail = lambda u: EXPONENTIAL_END - math.log(self.unit())
        return self.ziggurat(EXPONENTIAL, False, EXPONENTIAL_DENSITY, tail)

def ziggurat_table(end, area, density, inverse):
    """The abscissae of 256 layers of equal area; the lowest layer includes the tail from `end`."""
    table = [area / density(end), end]
    for _ in range(254):
        table.append(inverse(area / table[-1] + density(table[-1])))
    return table + [0.0]

NORMAL_END, EXPONENTIAL_END = 3.654152885361008796, 7.697117470131050077
NORMAL_DENSITY, EXPONENTIAL_DENSITY = lambda x: math.exp(-x * x / 2), lambda x: math.exp(-x)
NORMAL = ziggurat_table(
    NORMAL_END, NORMAL_END * NORMAL_DENSITY(NORMAL_END)
    + math.sqrt(math.pi / 2) * math.erfc(NORMAL_END / math.sqrt(2)),
    NORMAL_DENSITY, lambda y: math.sqrt(-2 * math.log(y)))
EXPONENTIAL = ziggurat_table(
    EXPONENTIAL_END, (EXPONENTIAL_END + 1) * EXPONENTIAL_DENSITY(EXPONENTIAL_END),
    EXPONENTIAL_DENSITY, lambda y: -math.log(y))

# Samplers. Ranges are pairs of arrays, queries × attributes: first and last values.
def gram_of_ranges(shape, low, high):
    """The Gram matrix of ranges over the row-major cells of a box."""
    gram = 0
    for first in range(0, len(low), 4096):
        rows = np.ones((len(low[first:first + 4096]), 1), np.float32)
        for axis, n in enumerate(shape):
            inside = (low[first:first + 4096, axis, None] <= np.arange(n)) \
                & (np.arange(n) <= high[first:first + 4096, axis, None])
            rows = (rows[:, :, None] * inside[:, None, :]).reshape(len(rows), -1)
        gram = gram + (rows.T @ rows).astype(float)  # counts below 2²⁴ are exact
    return gram

def biased_ranges(n, queries, bias, seed):
    """Distinct ranges over n cells with the largest keys ln weight + Gumbel."""
    low, high = np.triu_indices(n)
    half = (n - 1) / 2
    distance = abs((low + high) / 2 - half) / half if half else 0.0 * low
    uniform = (Generator(seed).u64s(len(low)) >> np.uint64(11)) / 2.0 ** 53
    with np.errstate(divide="ignore"):
        keys = bias * (distance - 1) - np.log(-np.log(1 - uniform))
    chosen = np.argsort(-keys, kind="stable")[:queries]
    return low[chosen, None], high[chosen, None]

def covering_ranges(shape, queries, coverage, seed):
    """Independent ranges that cover about a share of the cells."""
    source = Generator(seed)
    low, high = np.empty((2, queries, len(shape)), int)
    for q in range(queries):
        if len(shape) == 1:
            spread = min(0.05, coverage / 2)
            shares = [min(source.fraction() * (spread + spread) - spread + coverage, 1.0)]
        else:
            volume = min(coverage * math.exp(0.1 * source.normal()), 1.0)
            parts = [source.exponential() for _ in shape]
            shares = [volume ** (part / sum(parts)) for part in parts]
        for axis, (n, share) in enumerate(zip(shape, shares)):
            length = min(max(math.floor(n * share + 0.5), 1), n)
            low[q, axis] = source.integer(0, n - length)
            high[q, axis] = low[q, axis] + length - 1
    return low, high

def two_step_ranges(shape, queries, seed):
    """Independent ranges: a random set of attributes, and a uniform interval on each of them."""
    source = Generator(seed)
    low = np.zeros((queries, len(shape)), int)
    high = np.tile(np.array(shape) - 1, (queries, 1))
    for q in range(queries):
        for axis in source.indices(len(shape), source.integer(1, len(shape))):
            n, start = shape[axis], 0
            k = source.integer(0, n * (n + 1) // 2 - 1)
            while k >= n - start:
                k, start = k - (n - start), start + 1
            low[q, axis], high[q, axis] = start, start + k
    return low, high

def gram_of_predicates(cells, queries, probability, seed):
    """The Gram matrix of queries that contain every cell with a probability."""
    source, gram = Generator(seed), np.zeros((cells, cells))
    for first in range(0, queries, 1000):
        count = min(1000, queries - first)
        rows = source.bools(count * cells, probability).reshape(count, cells).astype(np.float32)
        gram += rows.T @ rows
    return gram

def marginal_sets(attributes, count, seed):
    """Independent uniform nonempty sets of attributes, as lists of bools."""
    source, sets = Generator(seed), []
    while len(sets) < count:
        chosen = source.bools(attributes)
        if chosen.any():
            sets.append(chosen.tolist())
    return sets
