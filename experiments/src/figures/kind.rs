//! What a kind of figure is.

use super::canvas::{Canvas, Point};
use super::chart::Panel;
use super::form::Form;
use super::frame::{Area, Frame};
use crate::config::{Config, FigureSpec};
use crate::error::{Error, Result};

/// Where the sample of an entry of the legend is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Left end.
    pub left: f64,
    /// Right end.
    pub right: f64,
    /// Height.
    pub y: f64,
    /// Whether the series belongs to the second y axis.
    pub on_second: bool,
    /// Whether the series is a line without marks.
    pub unmarked: bool,
}

impl Sample {
    /// The point in the middle.
    #[must_use]
    pub fn middle(self) -> Point {
        ((self.left + self.right) / 2.0, self.y)
    }
}

/// A kind of figure: one file that implements this, and one line in [`crate::registry`]. Axes,
/// grid, titles, panels and legend are the same for all kinds.
pub trait FigureKind: std::fmt::Debug + Send + Sync {
    /// The name in configs.
    fn name(&self) -> &'static str;

    /// Refuses keys of a `[[figure]]` table that mean nothing to this kind.
    ///
    /// # Errors
    /// The key, relative to the table, and what was expected there.
    fn check(&self, spec: &FigureSpec) -> Result<()>;

    /// What axes and legend must know of it.
    fn form(&self) -> Form;

    /// Draws the sample of a series for the legend.
    ///
    /// # Errors
    /// The canvas cannot be drawn on.
    fn sample(&self, canvas: &dyn Canvas, series: usize, at: Sample) -> Result<()>;

    /// Draws the data of one panel.
    ///
    /// # Errors
    /// The canvas cannot be drawn on.
    fn marks(
        &self,
        canvas: &dyn Canvas,
        frame: &Frame,
        area: Area,
        panel: &Panel,
        spec: &FigureSpec,
    ) -> Result<()>;
}

/// A figure of a config with its kind.
#[derive(Debug, Clone, Copy)]
pub struct Figure<'f> {
    /// What the config says.
    pub spec: &'f FigureSpec,
    /// Its kind.
    pub kind: &'f dyn FigureKind,
}

impl<'f> Figure<'f> {
    /// Finds the kinds of all figures of a config.
    ///
    /// # Errors
    /// A name of no kind, or keys that do not go with it.
    pub fn all_of(config: &'f Config, kinds: &'f [Box<dyn FigureKind>]) -> Result<Vec<Self>> {
        let figure = |(index, spec): (usize, &'f FigureSpec)| {
            let kind = kinds.iter().find(|kind| kind.name() == spec.kind).map(AsRef::as_ref);
            let checked = match kind {
                Some(kind) => kind.check(spec).map(|()| Self { spec, kind }),
                None => {
                    let known: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                    Err(Error::unknown_name("kind", "kind of figure", &spec.kind, &known))
                }
            };
            checked.map_err(|error| config.located(error.under(&format!("figure[{index}]"))))
        };
        config.figure.iter().enumerate().map(figure).collect()
    }
}
