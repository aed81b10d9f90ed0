//! Paragraphs, lists, tables and code.

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Plain text.
    Text(String),
    /// Important text.
    Strong(String),
    /// A name or a value as it is.
    Code(String),
}

/// Returns plain text.
pub fn text(text: impl Into<String>) -> Part {
    Part::Text(text.into())
}

/// Returns important text.
pub fn strong(text: impl Into<String>) -> Part {
    Part::Strong(text.into())
}

/// Returns a name or a value as it is.
pub fn code(text: impl Into<String>) -> Part {
    Part::Code(text.into())
}

/// A line of text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line(pub Vec<Part>);

impl Line {
    /// Appends parts.
    pub fn extend(&mut self, parts: impl IntoIterator<Item = Part>) {
        self.0.extend(parts);
    }
}

impl From<String> for Line {
    fn from(plain: String) -> Self {
        Line(vec![text(plain)])
    }
}

impl From<&str> for Line {
    fn from(plain: &str) -> Self {
        Line(vec![text(plain)])
    }
}

impl<const N: usize> From<[Part; N]> for Line {
    fn from(parts: [Part; N]) -> Self {
        Line(parts.into())
    }
}

/// A block of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// The title of the document.
    Title(Line),
    /// A heading.
    Heading(Line),
    /// A paragraph.
    Paragraph(Line),
    /// A list.
    List(Vec<Line>),
    /// A table.
    Table {
        /// The heading of every column, and whether its cells are numbers.
        columns: Vec<(String, bool)>,
        /// The rows, with a cell per column.
        rows: Vec<Vec<Line>>,
    },
    /// A file, as it is.
    Code {
        /// The language of the file.
        language: &'static str,
        /// The text of the file.
        text: String,
    },
}
