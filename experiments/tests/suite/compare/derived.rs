//! Tests of derived rows in files.

use experiments::config::Profile;
use experiments::derive;
use experiments::layout::Results;

use crate::compare::root::{COMPARE, Root};

const DERIVE: &str = "[[derive]]\nmetric = \"saved\"\n\
    where = { metric = \"ratio_to_svdb\", method = \"wavelet\" }\nover = { method = \"query-smasher\" }\n\
    set = { id = \"a\" }\n";

const DERIVED: &str = "\
experiment,cell,workload,id,method,metric,value,from,column,formula,partner,seed
s9/x,s9/x/workload=range:8/method=wavelet,range:8,a,wavelet,saved,0.8403762,ratio_to_svdb,value,\
row/partner,s9/x/workload=range:8/method=query-smasher,7
";

#[test]
fn derived_rows_are_read_from_their_file() {
    let mut root = Root::new();
    root.tables = format!("{COMPARE}{DERIVE}");
    let error = root.input_error();
    assert!(error.contains("file results/s9/x.derived.csv"), "{error}");
    assert!(error.contains("run `reproduce compare --profile standard`"), "{error}");
    let folder = Results::new(root.path(), Profile::Standard);
    derive::write(folder, &root.config()).unwrap();
    let written = root.read("results/s9/x.derived.csv");
    let ratio = (1.529_123_45_f64 / 1.81957).to_string();
    assert_eq!(written.replace(&ratio, "0.8403762"), DERIVED);
    assert!(root.compare().findings.is_empty());
    root.write("data/published/saved.csv", "id,where,quantity,value\na,Sec. 9,saved,0.9\n");
    root.tables += "[[compare]]\npublished = \"saved.csv\"\njoin = [\"id\"]\n\
        metric_column = \"quantity\"\n";
    let report = root.compare();
    let found = &report.findings[0].found;
    assert!(found.contains("(results/s9/x.derived.csv, line 2, method wavelet)"), "{found}");
}
