//! Groups of workloads that measure queries.

use std::path::Path;

use super::*;
use crate::workload::{GroupedWorkload, QueryGroup};

fn groups(text: &str) -> Vec<QueryGroup> {
    let schema = schema();
    ResolvedQuery::parse(text, &schema).unwrap().groups(&schema, 1.0).unwrap()
}

#[test]
fn exact_families_are_used_if_there_are_some() {
    let families = |text: &str| -> Vec<(String, String)> {
        let of = |g: &QueryGroup| (schema().names(g.attributes()), g.family().to_owned());
        groups(text).iter().map(of).collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(families("total"), [pair("age", "total")]);
    assert_eq!(families("count by sex"), [pair("sex", "identity")]);
    assert_eq!(families("count by region"), [pair("place of work", "level(region)")]);
    assert_eq!(families("quantile(children, 0.1)"), [pair("children", "prefix")]);
    assert_eq!(families("median(age)"), [pair("age", "prefix")]);
    assert_eq!(families("median(age) where age >= 25"), [pair("age", "rows")]);
    assert_eq!(
        families("mean(children) by sex"),
        [pair("sex, children", "product"), pair("sex", "identity")]
    );
    assert_eq!(families("count where sex = F"), [pair("sex", "rows")]);
    assert_eq!(families("share of sex = F - share of sex = M").len(), 3);
}

/// The queries of groups are the rows of the products, with values divided by the largest.
#[test]
fn queries_of_groups_are_those_of_the_query() {
    let schema = schema();
    let text = "sum(children) where age >= 50 by region";
    let query = ResolvedQuery::parse(text, &schema).unwrap();
    let Quantity::Linear(products) = &query.terms[0].1 else { panic!("{text}") };
    let groups = query.groups(&schema, 3.0).unwrap();
    let expected: Vec<Vec<f64>> = (0..2).map(|k| products.weights(k)).collect();
    let halves = |row: Vec<f64>| row.into_iter().map(|x| 2.0 * x).collect::<Vec<f64>>();
    assert_eq!(groups[0].rows().unwrap().map(halves).collect::<Vec<_>>(), expected);
    assert_eq!(groups[0].weight(), 3.0);
    let cells: Vec<f64> = (0..expected[0].len()).map(|k| (k * k % 7) as f64).collect();
    assert_eq!(halves(groups[0].answers(&cells).unwrap()), products.answers(&cells));
}

#[test]
fn workload_files_have_queries() {
    let read = |text: &str| {
        GroupedWorkload::from_toml(&schema(), text, "W.toml", Path::new(""))
            .map_err(|e| e.to_string())
    };
    let text = "[[queries]]\nquery = \"mean(children) by region\"\nweight = 2\n\
                [[queries]]\nfamily = \"identity\"\nways = [1]\n";
    let workload = read(text).unwrap();
    assert_eq!(workload.groups().len(), 2 + 7);
    assert_eq!(workload.groups()[1].weight(), 2.0);
    for (body, part) in [
        ("query = \"mean(childen)\"", "W.toml, [[queries]] number 1, query, line 1, column 6"),
        ("query = \"total\"\nfamily = \"identity\"", "only `weight` next to `query`"),
        ("query = \"total\"\nways = [1]", "key `ways`"),
        ("ways = [1]", "a `family` or a `query`"),
        ("query = \"total\"\nweight = -1", "a positive finite weight"),
    ] {
        let message = read(&format!("[[queries]]\n{body}\n")).unwrap_err();
        assert!(message.contains(part), "{body}: {message}");
    }
}
