//! Sizes of attributes as text.

/// Formats sizes: `[16, 8, 8]` as `16x8x8`.
pub fn format_shape(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}
