//! Blocks as one HTML file, with style and figures inlined and no external resources.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::blocks::{Block, Part, Style, Table, Text, slug};
use super::verdict::Verdict;

const STYLE: &str = include_str!("comparison.css");

/// Returns the page `comparison.html`.
pub(super) fn render(title: &str, blocks: &[Block<'_>]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { @for block in blocks { (self::block(block)) } }
                footer { "This page is self-contained and needs no network." }
            }
        }
    };
    page.into_string()
}

fn block(block: &Block<'_>) -> Markup {
    html! {
        @match block {
            Block::Heading { level, id, text } => {
                @let id = id.map_or_else(|| slug(text), str::to_owned);
                @match level {
                    1 => h1 id=(id) { (text) },
                    2 => h2 id=(id) { (text) },
                    _ => h3 id=(id) { (text) },
                }
            }
            Block::Paragraph(text) => p { (line(text)) },
            Block::List(items) => ul { @for item in items { li { (line(item)) } "\n" } },
            Block::Table(table) => (self::table(table)),
            Block::Figure { title, target, caption, svg } => {
                figure {
                    div.drawing role="region" aria-label=(title) tabindex="0" {
                        "\n"
                        // An XML declaration is invalid inside HTML.
                        (PreEscaped(svg.find("<svg").map_or("", |start| svg[start..].trim_end())))
                        "\n"
                    }
                    figcaption {
                        strong { (title) } " " (caption) " (" a href=(target) { "file" } ")"
                    }
                }
            }
            Block::Explained { targets, blocks } => {
                div.explanation {
                    @for target in targets { span id=(target) {} }
                    @for block in blocks { (self::block(block)) }
                }
            }
            Block::PageOnly(blocks) => @for block in blocks { (self::block(block)) },
        }
        "\n"
    }
}

fn table(table: &Table) -> Markup {
    let folded = table.folded.as_ref().map_or(0, |(rows, _)| *rows);
    let (shown, folded) = table.rows.split_at(table.rows.len() - folded);
    html! {
        @if !shown.is_empty() { (rows(table, shown)) }
        @if let Some((_, summary)) = &table.folded {
            details {
                summary { (line(summary)) }
                (rows(table, folded))
            }
        }
    }
}

/// Returns rows in a box that scrolls, so that the page never scrolls sideways.
fn rows(table: &Table, rows: &[Vec<Text>]) -> Markup {
    let class = |is_number: bool| is_number.then_some("number");
    // Cards on narrow screens omit empty cells and zeros.
    let cell_class = |cell: &Text, is_number: bool| match cell.as_slice() {
        [] => Some("empty"),
        [part] if part.text.is_empty() => Some("empty"),
        [part] if is_number && part.text == "0" => Some("number empty"),
        _ => class(is_number),
    };
    html! {
        div.box role="region" aria-label=(table.name) tabindex="0" {
            table class=(table.name) {
                thead {
                    tr {
                        @for (head, is_number) in &table.columns {
                            th scope="col" class=[class(*is_number)] { (part(head)) }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (index, (cell, (head, is_number))) in
                                row.iter().zip(&table.columns).enumerate()
                            {
                                @if index == 0 { th scope="row" { (line(cell)) } }
                                @else {
                                    td class=[cell_class(cell, *is_number)] data-label=(head.text) {
                                        (line(cell))
                                    }
                                }
                            }
                        }
                        "\n"
                    }
                }
            }
        }
    }
}

fn line(text: &[Part]) -> Markup {
    html! { @for part in text { (self::part(part)) } }
}

fn part(part: &Part) -> Markup {
    let text = html! {
        @match part.style {
            Style::Plain => (part.text),
            Style::Strong => strong { (part.text) },
            Style::Emphasis => em { (part.text) },
            Style::Code => code { (breakable(&part.text)) },
        }
    };
    let text = match part.verdict {
        Some(verdict) => html! { span class={ "verdict " (class(verdict)) } { (text) } },
        None => text,
    };
    match part.page_target.as_ref().or(part.target.as_ref()) {
        Some(target) => html! { a href=(target) { (text) } },
        None => text,
    }
}

/// Returns a name that can break after its separators, so that no word breaks.
fn breakable(name: &str) -> Markup {
    html! {
        @for piece in name.split_inclusive(['/', '=', ',', ';', ':', '(']) { (piece) wbr; }
    }
}

/// Returns the style class of a verdict.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Fitted => "fitted",
        Verdict::Improved => "improved",
        Verdict::Lower => "lower",
        Verdict::Deviates => "deviates",
        Verdict::Unexplained => "unexplained",
        Verdict::NotComparable => "not-comparable",
        Verdict::NotRun => "not-run",
        Verdict::Failed => "failed",
    }
}
