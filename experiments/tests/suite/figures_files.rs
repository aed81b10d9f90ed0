//! Tests of drawn figures: reproducible bytes, refused inputs and contents of the drawings.

// Clippy's exception for tests does not cover functions that tests share.
use std::fs;
use std::path::{Path, PathBuf};

use experiments::config::{Config, Profile, parse};
use experiments::error::Result;
use experiments::{figures, registry};
use resvg::tiny_skia::{Pixmap, PremultipliedColorU8};

const HEAD: &str = "experiment,cell,sampling,domain,queries,method,metric,value,lower_bound,gap,\
    text,seconds,peak_mb,seed\n";

const LINES: &str = "[[figure]]\nfile = \"s9/lines\"\ntitle = \"Sampled workloads\"\n\
    kind = \"lines\"\nx = \"queries\"\nx_label = \"number of queries\"\nx_log = true\n\
    y = \"share\"\ny_label = \"share of the error\"\nseries = \"domain\"\n\
    series_names = { \"32x32\" = \"32 × 32\" }\nseries_order = [\"32x32\", \"1024\"]\n\
    panel = \"sampling\"\nreference_lines = [{ value = 1.0, label = \"all queries\" }]\n";

const BARS: &str = "[[figure]]\nfile = \"s9/bars\"\ntitle = \"Errors\"\nkind = \"bars\"\n\
    x = \"domain\"\nx_label = \"domain\"\ny = \"share\"\ny_label = \"share\"\ny_log = true\n\
    series = \"sampling\"\nwhere = { queries = [\"100\"] }\nvalue_labels = true\n";

fn results() -> String {
    let mut text = HEAD.to_owned();
    for (sampling, factor) in [("uniform", 1.0), ("biased", 0.6)] {
        for (domain, power) in [("1024", 0.05), ("32x32", 0.1)] {
            for queries in [100, 1000, 10_000] {
                let share = factor * (f64::from(queries) / 10_000.0).powf(power);
                text.push_str(&format!(
                    "s9/f,c,{sampling},{domain},{queries},svdb,share,{share},,,,0.1,1,7\n"
                ));
            }
        }
    }
    text
}

fn config(root: &Path, figures: &str) -> Config {
    let text = format!(
        "experiment = \"s9/f\"\nkind = \"demo\"\ntitle = \"F\"\nreproduces = \"S9\"\nseed = 7\n\
         expected_seconds = 1\nexpected_mb = 1\n[grid]\n{figures}"
    );
    parse(&root.join("configs/s9/f.toml"), &text).unwrap()
}

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn draw_all(root: &Path, configs: &[Config], profile: Profile) -> Result<Vec<PathBuf>> {
    figures::draw_all(root, configs, &registry::figures(), profile)
}

fn drawn(root: &Path, figures: &str) -> Vec<PathBuf> {
    draw_all(root, &[config(root, figures)], Profile::Standard).unwrap()
}

/// Creates a root with a result table.
fn root_with(results: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "results/s9/f.csv", results);
    root
}

/// Returns the SVG of the first figure, drawn from a result table.
fn svg_of(results: &str, figures: &str) -> String {
    fs::read_to_string(&drawn(root_with(results).path(), figures)[0]).unwrap()
}

/// Asserts that no figure is drawn, with an error that has all of `parts`.
#[track_caller]
fn assert_refused(results: &str, figures: &str, parts: &[&str]) {
    let root = root_with(results);
    let error = draw_all(root.path(), &[config(root.path(), figures)], Profile::Standard);
    let message = error.unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "{part} in {message}");
    }
}

/// Returns the texts of an SVG, in the order of drawing.
fn texts(svg: &str) -> Vec<&str> {
    svg.split("<text ").skip(1).filter_map(|text| text.split('\n').nth(1)).collect()
}

#[test]
fn two_drawings_of_a_table_are_identical() {
    let figures = format!("{LINES}{BARS}");
    let runs: Vec<Vec<Vec<u8>>> = (0..2)
        .map(|_| {
            let root = root_with(&results());
            let files = drawn(root.path(), &figures);
            let names: Vec<String> = files
                .iter()
                .map(|file| file.strip_prefix(root.path()).unwrap().display().to_string())
                .collect();
            assert_eq!(
                names,
                [
                    "figures/s9/lines.svg",
                    "figures/s9/lines.png",
                    "figures/s9/bars.svg",
                    "figures/s9/bars.png"
                ]
            );
            files.iter().map(|file| fs::read(file).unwrap()).collect()
        })
        .collect();
    assert!(runs[0] == runs[1]);
}

