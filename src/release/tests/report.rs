//! Reports: self-contained, well-formed, with the published numbers, and made of outputs only.

use super::super::document::{Block, code, strong};
use super::super::report::{Bar, Chart, HeatMap, Report, Section};
use super::super::{answers, reach::Reach};
use super::*;
use crate::domain::AttributeSet;
use crate::workload::{Family, QueryGroup};

const SIZES: [usize; 3] = [4, 3, 50];

/// All pairs, and no text of the page's markup.
const PAIRS: &str = "[[queries]]\nfamily = \"identity\"\nways = [2]\n";

fn release() -> (GroupedWorkload, Measurements) {
    let unit = PrivacyUnit::default();
    let (workload, plan) = plan_of("query-smasher", &SIZES, PAIRS, 5.0, unit);
    let rows: Vec<Vec<u32>> =
        (0..3000).map(|k| vec![k % 4, (k % 4).min(2), (k * k + k) % 50]).collect();
    let measured = released(&plan, &records_of(workload.schema(), &rows), 3);
    (workload, measured)
}

fn report(workload: &GroupedWorkload, measured: &Measurements) -> Report {
    let estimates = Estimates::of(measured).unwrap();
    Report::of_unbiased(&measured.header.statement, &estimates, workload).unwrap()
}

/// Checks that tags are nested and attributes are quoted; returns the texts between tags.
fn texts(page: &str) -> Vec<String> {
    let (mut open, mut texts) = (Vec::new(), Vec::new());
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("open tag: {part}"));
        texts.push(text.to_owned());
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name.to_owned()), "closed by {name}");
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split(['/', ' ']).next().unwrap_or_default();
        if !tag.ends_with('/') && !["!DOCTYPE", "meta"].contains(&name) {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    for text in &texts {
        for entity in text.split('&').skip(1) {
            let name = entity.split(';').next().unwrap_or_default();
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "{entity}");
        }
    }
    texts
}

#[test]
fn pages_are_self_contained_and_well_formed() {
    let (workload, measured) = release();
    let page = report(&workload, &measured).to_html();
    texts(&page);
    for forbidden in ["<script", "http", "src=", "href=", "@import", "url(", "<link", "NaN"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("The 30 largest estimates of 50 cells."));
    assert!(page.contains("1. A1 × A2"));
}

/// Every bar has the estimate and the interval of the answer to the same query.
#[test]
fn numbers_are_the_published_ones() {
    let (workload, measured) = release();
    let (report, estimates) = (report(&workload, &measured), Estimates::of(&measured).unwrap());
    let reach = Reach::of(1.0).single;
    let schema = workload.schema();
    let charts: Vec<&Chart> = report.sections.iter().flat_map(|s| &s.charts).collect();
    assert!(charts.len() >= 4);
    let page = report.to_html();
    let texts = texts(&page);
    let mut heat_maps = 0;
    let mut shown = texts.iter().filter(|text| !text.trim().is_empty());
    for chart in charts {
        let names: Vec<&str> =
            chart.title.split(". ").last().unwrap_or_default().split(" × ").collect();
        let positions: Vec<usize> = names.iter().map(|n| schema.position(n).unwrap()).collect();
        let set = AttributeSet::from_positions(&positions).unwrap();
        let families = vec![Family::IDENTITY; set.len()];
        let group = QueryGroup::product(schema, set, &families, 1.0).unwrap();
        let answers = answers::of_group(&estimates, &group).unwrap();
        if let Some(heat_map) = &chart.heat_map {
            // The attribute with more values has the rows.
            let (m, n) = (SIZES[positions[0]], SIZES[positions[1]]);
            let (row, column) = if n > m { (1, 0) } else { (0, 1) };
            let axes = [heat_map.rows.0.as_str(), heat_map.columns.0.as_str()];
            assert_eq!(axes, [names[row], names[column]]);
            assert_eq!(heat_map.cells.len(), answers.len());
            for (index, (estimate, interval)) in heat_map.cells.iter().enumerate() {
                let columns = m.min(n);
                let (i, j) = (index / columns, index % columns);
                let answer = &answers[if n > m { j * n + i } else { i * n + j }];
                let width = reach * answer.standard_error;
                assert_eq!(*estimate, answer.estimate);
                assert_eq!(*interval, Some((estimate - width, estimate + width)));
            }
            heat_maps += 1;
            assert!(chart.bars.is_empty());
        }
        for bar in &chart.bars {
            let cell = (bar.label.split(" · ").zip(&positions))
                .fold(0, |cell, (value, p)| cell * SIZES[*p] + value.parse::<usize>().unwrap());
            assert_eq!(bar.estimate, answers[cell].estimate, "{}", chart.title);
            let width = reach * answers[cell].standard_error;
            assert_eq!(bar.interval, Some((bar.estimate - width, bar.estimate + width)));
            // The page has the same label and the number, rounded.
            assert!(shown.any(|text| *text == bar.label), "{}", bar.label);
            let text = shown.next().unwrap();
            let number: f64 = text.replace(',', "").replace('−', "-").parse().unwrap();
            let rounding = 0.5 * 10f64.powi(-(chart.decimals() as i32)) + 1e-9;
            assert!((number - bar.estimate).abs() <= rounding, "{text} {}", bar.estimate);
        }
    }
    assert!(heat_maps >= 2, "{heat_maps}");
}

