//! The HTML page of a report.

use std::fmt::Write as _;

use super::contents::Report;
use super::{heat_map_svg, svg};
use crate::release::document::{Block, block_to_html, escaped, line_to_html};

/// Colours and layout: light and dark, narrow and wide, and print.
const STYLE: &str = include_str!("style.css");

impl Report {
    /// Returns the page.
    pub fn to_html(&self) -> String {
        page(self)
    }
}

/// Returns the page of a report.
fn page(report: &Report) -> String {
    let title = escaped(&report.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n<p class=\"summary\">{}</p>\n<dl class=\"facts\">\n",
        line_to_html(&report.summary)
    );
    for fact in &report.facts {
        let (name, value) = (escaped(&fact.name), line_to_html(&fact.value));
        let _ = writeln!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out.push_str("</dl>\n<section>\n<h2>What was published</h2>\n<dl class=\"files\">\n");
    for file in &report.files {
        let (name, value) = (escaped(&file.name), line_to_html(&file.value));
        let _ = writeln!(out, "<dt>{name}</dt><dd>{value}</dd>");
    }
    out.push_str("</dl>\n</section>\n");
    for section in &report.sections {
        let (heading, note) = (escaped(&section.heading), escaped(&section.note));
        let _ = writeln!(
            out,
            "<section>\n<h2>{heading}</h2>\n<p class=\"note\">{note} Numbers are rounded.</p>\n\
             <div class=\"charts\">"
        );
        for chart in &section.charts {
            let _ = writeln!(out, "<figure>\n<figcaption>{}</figcaption>", escaped(&chart.title));
            for note in &chart.notes {
                let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(note));
            }
            let drawing = match &chart.heat_map {
                Some(heat_map) => heat_map_svg::drawing(&chart.title, heat_map),
                None => svg::drawing(chart),
            };
            let _ = writeln!(out, "{drawing}\n</figure>");
        }
        out.push_str("</div>\n</section>\n");
    }
    out.push_str("<section class=\"guarantees\">\n<h2>For legal review</h2>\n");
    for block in &report.guarantees {
        let _ = writeln!(out, "{}", block_to_html(block));
    }
    out.push_str("</section>\n");
    statement(&mut out, &report.statement);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Writes the statement; its tables and sources are shown on demand.
fn statement(out: &mut String, blocks: &[Block]) {
    out.push_str("<section class=\"statement\">\n<h2>Statement</h2>\n");
    let mut details = String::new();
    for block in blocks {
        let html = block_to_html(block);
        match block {
            // The page has a title and a heading.
            Block::Title(_) => {}
            Block::Paragraph(_) | Block::List(_) if details.is_empty() => {
                let _ = writeln!(out, "{html}");
            }
            _ => {
                let _ = writeln!(details, "{html}");
            }
        }
    }
    if !details.is_empty() {
        let _ = write!(
            out,
            "<details>\n<summary>Measurements, schema and workload</summary>\n{details}</details>\n"
        );
    }
    out.push_str("</section>\n");
}