#[test]
fn a_line_chart_has_labels_and_an_ordered_legend() {
    let svg = svg_of(&results(), LINES);
    let texts = texts(&svg);
    for label in [
        "Sampled workloads",
        "uniform",
        "biased",
        "number of queries",
        "share of the error",
        "1000",
        "10,000",
    ] {
        assert!(texts.contains(&label), "{label} in {texts:?}");
    }
    let legend: Vec<&str> = texts.iter().rev().take(3).rev().copied().collect();
    assert_eq!(legend, ["32 × 32", "1024", "all queries"]);
    assert_eq!(svg.matches("<svg ").count(), 1);
    assert!(
        svg.contains("width=\"1600\" height=\"1000\"")
            && svg.contains("aria-label=\"Sampled workloads\"")
    );
    assert!(
        !svg.contains("http") || svg.matches("http").count() == svg.matches("xmlns=\"http").count()
    );
}

#[test]
fn the_png_has_both_series_on_a_white_background() {
    let root = root_with(&results());
    let image = Pixmap::load_png(&drawn(root.path(), LINES)[1]).unwrap();
    assert_eq!((image.width(), image.height()), (1600, 1000));
    let count = |[red, green, blue]: [u8; 3]| {
        let color = PremultipliedColorU8::from_rgba(red, green, blue, 255);
        image.pixels().iter().filter(|pixel| Some(**pixel) == color).count()
    };
    let all = image.pixels().len();
    assert!(count([255, 255, 255]) > all * 7 / 10 && count([255, 255, 255]) < all * 97 / 100);
    for color in [[0, 114, 178], [213, 94, 0]] {
        assert!(count(color) > 1500, "{color:?}: {}", count(color));
    }
}

#[test]
fn bars_start_at_the_axis_and_have_the_heights_of_their_values() {
    let svg = svg_of(&results(), BARS);
    let rectangles = |color: &str| -> Vec<(f64, f64)> {
        svg.lines()
            .filter(|line| {
                line.starts_with("<rect ") && line.contains(&format!("fill=\"{color}\""))
            })
            .map(|line| {
                let number = |name: &str| -> f64 {
                    let rest = line.split(&format!(" {name}=\"")).nth(1).unwrap();
                    rest.split('"').next().unwrap().parse().unwrap()
                };
                (number("y") + number("height"), number("height"))
            })
            .collect()
    };
    let (uniform, biased) = (rectangles("#0072B2"), rectangles("#D55E00"));
    // Two domains and the legend.
    assert_eq!((uniform.len(), biased.len()), (3, 3));
    let base = uniform[0].0;
    assert!(
        biased.iter().all(|(_, height)| *height > 20.0),
        "the shortest bar is visible: {biased:?}"
    );
    assert!(
        [uniform[1], biased[0], biased[1]].iter().all(|(bottom, _)| (bottom - base).abs() <= 1.0)
    );
    // Equal ratios are equal distances on a logarithmic axis; the ratio is 0.6 for both domains.
    let distances = [uniform[0].1 - biased[0].1, uniform[1].1 - biased[1].1];
    assert!(distances[0] > 20.0 && (distances[0] - distances[1]).abs() <= 2.0, "{distances:?}");
    assert!(texts(&svg).contains(&"0.794"), "value labels: {:?}", texts(&svg));
}

