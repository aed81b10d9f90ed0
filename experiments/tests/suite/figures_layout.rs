//! Tests of panels in rows, of marks on top of others, and of figures that take keys of others.

// Clippy's exception for tests does not cover functions that tests share.
use std::fs;
use std::path::Path;

use experiments::config::{Config, Profile, parse};
use experiments::{figures, registry};

const HEAD: &str =
    "experiment,cell,part,x,method,metric,value,lower_bound,gap,text,seconds,peak_mb,seed\n";
const FIGURE: &str = "[[figure]]\nfile = \"s9/a\"\ntitle = \"A\"\nkind = \"lines\"\nx = \"x\"\n\
    x_label = \"x\"\ny = \"m\"\ny_label = \"m\"\nseries = \"method\"\n";

fn config(root: &Path, figures: &str) -> Config {
    let text = format!(
        "experiment = \"s9/f\"\nkind = \"demo\"\ntitle = \"F\"\nreproduces = \"S9\"\nseed = 7\n\
         expected_seconds = 1\nexpected_mb = 1\n[grid]\n{figures}"
    );
    parse(&root.join("configs/s9/f.toml"), &text).unwrap()
}

/// Returns the SVG of a figure; `rows` are part, x, method and value.
fn svg(rows: &[(&str, u32, &str, f64)], figures: &str, file: &str) -> String {
    let root = tempfile::tempdir().unwrap();
    let rows: String = rows
        .iter()
        .map(|(part, x, method, value)| {
            format!("s9/f,c,{part},{x},{method},m,{value},,,,0.1,1,7\n")
        })
        .collect();
    fs::create_dir_all(root.path().join("results/s9")).unwrap();
    fs::write(root.path().join("results/s9/f.csv"), format!("{HEAD}{rows}")).unwrap();
    let configs = [config(root.path(), figures)];
    figures::draw_all(root.path(), &configs, &registry::figures(), Profile::Standard).unwrap();
    fs::read_to_string(root.path().join(format!("figures/{file}.svg"))).unwrap()
}

/// Returns the vertical position of a text.
fn height(svg: &str, text: &str) -> f64 {
    let (before, _) = svg.split_once(&format!("\n{text}\n")).unwrap();
    let (_, element) = before.rsplit_once("<text ").unwrap();
    let (_, y) = element.split_once(" y=\"").unwrap();
    y.split('"').next().unwrap().parse().unwrap()
}

#[test]
fn panels_are_in_rows() {
    let rows: Vec<_> = ["north", "east", "south"]
        .into_iter()
        .flat_map(|part| [(part, 1, "p", 1.0), (part, 2, "p", 2.0)])
        .collect();
    let in_rows = |columns: &str| {
        let svg = svg(&rows, &format!("{FIGURE}panel = \"part\"\n{columns}"), "s9/a");
        ["north", "east", "south"].map(|part| height(&svg, part))
    };
    let [north, east, south] = in_rows("panel_columns = 2\n");
    assert!(north == east && south > north + 1000.0, "{north}, {east}, {south}");
    let [north, east, south] = in_rows("");
    assert!(north == east && east == south);
}

/// The line of a second series on top of the first has dashes, and its markers are outlines, which
/// are lines; elsewhere the line is one polyline and the markers are polygons.
#[test]
fn marks_on_top_of_others_leave_them_visible() {
    let drawn = |second: f64| {
        let rows =
            [("a", 1, "p", 1.0), ("a", 2, "p", 2.0), ("a", 1, "q", second), ("a", 2, "q", 2.0)];
        let svg = svg(&rows, FIGURE, "s9/a");
        let of_color = |element: &str| {
            svg.lines().filter(|line| line.contains("#D55E00") && line.starts_with(element)).count()
        };
        (of_color("<polyline"), of_color("<polygon"))
    };
    let (apart_lines, apart_markers) = drawn(1.5);
    let (lines, markers) = drawn(1.0);
    assert!(lines > apart_lines + 4, "{lines} and {apart_lines} lines");
    assert_eq!((apart_markers, markers), (2, 1), "with the marker of the legend");
}

#[test]
fn a_figure_takes_the_keys_of_an_earlier_one() {
    let root = Path::new("/");
    let more = "[[figure]]\nlike = \"s9/a\"\nfile = \"s9/b\"\ntitle = \"B\"\ny_log = true\n";
    let config = config(root, &format!("{FIGURE}{more}"));
    let (a, b) = (&config.figure[0], &config.figure[1]);
    assert_eq!((b.file.as_str(), b.title.as_str(), b.y_log), ("s9/b", "B", true));
    assert_eq!((&b.kind, &b.x, &b.series), (&a.kind, &a.x, &a.series));
    assert!(!a.y_log);
}
