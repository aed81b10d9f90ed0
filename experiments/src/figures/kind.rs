//! The interface of kinds of figures.

use super::canvas::{Canvas, Point};
use super::chart::Panel;
use super::frame::{Area, Frame};
use super::theme::Form;
use crate::config::{Config, FigureSpec};
use crate::error::{Error, Result};

/// Position and type of a sample in the legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Left end.
    pub left: f64,
    /// Right end.
    pub right: f64,
    /// Vertical position.
    pub y: f64,
    /// Whether the series belongs to the second y axis.
    pub on_second: bool,
    /// Whether the series is a line without markers.
    pub unmarked: bool,
}

impl Sample {
    /// Returns the centre.
    #[must_use]
    pub fn middle(self) -> Point {
        ((self.left + self.right) / 2.0, self.y)
    }
}

/// A kind of figure: one file that implements this trait, and one line in [`crate::registry`].
///
/// Axes, grid, titles, panels and legend are the same for all kinds.
pub trait FigureKind: std::fmt::Debug + Send + Sync {
    /// Returns the name in configs.
    fn name(&self) -> &'static str;

    /// Refuses keys of a `[[figure]]` table that this kind does not support.
    ///
    /// # Errors
    /// An unsupported key, relative to the table.
    fn check(&self, spec: &FigureSpec) -> Result<()>;

    /// Returns the properties that determine axes and legend.
    fn form(&self) -> Form;

    /// Draws the sample of a series for the legend.
    ///
    /// # Errors
    /// A failure of the canvas.
    fn sample(&self, canvas: &dyn Canvas, series: usize, at: Sample) -> Result<()>;

    /// Draws the data of one panel.
    ///
    /// # Errors
    /// A failure of the canvas.
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
    /// The entry of the config.
    pub spec: &'f FigureSpec,
    /// Its kind.
    pub kind: &'f dyn FigureKind,
}

impl<'f> Figure<'f> {
    /// Finds the kinds of all figures of a config.
    ///
    /// # Errors
    /// Unknown kinds, or keys that they do not support, of all figures.
    pub fn all_of(config: &'f Config, kinds: &'f [Box<dyn FigureKind>]) -> Result<Vec<Self>> {
        let (figures, errors) = Self::usable(config, kinds);
        Error::all(errors).map(|()| figures)
    }

    /// Finds the kinds of the figures of a config, and returns the errors of the others.
    pub fn usable(config: &'f Config, kinds: &'f [Box<dyn FigureKind>]) -> (Vec<Self>, Vec<Error>) {
        let (mut figures, mut errors) = (Vec::new(), Vec::new());
        for (index, spec) in config.figure.iter().enumerate() {
            let kind = kinds.iter().find(|kind| kind.name() == spec.kind).map(AsRef::as_ref);
            let checked = match kind {
                Some(kind) => kind.check(spec).map(|()| Self { spec, kind }),
                None => {
                    let known: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                    Err(Error::unknown_name("kind", "kind of figure", &spec.kind, &known))
                }
            };
            match checked {
                Ok(figure) => figures.push(figure),
                Err(error) => {
                    errors.push(config.located(error.under(&format!("figure[{index}]"))));
                }
            }
        }
        (figures, errors)
    }
}
