//! Blocks as Markdown.

use super::blocks::{Block, Part, Style, Table};

/// Returns the text of `COMPARISON.md`: the same results give the same file.
pub(super) fn render(blocks: &[Block<'_>]) -> String {
    let blocks = blocks.iter().filter(|block| !matches!(block, Block::PageOnly(_)));
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
        Block::PageOnly(_) => String::new(),
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
