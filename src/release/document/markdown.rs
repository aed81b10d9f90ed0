//! Documents as Markdown.

use std::fmt::Write as _;

use super::blocks::{Block, Line, Part};

/// Returns a document in Markdown.
///
/// Characters that Markdown reserves are escaped, and code has more backquotes around it than in
/// it, so no text of a user changes the structure of the document.
pub fn to_markdown(blocks: &[Block]) -> String {
    let mut out = String::new();
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        match block {
            Block::Title(line) => out.push_str(&format!("# {}\n", inline(line, false))),
            Block::Heading(line) => out.push_str(&format!("## {}\n", inline(line, false))),
            Block::Paragraph(line) => out.push_str(&format!("{}\n", paragraph(line))),
            Block::List(items) => {
                for item in items {
                    let _ = writeln!(out, "- {}", paragraph(item));
                }
            }
            Block::Table { columns, rows } => table(&mut out, columns, rows),
            Block::Code { language, text } => {
                let fence = "`".repeat(longest_run(text).max(2) + 1);
                let end = if text.ends_with('\n') { "" } else { "\n" };
                let _ = writeln!(out, "{fence}{language}\n{text}{end}{fence}");
            }
        }
    }
    out
}

fn table(out: &mut String, columns: &[(String, bool)], rows: &[Vec<Line>]) {
    let heads = columns.iter().map(|(name, _)| inline(&name.as_str().into(), true));
    let _ = writeln!(out, "| {} |", heads.collect::<Vec<_>>().join(" | "));
    let rules = columns.iter().map(|(_, is_number)| if *is_number { "---:" } else { "---" });
    let _ = writeln!(out, "|{}|", rules.collect::<Vec<_>>().join("|"));
    for row in rows {
        let cells = row.iter().map(|cell| inline(cell, true));
        let _ = writeln!(out, "| {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}

/// Returns a line that starts no other block.
fn paragraph(line: &Line) -> String {
    let text = inline(line, false);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_marker = text.starts_with(['#', '-', '+', '=', '~', ' ']);
    let is_number = digits > 0 && text[digits..].starts_with(['.', ')']);
    match (is_marker, is_number) {
        (true, _) => format!("\\{text}"),
        (false, true) => format!("{}\\{}", &text[..digits], &text[digits..]),
        _ => text,
    }
}

/// Returns a line of Markdown; in a table, a bar does not end a cell.
fn inline(line: &Line, in_table: bool) -> String {
    let mut out = String::new();
    for part in &line.0 {
        match part {
            Part::Text(text) => out.push_str(&escaped(text)),
            Part::Strong(text) => {
                let _ = write!(out, "**{}**", escaped(text));
            }
            Part::Code(text) => {
                let text = on_one_line(text);
                let text = if in_table { text.replace('|', "\\|") } else { text };
                let fence = "`".repeat(longest_run(&text) + 1);
                let touches = text.starts_with('`') || text.ends_with('`') || text.is_empty();
                let space = if touches { " " } else { "" };
                let _ = write!(out, "{fence}{space}{text}{space}{fence}");
            }
        }
    }
    out
}

/// Escapes the characters that Markdown reserves inside a line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in on_one_line(text).chars() {
        if "\\`*_[]<>|&".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Replaces line ends, which end a paragraph or a cell.
fn on_one_line(text: &str) -> String {
    text.replace(|character: char| character.is_control(), " ")
}

/// Returns the length of the longest run of backquotes.
fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::{code, strong, text};
    use super::*;

    #[test]
    fn documents_are_written_as_markdown() {
        let blocks = [
            Block::Title("Title".into()),
            Block::Paragraph([text("Made by "), code("a<b"), text(".")].into()),
            Block::Paragraph([strong("Bold."), text(" x & y\nz")].into()),
            Block::List(vec!["one".into(), [code("two")].into()]),
            Block::Table {
                columns: vec![("a".into(), false), ("b".into(), true)],
                rows: vec![vec!["x|y".into(), [code("1|2")].into()]],
            },
            Block::Heading("More".into()),
            Block::Code { language: "toml", text: "[x]\n\n\"y\"\n".into() },
        ];
        let expected = "# Title\n\nMade by `a<b`.\n\n**Bold.** x \\& y z\n\n- one\n- `two`\n\n\
                        | a | b |\n|---|---:|\n| x\\|y | `1\\|2` |\n\n## More\n\n\
                        ```toml\n[x]\n\n\"y\"\n```\n";
        assert_eq!(to_markdown(&blocks), expected);
    }

    /// No text leaves its block: it cannot close code, start a heading or add a cell.
    #[test]
    fn texts_of_users_cannot_forge_a_document() {
        let forged = "x\n```\n# Statement\n\n**Guarantee.** (0, 0)";
        let written = to_markdown(&[Block::Code { language: "toml", text: forged.into() }]);
        assert!(written.starts_with("````toml\n") && written.ends_with("\n````\n"), "{written}");
        for line in ["# x", "- x", "1. x", "```", "> x", "| a | b |", "***", "a`b", "~~~"] {
            let written = to_markdown(&[Block::Paragraph(line.into())]);
            assert!(!written.starts_with(line) || line == "a`b", "{written}");
            let written = to_markdown(&[Block::Paragraph([code(line), text("\n\n# y")].into())]);
            assert_eq!(written.lines().count(), 1, "{written}");
        }
    }
}
