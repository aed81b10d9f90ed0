//! Independent standard normals of every step and coordinate.

use std::sync::LazyLock;

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::advance::{ChunkNormals, Normals};

/// Binary logarithm of the number of 32-bit words between the starts of two chains of a chunk.
const CHAIN_BITS: u32 = 24;

/// Binary logarithm of the number of 32-bit words between the starts of two chunks, for 2¹⁶ chains.
const CHUNK_BITS: u32 = 40;

/// Number of normals whose random words are drawn together. Words and normals fit into the
/// first-level cache.
const PIECE: usize = 1024;

/// Standard normals from ChaCha12, with the step as nonce. The counter of blocks starts at
/// `2³⁶·chunk + 2²⁰·chain`.
///
/// A normal depends on the key, the step, the chain and the coordinate only, so chunks are drawn in
/// any order, by any number of threads.
///
/// **No random word is used twice.** Steps have other nonces. The 2²⁰ blocks of a chain in a chunk
/// are 2²³ random numbers of 64 bits, for 8192 normals. A normal needs one, and 1.5 % of the normals
/// need more attempts; an attempt uses at most 3 numbers and fails with probability below 0.1. So
/// the words of a chain reach those of the next with probability below 2^(−2²³).
///
/// ChaCha12 is the generator of `StdRng` in `rand`. The best known attacks on ChaCha reach 7
/// rounds (Aumasson, Too much crypto, 2019). It takes .6 of the time of ChaCha20, and most of the
/// time of a step.
pub(super) struct ChaChaNormals {
    pub(super) key: [u8; 32],
}

impl Normals for ChaChaNormals {
    type Chunk = ChaChaChunk;

    fn chunk(&self, step: usize, index: usize) -> ChaChaChunk {
        let mut generator = ChaCha12Rng::from_seed(self.key);
        generator.set_stream(step as u64);
        ChaChaChunk { generator, start: (index as u128) << CHUNK_BITS }
    }
}

/// The normals of one chunk in one step, chain by chain.
pub(super) struct ChaChaChunk {
    generator: ChaCha12Rng,
    /// The position of its first word.
    start: u128,
}

impl ChunkNormals for ChaChaChunk {
    fn fill(&mut self, _first: usize, chain: usize, normals: &mut [f64]) {
        self.generator.set_word_pos(self.start + ((chain as u128) << CHAIN_BITS));
        let ziggurat = &*ZIGGURAT;
        let mut bytes = [0; 8 * PIECE];
        let mut rejected = [0; PIECE];
        for normals in normals.chunks_mut(PIECE) {
            // A whole piece, so that a normal does not depend on the number of coordinates.
            self.generator.fill_bytes(&mut bytes);
            let words = bytes.as_chunks().0;
            let count = ziggurat.accept(words, normals, &mut rejected);
            for &index in &rejected[..count] {
                let index = usize::from(index);
                let word = u64::from_le_bytes(words[index]);
                normals[index] = ziggurat.finish(word, &mut self.generator);
            }
        }
    }
}

/// The ziggurat of the density `f(x) = exp(−x²/2)`: 256 layers of equal area.
///
/// Layer i > 0 is the rectangle `[0, x_i] × [f(x_i), f(x_{i+1})]`, and layer 0 has the tail beyond
/// `x_1` next to `[0, x_1] × [0, f(x_1)]`. *Source*: Marsaglia and Tsang, The ziggurat method for
/// generating random variables, 2000; with independent bits for layer and value as in Doornik, An
/// improved ziggurat method to generate normal random samples, 2005.
struct Ziggurat {
    /// `x_0 = V/f(x_1)`, the width of a rectangle of the area of layer 0; `x_256 = 0`.
    edges: [f64; LAYERS + 1],
    /// `f(x_i)`.
    heights: [f64; LAYERS + 1],
}

const LAYERS: usize = 256;

/// `x_1`, the start of the tail.
const TAIL: f64 = 3.654_152_885_361_009;

