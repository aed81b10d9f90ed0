//! A project without findings, in which tests then change one thing.

use std::fs;
use std::path::Path;

use experiments::compare;
use experiments::compare::report::{Line, Report};
use experiments::config::{Config, Profile, parse};
use experiments::error::{Error, Result};
use experiments::experiment::{CellOf, Experiment, Kind, Row};
use experiments::registry;
use rand_chacha::ChaCha20Rng;

pub const CLAIMS: &str = "\
id,where,workload,method,quantity,value
svdb,Example 9,range:8,svd-bound,total_error,5.32e2
ratio,Example 9,range:8,wavelet,ratio_to_svdb,1.53
better,Example 9,range:8,QS,ratio_to_svdb,2.23
time,Sec. 9,range:8,wavelet,seconds,5079
formula,App. Z,range:8,bound,threshold,sqrt(log n)
other,Sec. 10,range:16,wavelet,ratio_to_svdb,3
other2,Sec. 10,range:16,identity,ratio_to_svdb,4
";

pub const REFERENCE: &str = "\
id,where,workload,method,quantity,value,low,high
ref-digits,spec,range:8,wavelet,ratio_to_svdb,1.5291,,
ref-band,spec,range:8,query-smasher,ratio_to_svdb,1.8,1.7,1.9
";

pub const RESULTS: &str = "\
experiment,cell,workload,method,metric,value,lower_bound,gap,text,seconds,peak_mb,seed
s9/x,s9/x/workload=range:8/method=svd-bound,range:8,svd-bound,total_error,640.25,,,,0.1,1,7
s9/x,s9/x/workload=range:8/method=wavelet,range:8,wavelet,ratio_to_svdb,1.52912345,1,,,12.5,1,7
s9/x,s9/x/workload=range:8/method=query-smasher,range:8,query-smasher,ratio_to_svdb,1.81957,1.819569,2e-7,,0.1,1,7
s9/x,s9/x/workload=range:8/method=bound,range:8,bound,threshold,,,,sqrt(log n),0.1,1,7
";

pub const DEVIATIONS: &str = "\
[[deviation]]
id = \"svdb\"
expected = \"640.3\"
reason = \"the paper uses <half> of the queries | see there\"
";

pub const EXPLANATIONS: &str = "# Deviations\n\n<a id=\"svdb\"></a>\n## SVD bound\n";

pub const COMPARE: &str = "\
[[compare]]
published = \"claims.csv\"
filter = { where = [\"Example 9\", \"Sec. 9\", \"App. Z\"] }
join = [\"workload\", \"method\"]
metric_column = \"quantity\"
improvable = [\"query-smasher\"]
rename = { method = { \"QS\" = \"query-smasher\" } }
not_comparable = { seconds = \"timing on other hardware\" }
[[compare]]
reference = \"reference.csv\"
join = [\"workload\", \"method\"]
metric_column = \"quantity\"
";

/// The kind of the config: names the error metrics; its cells are never run.
#[derive(Debug)]
struct Demo;

impl Kind for Demo {
    type Grid = toml::Table;
    type Params = ();

    const NAME: &'static str = "demo";
    const SUMMARY: &'static str = "results that are written manually";
    const KEYS: &'static [&'static str] = &["workload"];
    const ERRORS: &'static [&'static str] = &["ratio_to_svdb"];
    const BOUND_ON_ALL: Option<&'static str> = Some("any");

    fn cells(&self, _: toml::Table) -> Result<Vec<CellOf<()>>> {
        Err(Error::bug("the comparison", "not to plan cells", "that it does"))
    }

    fn run(&self, _: &str, (): (), _: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        Err(Error::bug("the comparison", "not to run cells", "that it does"))
    }
}

/// A root without findings.
#[derive(Debug)]
pub struct Root {
    folder: tempfile::TempDir,
    /// The `[[compare]]` and `[[figure]]` tables of the config.
    pub tables: String,
}

impl Root {
    pub fn new() -> Self {
        let root = Self { folder: tempfile::tempdir().unwrap(), tables: COMPARE.to_owned() };
        root.write("data/published/claims.csv", CLAIMS);
        root.write("data/expected/reference.csv", REFERENCE);
        root.write("data/expected/deviations.toml", DEVIATIONS);
        root.write("docs/deviations.md", EXPLANATIONS);
        root.write("results/s9/x.csv", RESULTS);
        root
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap()
    }

    pub fn config(&self) -> Config {
        let text = format!(
            "experiment = \"s9/x\"\nkind = \"demo\"\ntitle = \"Example 9\"\n\
             reproduces = \"S9, Example 9\"\nseed = 7\nexpected_seconds = 1\nexpected_mb = 1\n\
             [grid]\n{}",
            self.tables
        );
        parse(&self.path().join("configs/s9/x.toml"), &text).unwrap()
    }

    pub fn try_compare(&self, profile: Profile) -> Result<Report> {
        let kinds: Vec<Box<dyn Experiment>> = vec![Box::new(Demo)];
        compare::run(self.path(), &[self.config()], &kinds, profile)
    }

    pub fn compare(&self) -> Report {
        self.try_compare(Profile::Standard).unwrap()
    }

    /// Writes the figures of the config.
    pub fn draw(&self) {
        experiments::figures::draw_all(
            self.path(),
            &[self.config()],
            &registry::figures(),
            Profile::Standard,
        )
        .unwrap();
    }

    pub fn input_error(&self) -> String {
        let error = self.try_compare(Profile::Standard).unwrap_err();
        error.to_string()
    }
}

pub fn line<'r>(report: &'r Report, id: &str) -> &'r Line {
    report.sections[0].lines.iter().find(|line| line.id == id).unwrap()
}

pub fn titles(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.title.as_str()).collect()
}
