//! A figure as SVG, and an SVG as PNG.

use maud::html;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::chart::Chart;
use super::draw;
use super::font::{BOLD, FAMILY, REGULAR, register_fonts};
use super::kind::Figure;
use super::surface::{SCALE, Surface};
use super::theme::SIZE;
use crate::error::{Error, Result};

/// Returns the figure as SVG.
///
/// Texts use the embedded font, with fonts of nearly the same widths as fallback.
///
/// # Errors
/// A failure of the backend.
pub fn svg(figure: Figure<'_>, chart: &Chart) -> Result<String> {
    register_fonts()?;
    let (width, height) = SIZE;
    let mut drawing = String::new();
    let surface = Surface::new(&mut drawing);
    draw::figure(&surface, figure, chart)?;
    surface.finish()?;
    let size =
        |scale: u32| format!("width=\"{}\" height=\"{}\" viewBox", width * scale, height * scale);
    // SVG has the named entities of HTML for the escaped characters.
    let title = html! { (figure.spec.title) }.into_string();
    let described =
        format!("xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{title}\">");
    Ok(drawing
        .replacen(&size(SCALE), &size(1), 1)
        .replacen("xmlns=\"http://www.w3.org/2000/svg\">", &described, 1)
        .replace(
            &format!("font-family=\"{FAMILY}\""),
            &format!("font-family=\"{FAMILY}, Verdana, Arial, sans-serif\""),
        ))
}

/// Returns an SVG as PNG of the same size.
///
/// Texts use the embedded font only, so the image is the same on every machine.
///
/// # Errors
/// An invalid SVG, or a failure of the encoder.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let mut options = Options::default();
    for font in [REGULAR, BOLD] {
        options.fontdb_mut().load_font_data(font.to_vec());
    }
    let tree = Tree::from_str(svg, &options).map_err(unencoded)?;
    let size = tree.size().to_int_size();
    let mut image = Pixmap::new(size.width(), size.height())
        .ok_or_else(|| unencoded("a size without an image"))?;
    resvg::render(&tree, Transform::identity(), &mut image.as_mut());
    image.encode_png().map_err(unencoded)
}

fn unencoded(error: impl std::fmt::Display) -> Error {
    Error::bug("a figure as PNG", "an SVG that can be drawn", error)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn svg_of(weight: &str, text: char) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"40\">\
             <text x=\"10\" y=\"30\" font-family=\"{FAMILY}, sans-serif\" font-size=\"24\" \
             font-weight=\"{weight}\">{text}</text></svg>"
        )
    }

    /// A character without a glyph would look like another one, or like a space.
    #[test]
    fn every_character_is_drawn_and_looks_different() {
        let characters = " Aεσδ²–−×≤₁";
        let mut images = HashSet::new();
        for weight in ["normal", "bold"] {
            images.extend(characters.chars().map(|text| png(&svg_of(weight, text)).unwrap()));
        }
        // The spaces of both weights are equal.
        assert_eq!(images.len(), 2 * characters.chars().count() - 1);
    }

    #[test]
    fn an_svg_has_one_image_of_its_size() {
        let svg = svg_of("normal", 'ε');
        let bytes = png(&svg).unwrap();
        assert!(bytes == png(&svg).unwrap());
        let image = Pixmap::decode_png(&bytes).unwrap();
        assert_eq!((image.width(), image.height()), (60, 40));
        assert!(png("<svg").is_err());
    }
}
