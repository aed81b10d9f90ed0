//! A figure as SVG and as PNG, from the same drawing code.

use maud::html;
use plotters::backend::{BitMapBackend, SVGBackend};
use plotters::drawing::IntoDrawingArea;

use super::chart::Chart;
use super::draw;
use super::font::{FAMILY, register_fonts};
use super::kind::Figure;
use super::surface::{Surface, TextPlacement, undrawn};
use super::theme::SIZE;
use crate::error::{Error, Result};

/// Backend units per unit of the figure; plotters rounds positions to whole units.
const SVG_SCALE: u32 = 4;
/// Pixels that are averaged to one, per direction, for smooth edges.
const OVERSAMPLING: u32 = 3;

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
    {
        let area = SVGBackend::with_string(&mut drawing, (width * SVG_SCALE, height * SVG_SCALE))
            .into_drawing_area();
        draw::figure(
            &Surface::new(&area, f64::from(SVG_SCALE), TextPlacement::SVG),
            figure,
            chart,
        )?;
        area.present().map_err(undrawn)?;
    }
    let size =
        |scale: u32| format!("width=\"{}\" height=\"{}\" viewBox", width * scale, height * scale);
    // SVG has the named entities of HTML for the escaped characters.
    let title = html! { (figure.spec.title) }.into_string();
    let described =
        format!("xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{title}\">");
    Ok(drawing
        .replacen(&size(SVG_SCALE), &size(1), 1)
        .replacen("xmlns=\"http://www.w3.org/2000/svg\">", &described, 1)
        .replace(
            &format!("font-family=\"{FAMILY}\""),
            &format!("font-family=\"{FAMILY}, Verdana, Arial, sans-serif\""),
        ))
}

/// Returns the figure as PNG.
///
/// # Errors
/// A failure of the backend or of the encoder.
pub fn png(figure: Figure<'_>, chart: &Chart) -> Result<Vec<u8>> {
    register_fonts()?;
    let (width, height) = SIZE;
    let fine = (width * OVERSAMPLING, height * OVERSAMPLING);
    let mut pixels = vec![0u8; 3 * fine.0 as usize * fine.1 as usize];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, fine).into_drawing_area();
        draw::figure(
            &Surface::new(&area, f64::from(OVERSAMPLING), TextPlacement::BITMAP),
            figure,
            chart,
        )?;
        area.present().map_err(undrawn)?;
    }
    let averaged = average(&pixels, width as usize, height as usize, OVERSAMPLING as usize);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Best);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&averaged))
        .map_err(|error| Error::bug("a figure as PNG", "an image that can be encoded", error))?;
    Ok(bytes)
}

/// Averages squares of `factor` × `factor` pixels.
fn average(pixels: &[u8], width: usize, height: usize, factor: usize) -> Vec<u8> {
    let mut averaged = Vec::with_capacity(3 * width * height);
    let row_length = 3 * width * factor;
    let count = factor * factor;
    for rows in pixels.chunks_exact(row_length * factor).take(height) {
        for x in 0..width {
            for channel in 0..3 {
                let sum: usize = rows
                    .chunks_exact(row_length)
                    .flat_map(|row| {
                        (0..factor).map(move |dx| usize::from(row[3 * (x * factor + dx) + channel]))
                    })
                    .sum();
                averaged.push(((sum + count / 2) / count) as u8);
            }
        }
    }
    averaged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_squares_per_channel() {
        // Two squares of 2 × 2 pixels side by side.
        let white = [255, 255, 255];
        let red = [255, 0, 0];
        let rows = [[white, red, red, red], [white, white, red, red]];
        let pixels: Vec<u8> = rows.into_iter().flatten().flatten().collect();
        assert_eq!(average(&pixels, 2, 1, 2), [255, 191, 191, 255, 0, 0]);
    }
}