#[test]
fn means_have_whiskers_and_published_values_rings() {
    let root = root_with(&results());
    let figure = "[[figure]]\nfile = \"s9/means\"\ntitle = \"Means\"\nkind = \"lines\"\n\
        x = \"queries\"\nx_label = \"q\"\ny = \"share\"\ny_label = \"share\"\n\
        series = \"sampling\"\naggregate = \"mean\"\n\
        published = { file = \"p.csv\", rename = { sampling = { \"U\" = \"uniform\" } } }\n";
    write(
        root.path(),
        "data/published/p.csv",
        "sampling,queries,value\nU,100,0.7\nU,1000,NI\nother,100,0.5\n",
    );
    let svg = fs::read_to_string(&drawn(root.path(), figure)[0]).unwrap();
    let texts = texts(&svg);
    assert!(texts.contains(&"published") && texts.contains(&"smallest to largest"), "{texts:?}");
    // The published point and its legend entry each have two arcs with two halo arcs.
    let arcs =
        svg.lines().filter(|line| line.starts_with("<polyline") && line.matches(',').count() > 20);
    assert_eq!(arcs.count(), 8);
}

/// An unmarked series has no markers in the drawing or the legend; other series have markers.
#[test]
fn an_unmarked_series_is_a_line_only() {
    let figure = "[[figure]]\nfile = \"s9/bound\"\ntitle = \"B\"\nkind = \"lines\"\n\
        x = \"queries\"\nx_label = \"q\"\ny = \"share\"\ny_label = \"share\"\n\
        series = \"sampling\"\nwhere = { domain = [\"1024\"] }\n";
    // For each colour, whether there are shapes other than lines.
    let marked = |more: &str| {
        let svg = svg_of(&results(), &format!("{figure}{more}"));
        ["#0072B2", "#D55E00"].map(|color| {
            svg.lines().any(|line| line.contains(color) && !line.starts_with("<polyline"))
        })
    };
    assert_eq!(marked(""), [true, true]);
    assert_eq!(marked("unmarked = [\"uniform\"]\n"), [false, true]);
}

/// Whiskers extend by one standard error on both sides; a figure without standard errors is
/// refused.
#[test]
fn standard_errors_are_whiskers() {
    let table = |se: f64| {
        format!(
            "{HEAD}s9/f,c,u,1024,100,m,share,2,,,,0,1,7\n\
             s9/f,c,u,1024,100,m,share_se,{se},,,,0,1,7\n"
        )
    };
    let figure = LINES.replace("series_names", "y_error = \"share_se\"\nseries_names");
    let drawing = |se: f64, figure: &str| svg_of(&table(se), figure);
    let (narrow, wide) = (drawing(0.1, &figure), drawing(0.5, &figure));
    assert!(texts(&narrow).contains(&"± standard error"));
    assert!(!texts(&drawing(0.1, LINES)).contains(&"± standard error"));
    assert_ne!(narrow, wide);
    assert_refused(&results(), &figure, &["\"share_se\"", "y_error"]);
}

/// A published value of 0.0007 with scale 1000 is drawn like 0.7.
#[test]
fn published_values_are_drawn_in_the_figure_s_unit() {
    let drawing = |value: &str, scale: &str| {
        let root = root_with(&results());
        let figure = format!("{}published = {{ file = \"p.csv\"{scale} }}\n", LINES);
        write(
            root.path(),
            "data/published/p.csv",
            &format!("domain,sampling,queries,value\n1024,uniform,100,{value}\n"),
        );
        fs::read_to_string(&drawn(root.path(), &figure)[0]).unwrap()
    };
    let (plain, scaled) = (drawing("0.7", ""), drawing("0.0007", ", scale = 1000"));
    assert_eq!(plain, scaled);
    assert_ne!(plain, drawing("0.0007", ", scale = 900"));
}

#[test]
fn invalid_inputs_are_refused_with_the_reason() {
    let duplicated = BARS.replace("where = { queries = [\"100\"] }\n", "");
    assert_refused(&results(), &duplicated, &["line 3 on the same point", "aggregate"]);
    let categorical = LINES.replace("x = \"queries\"", "x = \"method\"");
    let parts = ["a positive number in column \"method\" on line 2"];
    assert_refused(&results(), &categorical, &parts);
    let unknown = LINES.replace("series = \"domain\"", "series = \"domian\"");
    let parts = ["a column \"domian\" (named by the config key `series`)"];
    assert_refused(&results(), &unknown, &parts);
    let absent = LINES.replace("y = \"share\"", "y = \"rmse\"");
    assert_refused(&results(), &absent, &["rows with metric \"rmse\"", "configs/s9/f.toml"]);
    let negative = format!("{HEAD}s9/f,c,u,1024,100,m,share,-1,,,,0,1,7\n");
    assert_refused(&negative, BARS, &["a positive number as metric share on line 2", "\"-1\""]);
}

