//! The embedded font, its text widths, and line breaks.

use std::sync::OnceLock;

use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};

use crate::error::{Error, Result};

/// The embedded font (see `assets/fonts`).
pub const FAMILY: &str = "DejaVu Sans";
/// The font's ascent plus descent, in em: plotters measures text in this unit.
const LINE_HEIGHT: f64 = 1.164;
/// The embedded font, regular.
pub(super) static REGULAR: &[u8] = include_bytes!("../../assets/fonts/DejaVuSans.ttf");
/// The embedded font, bold.
pub(super) static BOLD: &[u8] = include_bytes!("../../assets/fonts/DejaVuSans-Bold.ttf");

/// Registers the embedded font with plotters, once per process.
///
/// # Errors
/// The embedded files are not fonts.
pub fn register_fonts() -> Result<()> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        [(FontStyle::Normal, REGULAR), (FontStyle::Bold, BOLD)]
            .into_iter()
            .all(|(style, bytes)| register_font(FAMILY, style, bytes).is_ok())
    });
    if *registered {
        Ok(())
    } else {
        Err(Error::bug(format!("the embedded font {FAMILY}"), "a valid font", "an invalid file"))
    }
}

/// Returns the width of a text, in em.
#[must_use]
pub fn text_width(text: &str, bold: bool) -> f64 {
    // A large size, because plotters rounds to whole pixels.
    const EM: f64 = 1000.0;
    FontDesc::new(FontFamily::Name(FAMILY), EM * LINE_HEIGHT, style(bold))
        .layout_box(text)
        .map_or(0.6 * text.chars().count() as f64, |((left, _), (right, _))| {
            f64::from(right - left) / EM
        })
}

/// Breaks a text at spaces into lines of at most `max_width`; longer words are not broken.
#[must_use]
pub fn wrap(text: &str, em: f64, bold: bool, max_width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), bold) * em <= max_width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

pub(super) fn style(bold: bool) -> FontStyle {
    if bold { FontStyle::Bold } else { FontStyle::Normal }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_come_from_the_embedded_font() {
        register_fonts().unwrap();
        // Advance widths in the tables of the font: i = 569, W = 2025 of 2048 units.
        assert!((text_width("i", false) - 569.0 / 2048.0).abs() < 2e-3);
        assert!((text_width("W", false) - 2025.0 / 2048.0).abs() < 2e-3);
        assert!(text_width("sampled queries", true) > text_width("sampled queries", false));
    }
}