/// The files of a release are enough for its report.
#[test]
fn reports_depend_on_published_values_only() {
    let (workload, measured) = release();
    let folder = tempfile::tempdir().unwrap();
    measured.write(folder.path()).unwrap();
    let read = Measurements::read(folder.path()).unwrap();
    assert_eq!(report(&workload, &measured), report(&workload, &read));
}

#[test]
fn texts_are_escaped_and_empty_charts_are_drawn() {
    let bar = |label: &str, estimate| Bar { label: label.into(), estimate, interval: None };
    let hostile = "</text><script>alert('\"&')</script>";
    let map = |rows, columns, cells: Vec<f64>| Chart {
        title: hostile.into(),
        notes: Vec::new(),
        bars: Vec::new(),
        heat_map: Some(HeatMap {
            rows: (hostile.into(), rows),
            columns: (hostile.into(), columns),
            cells: cells.into_iter().map(|x| (x, Some((x - 1.0, x + 1.0)))).collect(),
        }),
    };
    let charts = vec![
        Chart {
            title: hostile.into(),
            notes: vec![hostile.into()],
            bars: vec![bar(hostile, -1.0), bar("b", 0.0)],
            heat_map: None,
        },
        Chart { title: "none".into(), notes: Vec::new(), bars: Vec::new(), heat_map: None },
        Chart {
            title: "zero".into(),
            notes: Vec::new(),
            bars: vec![bar("z", 0.0)],
            heat_map: None,
        },
        map(vec![hostile.into()], vec![hostile.into(), "b".into()], vec![-1.0, 2.0]),
        map(vec!["r".into()], vec!["c".into()], vec![0.0]),
        map(Vec::new(), Vec::new(), Vec::new()),
    ];
    let section = Section { heading: hostile.into(), note: hostile.into(), charts };
    let fact = super::super::report::Fact::new(hostile, hostile);
    let page = Report {
        title: hostile.into(),
        summary: hostile.into(),
        guarantees: vec![Block::Heading(hostile.into()), Block::List(vec![hostile.into()])],
        facts: vec![fact.clone()],
        files: vec![fact],
        sections: vec![section],
        statement: vec![
            Block::Title(hostile.into()),
            Block::Paragraph([strong(hostile), code(hostile)].into()),
            Block::List(vec![hostile.into()]),
            Block::Table {
                columns: vec![(hostile.into(), false)],
                rows: vec![vec![hostile.into()]],
            },
            Block::Heading(hostile.into()),
            Block::Code { language: "toml", text: hostile.into() },
        ],
    }
    .to_html();
    texts(&page);
    assert!(!page.contains("<script") && !page.contains("NaN"));
}

/// The first paragraph says what was published, how exact, and what protects whom; the part for
/// legal review follows the unit of the release.
#[test]
fn readers_without_background_have_a_summary_and_the_guarantees() {
    use crate::privacy::Neighbours;
    let text_of = |neighbours, rows| {
        let unit = PrivacyUnit { neighbours, rows };
        let (workload, plan) = plan_of("query-smasher", &SIZES, PAIRS, 5.0, unit);
        let mut measured = released(&plan, &records_of(workload.schema(), &[vec![0, 0, 0]]), 3);
        let rho = plan.cost().rounded_up().unwrap();
        let terms = Terms { rho, delta: 1e-9, rule: OutOfDomain::Drop, person: None };
        measured.header.statement = Statement::of(&plan, terms, "", "", None).unwrap();
        let page = report(&workload, &measured).to_html();
        (texts(&page).concat(), page)
    };
    let (text, page) = text_of(Neighbours::AddOrRemoveOneRecord, 1);
    for part in [
        "answers to 362 queries about the records of a table with the attributes A1, A2, A3.",
        "The root mean square error of the answers is about ",
        "everybody with at most one record by differential privacy with ε = ",
        "whether or not a person is in the table changes the probability of any outcome",
        "For legal review",
        "No person has more than 1 record(s) in the table.",
        "whether or not the records of one such person are in them",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let summary = page.find("class=\"summary\"").unwrap();
    assert!(summary < page.find("class=\"facts\"").unwrap());
    let (text, _) = text_of(Neighbours::ReplaceOneRecord, 2);
    for part in ["everybody with at most 2 records", "what the records of a person say changes"] {
        assert!(text.contains(part), "{part}");
    }
    // e^ε is rounded up: ε of a budget of 5 is far above 1, and its factor is a number.
    let epsilon: f64 =
        text.split("ε = ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let factor = text.split("e^ε").nth(1).unwrap().trim_start_matches(" = ");
    let factor: Option<f64> = factor.split([',', ' ']).next().unwrap().parse().ok();
    assert!(
        factor.is_none_or(|factor| factor >= epsilon.exp()) && (epsilon > 20.0) == factor.is_none()
    );
}
