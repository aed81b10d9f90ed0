//! Tests of table.

use super::*;

fn table(text: &str) -> Table {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    Table::read(&path, "t.csv", "none").unwrap()
}

#[test]
fn matches_returns_all_equal_rows() {
    let known = table("name,kind\na,x\nb,x\nc,\na,y\n");
    let ours = table("kind,more,name\n,1,c\nx,2,a\nx,3,a\nz,4,a\n");
    let on = ["name".to_owned(), "kind".to_owned()];
    assert_eq!(known.matches(&ours, &on).unwrap(), [vec![1, 2], vec![], vec![0], vec![]]);
    let none = ours.with("name", "nobody").unwrap();
    assert_eq!(known.matches(&none, &on).unwrap(), vec![Vec::<usize>::new(); 4]);
    let error = known.matches(&ours, &["more".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("a column \"more\""), "{error}");
}

#[test]
fn fields_keep_their_text() {
    let table = table("id,value,note\na,5.320e6,\nb,\"3,694.70\",\"x, y\"\n");
    assert_eq!((table.len(), table.columns()), (2, vec!["id", "value", "note"]));
    assert_eq!(table.fields("value").collect::<Vec<_>>(), ["5.320e6", "3,694.70"]);
    assert_eq!((table.field("note", 0), table.field("note", 1)), ("", "x, y"));
    assert_eq!((table.field("absent", 0), table.number("value", 0)), ("", Some(5.32e6)));
    let error = table.require("absent", "join").unwrap_err().to_string();
    assert!(error.contains("id, value, note") && error.contains("`join`"), "{error}");
}

#[test]
fn filtered_rows_keep_their_lines() {
    let table = table("a,b\n1,x\n2,\n3,x\n4,y\n");
    let filter = |column: &str, values: &[&str]| {
        BTreeMap::from([(
            column.to_owned(),
            values.iter().map(|value| (*value).to_owned()).collect(),
        )])
    };
    let lines = |table: &Table| (0..table.len()).map(|row| table.line(row)).collect::<Vec<_>>();
    assert_eq!(lines(&table.filtered(&filter("b", &["y", "x"]), "where").unwrap()), [2, 4, 5]);
    assert_eq!(lines(&table.filtered(&filter("b", &[""]), "where").unwrap()), [3]);
    assert!(table.filtered(&filter("b", &[]), "where").unwrap().is_empty());
    assert!(
        table.filtered(&filter("c", &["y"]), "where").unwrap_err().to_string().contains("`where`")
    );
    assert_eq!(lines(&table.with("b", "x").unwrap()), [2, 4]);
    assert!(table.with("c", "x").unwrap().is_empty());
    let renamed =
        table.renamed("b", &BTreeMap::from([("x".to_owned(), "ours".to_owned())])).unwrap();
    assert_eq!(renamed.fields("b").collect::<Vec<_>>(), ["ours", "", "ours", "y"]);
}

#[test]
fn points_are_summarised_in_the_order_of_their_first_occurrence() {
    let table = table("series\nb\na\nb\nb\n");
    let found = table
        .summarised(&["series", "absent"], &[2.0, 1.0, 1.0, 2.0], &[1.0, 7.0, 9.0, 4.0])
        .unwrap();
    let summary = |rows: &[usize], mean, smallest, largest| Summary {
        rows: rows.to_vec(),
        mean,
        smallest,
        largest,
    };
    assert_eq!(
        found,
        [
            summary(&[0, 3], 2.5, 1.0, 4.0),
            summary(&[1], 7.0, 7.0, 7.0),
            summary(&[2], 9.0, 9.0, 9.0)
        ]
    );
}
