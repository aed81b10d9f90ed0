//! Documents as HTML.

use std::fmt::Write as _;

use super::blocks::{Block, Line, Part};

/// Returns text with the characters replaced that HTML reserves.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Returns a line in HTML.
pub fn line_to_html(line: &Line) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => escaped(text),
        Part::Strong(text) => format!("<strong>{}</strong>", escaped(text)),
        Part::Code(text) => format!("<code>{}</code>", escaped(text)),
    };
    line.0.iter().map(part).collect()
}

/// Returns a block in HTML; headings are of the second and third level.
pub fn block_to_html(block: &Block) -> String {
    match block {
        Block::Title(line) => format!("<h2>{}</h2>", line_to_html(line)),
        Block::Heading(line) => format!("<h3>{}</h3>", line_to_html(line)),
        Block::Paragraph(line) => format!("<p>{}</p>", line_to_html(line)),
        Block::List(items) => {
            let items = items.iter().map(|item| format!("<li>{}</li>", line_to_html(item)));
            format!("<ul>{}</ul>", items.collect::<String>())
        }
        Block::Table { columns, rows } => {
            let mut out = "<div class=\"wide\"><table><tr>".to_owned();
            for (name, _) in columns {
                let _ = write!(out, "<th>{}</th>", escaped(name));
            }
            out.push_str("</tr>\n");
            for row in rows {
                out.push_str("<tr>");
                for cell in row {
                    let _ = write!(out, "<td>{}</td>", line_to_html(cell));
                }
                out.push_str("</tr>\n");
            }
            out.push_str("</table></div>");
            out
        }
        Block::Code { text, .. } => format!("<pre><code>{}</code></pre>", escaped(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{code, strong, text};
    use super::*;

    #[test]
    fn blocks_are_written_as_html() {
        for (block, expected) in [
            (
                Block::Paragraph([strong("Bold."), text(" x & "), code("a<b")].into()),
                "<p><strong>Bold.</strong> x &amp; <code>a&lt;b</code></p>",
            ),
            (
                Block::List(vec!["one".into(), "`two`".into()]),
                "<ul><li>one</li><li>`two`</li></ul>",
            ),
            (Block::Heading("A".into()), "<h3>A</h3>"),
            (
                Block::Table {
                    columns: vec![("a".into(), false), ("b".into(), true)],
                    rows: vec![vec!["1".into(), "<2>".into()]],
                },
                "<div class=\"wide\"><table><tr><th>a</th><th>b</th></tr>\n\
                 <tr><td>1</td><td>&lt;2&gt;</td></tr>\n</table></div>",
            ),
            (
                Block::Code { language: "toml", text: "[x]\n\n\"y\"".into() },
                "<pre><code>[x]\n\n&quot;y&quot;</code></pre>",
            ),
        ] {
            assert_eq!(block_to_html(&block), expected);
        }
    }
}
