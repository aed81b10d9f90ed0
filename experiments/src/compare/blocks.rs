//! The blocks of the report: plain data, which the HTML page renders too, and their Markdown.

use super::verdict::Verdict;

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The text; only the renderers know the characters that their format reserves.
    pub text: String,
    /// The style of the text.
    pub style: Style,
    /// The target of a link.
    pub target: Option<String>,
    /// The target in HTML, if it differs.
    pub page_target: Option<String>,
    /// The verdict whose colour the text has in HTML.
    pub verdict: Option<Verdict>,
}

/// The style of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Strong,
    Emphasis,
    Code,
}

/// Returns plain text.
pub(super) fn text(text: impl Into<String>) -> Part {
    Part { text: text.into(), style: Style::Plain, target: None, page_target: None, verdict: None }
}

/// Returns a name or a value as it is.
pub(super) fn code(name: impl Into<String>) -> Part {
    text(name).styled(Style::Code)
}

/// Returns text of the program, with names in backquotes.
pub(super) fn prose(sentences: &str) -> Text {
    let parts = sentences.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 0 { text(part) } else { code(part) }).collect()
}

/// Returns the name of a verdict in its colour.
pub(super) fn badge(verdict: Verdict) -> Part {
    Part { verdict: Some(verdict), ..text(verdict.name()) }
}

impl Part {
    /// Sets the style.
    pub(super) fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// Sets the target in HTML.
    pub(super) fn with_page_target(self, target: Option<String>) -> Self {
        Self { page_target: target, ..self }
    }

    /// Makes the part a link.
    pub(super) fn to(self, target: impl Into<String>) -> Self {
        Self { target: Some(target.into()), ..self }
    }
}

/// A line of text.
pub(super) type Text = Vec<Part>;

/// A block of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block<'r> {
    /// A heading of level 1 to 3; without an id, its target is that of its text.
    Heading { level: u8, id: Option<&'r str>, text: String },
    /// A paragraph.
    Paragraph(Text),
    /// A list.
    List(Vec<Text>),
    /// A table.
    Table(Table),
    /// A figure: a link to its file in Markdown, its drawing in HTML.
    Figure { title: &'r str, target: String, caption: &'r str, svg: &'r str },
    /// Blocks of the HTML page only.
    PageOnly(Vec<Block<'r>>),
    /// An explanation with the targets that lead to it, in HTML only.
    Explained { targets: Vec<String>, blocks: Vec<Block<'r>> },
}

impl Block<'_> {
    /// Returns a heading of the second level.
    pub(super) fn heading(text: impl Into<String>) -> Self {
        Block::Heading { level: 2, id: None, text: text.into() }
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// The name, in HTML.
    pub name: &'static str,
    /// The heading of every column, and whether its cells are numbers.
    pub columns: Vec<(Part, bool)>,
    /// The rows, with a cell per column; the first cell names the row.
    pub rows: Vec<Vec<Text>>,
    /// The last rows, which HTML shows on demand: their number and their summary.
    pub folded: Option<(usize, Text)>,
}

impl Table {
    /// Returns a table without rows. Columns whose names start with `#` are numbers.
    pub(super) fn new(name: &'static str, columns: &[&str]) -> Self {
        let column = |name: &&str| match name.strip_prefix('#') {
            Some(name) => (text(name), true),
            None => (text(*name), false),
        };
        let columns = columns.iter().map(column).collect();
        Self { name, columns, rows: Vec::new(), folded: None }
    }
}

/// Returns the target of a heading without an id, as GitHub derives it from the text.
pub(super) fn slug(text: &str) -> String {
    let kept = |character: &char| character.is_alphanumeric() || " -_".contains(*character);
    text.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

/// Returns the text of `COMPARISON.md`: the same results give the same file.
pub(super) fn as_markdown(blocks: &[Block<'_>]) -> String {
    let blocks = blocks
        .iter()
        .filter(|block| !matches!(block, Block::PageOnly(_) | Block::Explained { .. }));
    blocks.map(block).collect::<Vec<_>>().join("\n")
}

fn block(block: &Block<'_>) -> String {
    match block {
        Block::Heading { level, id, text } => {
            let anchor = id.map(|id| format!("<a id=\"{id}\"></a>\n\n")).unwrap_or_default();
            format!("{anchor}{} {}\n", "#".repeat(usize::from(*level)), escaped(text))
        }
        Block::Paragraph(text) => format!("{}\n", line(text)),
        Block::List(items) => items.iter().map(|item| format!("- {}\n", line(item))).collect(),
        Block::Table(table) => self::table(table),
        Block::Figure { title, target, caption, .. } => {
            let caption =
                if caption.is_empty() { "" } else { &format!("\n{}\n", escaped(caption)) };
            format!("![{}]({target})\n{caption}", escaped(title))
        }
        Block::PageOnly(_) | Block::Explained { .. } => String::new(),
    }
}

fn table(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heads = table.columns.iter().map(|(head, _)| part(head)).collect();
    let rules =
        table.columns.iter().map(|(_, is_number)| if *is_number { "---:|" } else { "---|" });
    let rows = table.rows.iter().map(|cells| row(cells.iter().map(|cell| line(cell)).collect()));
    format!("{}|{}\n{}", row(heads), rules.collect::<String>(), rows.collect::<String>())
}

fn line(text: &[Part]) -> String {
    text.iter().map(part).collect()
}

fn part(part: &Part) -> String {
    let text = match part.style {
        Style::Plain => escaped(&part.text),
        Style::Strong => format!("**{}**", escaped(&part.text)),
        Style::Emphasis => format!("*{}*", escaped(&part.text)),
        // Inside code, only a bar is reserved: it ends a cell.
        Style::Code => format!("`{}`", part.text.replace('|', "\\|").replace(['\n', '\r'], " ")),
    };
    match &part.target {
        Some(target) => format!("[{text}]({target})"),
        None => text,
    }
}

/// Escapes the characters that end a cell or start HTML.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}
