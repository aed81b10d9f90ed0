//! Sections of `docs/deviations.md` as blocks of the page. Links become text: the page has no links
//! to Markdown files.

use super::blocks::{Block, Part, Style, Text, code, text};

/// Returns the blocks of a section: its heading in bold, paragraphs and lists.
pub(super) fn blocks(markdown: &str) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    let mut items: Vec<Text> = Vec::new();
    for paragraph in paragraphs(markdown) {
        if let Some(item) = paragraph.strip_prefix("- ") {
            items.push(inline(item));
            continue;
        }
        if !items.is_empty() {
            blocks.push(Block::List(std::mem::take(&mut items)));
        }
        blocks.push(Block::Paragraph(match paragraph.strip_prefix('#') {
            Some(heading) => {
                vec![text(heading.trim_start_matches('#').trim()).styled(Style::Strong)]
            }
            None => inline(&paragraph),
        }));
    }
    if !items.is_empty() {
        blocks.push(Block::List(items));
    }
    blocks
}

/// Returns headings, paragraphs and items, each on one line.
fn paragraphs(markdown: &str) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut continues = false;
    for line in markdown.lines() {
        let starts = line.starts_with("- ") || line.starts_with('#');
        if line.trim().is_empty() {
            continues = false;
        } else if let Some(last) = paragraphs.last_mut().filter(|_| continues && !starts) {
            last.push(' ');
            last.push_str(line.trim());
        } else {
            paragraphs.push(line.trim().to_owned());
            continues = !line.starts_with('#');
        }
    }
    paragraphs
}

/// Returns a line with code, bold and italic text.
fn inline(line: &str) -> Text {
    let mut parts: Text = Vec::new();
    for (index, segment) in without_links(line).split('`').enumerate() {
        if index % 2 == 1 {
            parts.push(code(segment));
            continue;
        }
        for (index, segment) in segment.split("**").enumerate() {
            if index % 2 == 1 {
                parts.push(text(segment).styled(Style::Strong));
                continue;
            }
            let styled = |(index, segment): (usize, &str)| -> Part {
                text(segment).styled(if index % 2 == 1 { Style::Emphasis } else { Style::Plain })
            };
            parts.extend(segment.split('*').enumerate().map(styled));
        }
    }
    parts.retain(|part| !part.text.is_empty());
    parts
}

/// Replaces `[text](target)` by its text.
fn without_links(line: &str) -> String {
    let Some((before, after)) = line.split_once("](") else { return line.to_owned() };
    match (before.rfind('['), after.find(')')) {
        (Some(start), Some(end)) => {
            let (head, label) = (&before[..start], &before[start + 1..]);
            format!("{head}{label}{}", without_links(&after[end + 1..]))
        }
        _ => format!("{before}]({}", without_links(after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_become_blocks_without_links() {
        let markdown = "### A title\n\n*Printed*: 2.23 **times**\n`a*b`, see [there](x.md#y).\n\n\
                        - one\n  item\n- two\n\nEnd";
        let paragraph = |parts: Vec<Part>| Block::Paragraph(parts);
        let expected = vec![
            paragraph(vec![text("A title").styled(Style::Strong)]),
            paragraph(vec![
                text("Printed").styled(Style::Emphasis),
                text(": 2.23 "),
                text("times").styled(Style::Strong),
                text(" "),
                code("a*b"),
                text(", see there."),
            ]),
            Block::List(vec![vec![text("one item")], vec![text("two")]]),
            paragraph(vec![text("End")]),
        ];
        assert_eq!(blocks(markdown), expected);
    }
}
