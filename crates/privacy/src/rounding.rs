//! Directed rounding of sums, products, quotients and roots, without overflow or underflow.

/// Returns the smallest double that is at least a + b.
pub(super) fn sum_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if error_of_sum(a, b, sum) > 0.0 { sum.next_up() } else { sum }
}

/// Returns the largest double that is at most a − b.
pub(super) fn difference_down(a: f64, b: f64) -> f64 {
    let difference = a - b;
    if error_of_sum(a, -b, difference) < 0.0 { difference.next_down() } else { difference }
}

/// Returns the smallest double that is at least a · b.
pub(super) fn product_up(a: f64, b: f64) -> f64 {
    let product = a * b;
    if a.mul_add(b, -product) > 0.0 { product.next_up() } else { product }
}

/// Returns the largest double that is at most a · b.
pub(super) fn product_down(a: f64, b: f64) -> f64 {
    let product = a * b;
    if a.mul_add(b, -product) < 0.0 { product.next_down() } else { product }
}

/// Returns the smallest double that is at least a / b, for b > 0.
pub(super) fn quotient_up(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    if quotient.mul_add(b, -a) < 0.0 { quotient.next_up() } else { quotient }
}

/// Returns the smallest double that is at least √x.
pub(super) fn root_up(x: f64) -> f64 {
    let root = x.sqrt();
    if root.mul_add(root, -x) < 0.0 { root.next_up() } else { root }
}

/// Returns the largest double that is at most √x.
pub(super) fn root_down(x: f64) -> f64 {
    let root = x.sqrt();
    if root.mul_add(root, -x) > 0.0 { root.next_down() } else { root }
}

/// Returns a + b − fl(a + b), exactly (Knuth's two-sum).
fn error_of_sum(a: f64, b: f64, sum: f64) -> f64 {
    let b_part = sum - a;
    let a_part = sum - b_part;
    (a - a_part) + (b - b_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::rng;
    use rand::RngExt;

    /// Returns a double as mantissa · 2^exponent with an integer mantissa of 53 bits.
    fn exact(x: f64) -> (i128, i32) {
        let bits = x.to_bits();
        ((bits & ((1 << 52) - 1) | 1 << 52) as i128, (bits >> 52 & 0x7ff) as i32 - 1075)
    }

    /// Compares two exact numbers m·2^e of at most 106 bits.
    fn compare((a, e): (i128, i32), (b, f): (i128, i32)) -> std::cmp::Ordering {
        let shift = (e - f).unsigned_abs();
        assert!(shift <= 20, "{shift}");
        if e >= f { (a << shift).cmp(&b) } else { a.cmp(&(b << shift)) }
    }

    /// Against exact integer arithmetic: products, quotients and roots lie on the requested side of
    /// the exact value, and the next double towards it lies on the other side.
    #[test]
    fn results_are_the_nearest_doubles_on_the_requested_side() {
        let mut rng = rng(3);
        for _ in 0..20_000 {
            let (a, b): (f64, f64) = (rng.random_range(1.0..2.0), rng.random_range(1.0..2.0));
            let ((ma, ea), (mb, eb)) = (exact(a), exact(b));
            // All operands fit 128 bits: a product has 53 + 53 bits, a scaled double 53 + 50.
            let product = (ma * mb, ea + eb);
            let scaled = |x: f64| {
                let (m, e) = exact(x);
                (m << 50, e - 50)
            };
            let (up, down) = (product_up(a, b), product_down(a, b));
            assert!(
                compare(scaled(up), product).is_ge()
                    && compare(scaled(up.next_down()), product).is_lt()
            );
            assert!(
                compare(scaled(down), product).is_le()
                    && compare(scaled(down.next_up()), product).is_gt()
            );
            let q = quotient_up(a, b);
            let times_b = |x: f64| {
                let (m, e) = exact(x);
                (m * mb, e + eb)
            };
            assert!(
                compare(times_b(q), scaled(a)).is_ge()
                    && compare(times_b(q.next_down()), scaled(a)).is_lt()
            );
            let square = |x: f64| {
                let (m, e) = exact(x);
                (m * m, 2 * e)
            };
            let (high, low) = (root_up(a), root_down(a));
            assert!(
                compare(square(high), scaled(a)).is_ge()
                    && compare(square(high.next_down()), scaled(a)).is_lt()
            );
            assert!(
                compare(square(low), scaled(a)).is_le()
                    && compare(square(low.next_up()), scaled(a)).is_gt()
            );
        }
    }
}