/// The area of a layer, `x_1 f(x_1) + ∫ f` over the tail.
const AREA: f64 = 0.004928673233974655;

static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(Ziggurat::new);

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp()
}

/// Returns a number in (0, 1], a multiple of 2⁻⁵³.
fn uniform(generator: &mut impl Rng) -> f64 {
    ((generator.next_u64() >> 11) + 1) as f64 * (0.5 * f64::EPSILON)
}

impl Ziggurat {
    fn new() -> Self {
        let mut edges = [0.0; LAYERS + 1];
        edges[0] = AREA / density(TAIL);
        edges[1] = TAIL;
        for i in 2..LAYERS {
            let height = AREA / edges[i - 1] + density(edges[i - 1]);
            edges[i] = (-2.0 * height.ln()).sqrt();
        }
        Ziggurat { edges, heights: edges.map(density) }
    }

    /// Returns the layer of a random word, of its lowest 8 bits, and the value in it, uniform in
    /// `[−x_i, x_i)` with a resolution of `2⁻⁵¹ x_i`, of its highest 52 bits.
    #[inline(always)]
    fn candidate(&self, word: u64) -> (usize, f64) {
        let layer = (word & 0xff) as usize;
        // The bits of a number in [2, 4).
        let unit = f64::from_bits(word >> 12 | 2f64.to_bits()) - 3.0;
        (layer, unit * self.edges[layer])
    }

    /// Writes the candidates of random words, and the indices of those that are not below the next
    /// edge; returns the number of these.
    fn accept(&self, words: &[[u8; 8]], normals: &mut [f64], rejected: &mut [u16; PIECE]) -> usize {
        let mut count = 0;
        for (index, (normal, word)) in normals.iter_mut().zip(words).enumerate() {
            let (layer, x) = self.candidate(u64::from_le_bytes(*word));
            *normal = x;
            rejected[count % PIECE] = index as u16;
            count += usize::from(x.abs() >= self.edges[layer + 1]);
        }
        count
    }

    /// Returns a normal, with a random word as first attempt.
    #[cold]
    fn finish(&self, mut word: u64, generator: &mut impl Rng) -> f64 {
        loop {
            let (layer, x) = self.candidate(word);
            if x.abs() < self.edges[layer + 1] {
                return x;
            }
            if layer == 0 {
                return tail(generator).copysign(x);
            }
            let (low, high) = (self.heights[layer], self.heights[layer + 1]);
            if high + (low - high) * uniform(generator) < density(x) {
                return x;
            }
            word = generator.next_u64();
        }
    }
}