#[test]
fn a_missing_table_names_the_command_and_other_figures_are_drawn() {
    let root = root_with(&results());
    let present = config(root.path(), LINES);
    let mut absent = present.clone();
    absent.experiment = "s9/absent".to_owned();
    let error =
        draw_all(root.path(), &[absent, present], Profile::Standard).unwrap_err().to_string();
    assert!(error.contains("file results/s9/absent.csv"), "{error}");
    assert!(error.contains("reproduce run configs/s9/absent.toml --profile standard"), "{error}");
    assert!(root.path().join("figures/s9/lines.png").exists());
}

#[test]
fn figures_of_quick_have_a_separate_folder_and_may_be_absent() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "results/quick/s9/f.csv", &results());
    let outside = LINES.replace("s9/lines", "s9/outside").replace("y = \"share\"", "y = \"rmse\"");
    let config = config(root.path(), &format!("{LINES}{outside}"));
    let files = draw_all(root.path(), &[config], Profile::Quick).unwrap();
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|file| file.starts_with(root.path().join("results/quick/figures"))));
    assert!(!root.path().join("figures").exists());
}

#[test]
fn a_single_point_can_be_drawn() {
    let table = format!("{HEAD}s9/f,c,u,1024,100,m,share,1,,,,0,1,7\n");
    for figure in [
        LINES.replace("reference_lines", "#"),
        LINES.replace("y = ", "y_log = true\ny = "),
        BARS.to_owned(),
    ] {
        let svg = svg_of(&table, &figure);
        assert!(!svg.contains("NaN") && texts(&svg).len() > 5, "{:?}", texts(&svg));
        assert!(!svg.contains(&i32::MAX.to_string()) && !svg.contains(&i32::MIN.to_string()));
    }
}

/// Compares the labels of both axes with those of a drawing without the second axis.
#[test]
fn a_second_axis_has_a_separate_scale() {
    let table = results().replace(",0.1,1,7", ",250,1,7");
    let second = "[figure.second]\ny = \"share\"\ny_column = \"seconds\"\ny_label = \"time / s\"\n\
                  series_names = { \"1024\" = \"time, 1024\" }\nwhere = { domain = [\"1024\"] }\n";
    let svg = svg_of(&table, &format!("{LINES}{second}"));
    let texts = texts(&svg);
    for part in ["share of the error", "time / s", "time, 1024"] {
        assert!(texts.contains(&part), "{part} in {texts:?}");
    }
    let alone = svg_of(&table, LINES);
    let labels = |svg: &str| {
        self::texts(svg).iter().filter(|text| text.parse::<f64>().is_ok_and(|x| x <= 1.2)).count()
    };
    assert_eq!(labels(&svg), labels(&alone), "the first axis is unchanged");
    assert!(
        texts.iter().any(|text| text.parse() == Ok(250.0)),
        "the second axis has the times: {texts:?}"
    );
}

#[test]
fn matrices_have_an_entry_per_cell_and_no_legend() {
    let mut rows = HEAD.to_owned();
    for (query, entries) in [(1, [0.25, -1.0]), (2, [0.0, 0.5])] {
        for (cell, entry) in entries.iter().enumerate() {
            rows.push_str(&format!(
                "s9/f,c,left,{},{query},m,entry,{entry},,,,0.1,1,7\n",
                cell + 1
            ));
        }
    }
    let figure = "[[figure]]\nfile = \"s9/m\"\ntitle = \"M\"\nkind = \"matrices\"\n\
                  x = \"domain\"\nx_label = \"cell\"\ny = \"entry\"\ny_label = \"query\"\n\
                  series = \"queries\"\n";
    let svg = svg_of(&rows, figure);
    let texts = texts(&svg);
    let count = |text: &str| texts.iter().filter(|found| **found == text).count();
    assert_eq!((count("0.25"), count("−1"), count("0.5")), (1, 1, 1), "{texts:?}");
    assert_eq!(
        (count("1"), count("2")),
        (2, 2),
        "one label for each row and column, none in a legend: {texts:?}"
    );
}
