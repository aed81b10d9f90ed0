//! Figures drawn from result tables, as SVG and PNG.
//!
//! ```text
//! results/…/*.csv ─▶ chart ─▶ frame (sizes, axes) ─▶ draw, with the marks of a FigureKind,
//!                    on a Canvas ─▶ output: SVG, PNG
//! ```

mod axis;
mod bars;
mod canvas;
mod chart;
mod dots;
mod draw;
mod draw_all;
mod font;
mod frame;
mod kind;
mod legend;
mod lines;
mod marks;
mod matrices;
mod output;
mod surface;
mod theme;
mod trade_off;
mod workload_columns;

pub use axis::{Axis, Tick};
pub use bars::Bars;
pub use canvas::{Align, Canvas, Lettering, Point, Shape};
pub use chart::{Mark, Panel};
pub use dots::Dots;
pub use draw_all::draw_all;
pub use frame::{Area, Categories, Frame};
pub use kind::{Figure, FigureKind, Sample};
pub use legend::{Entry, Key};
pub use lines::Lines;
pub use marks::{SeriesStyle, dot, inside, published_ring, series_style, whisker};
pub use matrices::Matrices;
pub use theme::{Form, XAxis};
pub use trade_off::TradeOff;