/// Returns a normal beyond `x_1`. *Source*: Marsaglia, Generating a variable from the tail of the
/// normal distribution, 1964.
fn tail(generator: &mut impl Rng) -> f64 {
    loop {
        let x = -uniform(generator).ln() / TAIL;
        if -2.0 * uniform(generator).ln() >= x * x {
            return TAIL + x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};
    use std::collections::HashSet;

    const NORMALS: ChaChaNormals = ChaChaNormals { key: [7; 32] };

    /// Oracle: the ziggurat of `rand_distr`, which reads the same words in the same order. A
    /// million normals reach all layers, their wedges and the tail.
    #[test]
    fn normals_are_those_of_another_ziggurat() {
        let (mut found, mut expected) =
            (ChaCha12Rng::seed_from_u64(1), ChaCha12Rng::seed_from_u64(1));
        let mut beyond = 0;
        for _ in 0..1_000_000 {
            let word = found.next_u64();
            let x = ZIGGURAT.finish(word, &mut found);
            let other: f64 = StandardNormal.sample(&mut expected);
            assert!((x - other).abs() < 1e-9, "{x} {other}");
            assert_eq!(found.get_word_pos(), expected.get_word_pos());
            beyond += usize::from(x.abs() > TAIL);
        }
        assert!((150..400).contains(&beyond), "{beyond}");
    }

    /// Many normals at once are those of one word each, the rejected ones with the next words.
    #[test]
    fn pieces_are_the_normals_of_their_words() {
        let mut chunk = NORMALS.chunk(3, 2);
        let start = chunk.start + (5 << CHAIN_BITS);
        let mut normals = [0.0; 2 * PIECE + 10];
        chunk.fill(0, 5, &mut normals);
        let mut generator = NORMALS.chunk(3, 2).generator;
        generator.set_word_pos(start);
        for piece in normals.chunks(PIECE) {
            let words: Vec<u64> = (0..PIECE).map(|_| generator.next_u64()).collect();
            let mut rejected = 0;
            for (&x, &word) in piece.iter().zip(&words) {
                let before = generator.get_word_pos();
                assert_eq!(x, ZIGGURAT.finish(word, &mut generator));
                rejected += usize::from(generator.get_word_pos() > before);
            }
            assert!(piece.len() < PIECE || (1..60).contains(&rejected), "{rejected}");
        }
        assert_eq!(generator.get_word_pos(), chunk.generator.get_word_pos());
    }

    /// The layers have equal areas: the last one, which closes the ziggurat at f(0) = 1.
    #[test]
    fn layers_have_equal_areas() {
        let Ziggurat { edges, heights } = &*ZIGGURAT;
        for i in 1..LAYERS {
            assert!((edges[i] * (heights[i + 1] - heights[i]) / AREA - 1.0).abs() < 1e-12, "{i}");
        }
    }

    /// The moments of a normal are 1, 3, 15 and 105, with variances 2, 96, 10170 and 2016000.
    #[test]
    fn moments_are_those_of_normals() {
        const COUNT: usize = 4_000_000;
        let mut normals = vec![0.0; COUNT];
        NORMALS.chunk(0, 0).fill(0, 0, &mut normals);
        for (k, (moment, variance)) in
            [(1.0, 2.0), (3.0, 96.0), (15.0, 10_170.0), (105.0, 2_016_000.0)].iter().enumerate()
        {
            let found =
                normals.iter().map(|x| x.powi(2 * k as i32 + 2)).sum::<f64>() / COUNT as f64;
            let deviation = f64::sqrt(variance / COUNT as f64);
            assert!((found - moment).abs() < 5.0 * deviation, "{k} {found}");
        }
        let mean = normals.iter().sum::<f64>() / COUNT as f64;
        assert!(mean.abs() < 5.0 / (COUNT as f64).sqrt(), "{mean}");
        let neighbours = normals.windows(2).map(|x| x[0] * x[1]).sum::<f64>() / COUNT as f64;
        assert!(neighbours.abs() < 5.0 / (COUNT as f64).sqrt(), "{neighbours}");
    }

    /// All words of steps, chunks and chains differ, and a chain uses a small part of its words.
    #[test]
    fn steps_chunks_and_chains_do_not_share_words() {
        let mut words = HashSet::new();
        for (step, index) in (0..3).flat_map(|step| (0..5).map(move |index| (step, index))) {
            let mut chunk = NORMALS.chunk(step, index);
            assert_eq!(chunk.start, (index as u128) << CHUNK_BITS);
            for chain in 0..3 {
                chunk.fill(0, chain, &mut [0.0; 8192]);
                let start = chunk.start + ((chain as u128) << CHAIN_BITS);
                let used = chunk.generator.get_word_pos() - start;
                assert!((16_384..20_000).contains(&used), "{used}");
                chunk.generator.set_word_pos(start);
                for _ in 0..used / 2 {
                    assert!(words.insert(chunk.generator.next_u64()), "{step} {index} {chain}");
                }
            }
        }
        let last = NORMALS.chunk(0, 0).start + ((1u128 << 16) << CHAIN_BITS);
        assert_eq!(NORMALS.chunk(0, 1).start, last, "65,536 chains per chunk");
    }
}
