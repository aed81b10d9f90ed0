//! HTML of the subset of Markdown that statements use.
//!
//! Headings, paragraphs, lists with `-`, tables, fenced code, `**bold**` and `` `code` ``.

use std::fmt::Write as _;

use super::html::escaped;

/// A block of Markdown, as HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// A heading of the page, which the report replaces.
    Title,
    /// A text.
    Text(String),
    /// A heading, a table or code, which a report shows on demand.
    Detail(String),
}

/// Returns the blocks of a text.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        if line.starts_with("# ") {
            blocks.push(Block::Title);
        } else if let Some(heading) = line.strip_prefix("## ") {
            blocks.push(Block::Detail(format!("<h3>{}</h3>", inline(heading))));
        } else if line.starts_with("```") {
            let code: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let code = escaped(&code.join("\n"));
            blocks.push(Block::Detail(format!("<pre><code>{code}</code></pre>")));
        } else {
            let mut paragraph = vec![line];
            while let Some(line) = lines.next_if(|line| !line.is_empty()) {
                paragraph.push(line);
            }
            blocks.push(match line.get(..1) {
                Some("|") => Block::Detail(table(&paragraph)),
                Some("-") => Block::Text(list(&paragraph)),
                _ => Block::Text(format!("<p>{}</p>", inline(&paragraph.join(" ")))),
            });
        }
    }
    blocks
}

fn list(lines: &[&str]) -> String {
    let items = lines
        .iter()
        .map(|line| format!("<li>{}</li>", inline(line.strip_prefix("- ").unwrap_or(line))));
    format!("<ul>{}</ul>", items.collect::<String>())
}

/// Returns a table whose second line separates the heading.
fn table(lines: &[&str]) -> String {
    let mut out = "<div class=\"wide\"><table>".to_owned();
    for (index, line) in lines.iter().enumerate().filter(|(index, _)| *index != 1) {
        let cell = if index == 0 { "th" } else { "td" };
        out.push_str("<tr>");
        for text in line.trim_matches('|').split('|') {
            let _ = write!(out, "<{cell}>{}</{cell}>", inline(text.trim()));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>");
    out
}

/// Returns the HTML of a line: escaped text with bold and code.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            let _ = write!(out, "<code>{}</code>", escaped(part));
            continue;
        }
        // An unpaired `**` starts bold text that ends with the part.
        for (index, part) in part.split("**").enumerate() {
            match index % 2 {
                1 => {
                    let _ = write!(out, "<strong>{}</strong>", escaped(part));
                }
                _ => out.push_str(&escaped(part)),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_converted() {
        let text = "# Title\n\nMade by `a<b`.\n\n**Bold.** x & y\nz\n\n- one\n- `two`\n\n\
                    | a | b |\n|---|---:|\n| 1 | <2> |\n\n## More\n\n```toml\n[x]\n\n\"y\"\n```\n";
        let expected = [
            Block::Title,
            Block::Text("<p>Made by <code>a&lt;b</code>.</p>".into()),
            Block::Text("<p><strong>Bold.</strong> x &amp; y z</p>".into()),
            Block::Text("<ul><li>one</li><li><code>two</code></li></ul>".into()),
            Block::Detail(
                "<div class=\"wide\"><table><tr><th>a</th><th>b</th></tr>\n\
                 <tr><td>1</td><td>&lt;2&gt;</td></tr>\n</table></div>"
                    .into(),
            ),
            Block::Detail("<h3>More</h3>".into()),
            Block::Detail("<pre><code>[x]\n\n&quot;y&quot;</code></pre>".into()),
        ];
        assert_eq!(blocks(text), expected);
    }
}
