//! Texts, syntax trees and positions of mistakes.

use proptest::prelude::*;

use super::*;

#[test]
fn every_production_is_parsed() {
    for (text, canonical) in [
        ("total", "total"),
        ("count", "count"),
        ("count where age>=65 and sex = F", "count where age >= 65 and sex = F"),
        ("count by sex,region", "count by sex, region"),
        ("count where employed by region of area", "count where employed by region of area"),
        ("sum( pay )", "sum(pay)"),
        ("mean(pay) where a != -3.5e-2", "mean(pay) where a != -3.5e-2"),
        ("median(pay) where a between 1 and 2 and b", "median(pay) where a between 1 and 2 and b"),
        ("quantile(pay,0.9) by sex", "quantile(pay, 0.9) by sex"),
        ("share of a<1 and b where c by d", "share of a < 1 and b where c by d"),
        ("share of x in (1,\"2 3\" , z)", "share of x in (1, \"2 3\", z)"),
        ("total - count where a > 2 + total", "total - count where a > 2 + total"),
        ("count where \"a \"\"b\" = \"by\"", "count where \"a \"\"b\" = \"by\""),
        ("count where education-num <= 2020-01-31T10:00:00", {
            "count where education-num <= 2020-01-31T10:00:00"
        }),
        ("\n count\n where é = 1/3 ", "count where é = 1/3"),
        ("count where count = sum", "count where count = sum"),
    ] {
        let query = Query::parse(text).unwrap();
        assert_eq!(query.to_string(), canonical);
        assert_eq!(Query::parse(canonical).unwrap(), query);
    }
}

#[test]
fn conditions_come_before_or_after_the_combinations() {
    let after = Query::parse("mean(income) by region where age >= 65 - count by region").unwrap();
    let before = Query::parse("mean(income) where age >= 65 by region - count by region").unwrap();
    assert_eq!(after.to_string(), before.to_string());
}

/// The column of every mistake, from 1, and a part of the message.
#[test]
fn mistakes_are_shown_with_their_position() {
    for (text, column, part) in [
        ("", 1, "one of total, count"),
        ("number", 1, "total, count, sum"),
        ("cuont", 1, "did you mean `count`"),
        ("total-count", 1, "spaces around -"),
        ("\"count\"", 1, "one of total"),
        ("count were a = 1", 7, "`where`, `by`, `+`, `-` or the end"),
        ("total where a = 1", 7, "use `count`"),
        ("count where", 12, "name of an attribute"),
        ("count where where = 1", 13, "quote it"),
        ("count where a =", 16, "a value"),
        ("count where a = = 1", 17, "a value"),
        ("count where a = 1 or b = 2", 19, "`attribute in (a, b)`"),
        ("count where a = 1 b", 19, "`and`, `by`"),
        ("count where a in 1", 18, "`(`"),
        ("count where a in (1", 20, "`,` or `)`"),
        ("count where a between 1 or 2", 25, "`and`"),
        ("count where a = 1 & b", 19, "quote names"),
        ("count by", 9, "name of an attribute"),
        ("count by a b", 12, "`,`"),
        ("count by a where b = 1 where c = 2", 24, "only once per term"),
        ("mean income", 6, "`(`"),
        ("mean(income", 12, "`)`"),
        ("mean()", 6, "name of an attribute"),
        ("quantile(a)", 11, "`,`"),
        ("quantile(a, )", 13, "a number from 0 to 1"),
        ("share employed", 7, "`of`"),
        ("count -", 8, "one of total"),
        ("count where a = \"b", 17, "a closing quote"),
        ("count where a of = 1", 18, "name of an attribute"),
        ("é count", 1, "one of total"),
    ] {
        let message = Query::parse(text).unwrap_err().to_string();
        let position = format!("query, line 1, column {column}: ");
        assert!(message.starts_with(&position) && message.contains(part), "{text}: {message}");
        let caret = message.lines().find(|line| line.trim_start().starts_with('^')).unwrap();
        assert_eq!(caret.chars().take_while(|c| *c == ' ').count(), 4 + column - 1, "{message}");
    }
    let message = Query::parse("count where a = 1\n  or b").unwrap_err().to_string();
    assert!(message.contains("line 2, column 3") && message.contains("    or b"), "{message}");
}

fn word() -> impl Strategy<Value = Word> {
    let text = prop_oneof!["[a-z][a-z0-9_-]{0,3}", "\\PC{1,5}", "-?[0-9]{1,3}", Just("by".into())];
    text.prop_map(|text: String| Word { text, at: 0..0 })
}

fn name() -> impl Strategy<Value = Name> {
    (prop::option::of(word()), word()).prop_map(|(level, word)| Name { level, word })
}

fn condition() -> impl Strategy<Value = Condition> {
    let operator = (0..Operator::ALL.len()).prop_map(|k| Operator::ALL[k]);
    let test = prop_oneof![
        Just(Test::IsTrue),
        (operator, word()).prop_map(|(operator, value)| Test::Compare(operator, value)),
        prop::collection::vec(word(), 1..4).prop_map(Test::In),
        (word(), word()).prop_map(|(low, high)| Test::Between(low, high)),
    ];
    (name(), test).prop_map(|(name, test)| Condition { name, test })
}

fn term() -> impl Strategy<Value = Term> {
    let measure = prop_oneof![
        Just(Measure::Total),
        Just(Measure::Count),
        name().prop_map(Measure::Sum),
        name().prop_map(Measure::Mean),
        name().prop_map(Measure::Median),
        (name(), word()).prop_map(|(name, share)| Measure::Quantile(name, share)),
        prop::collection::vec(condition(), 1..3).prop_map(Measure::Share),
    ];
    let conditions = prop::collection::vec(condition(), 0..3);
    let by = prop::collection::vec(name(), 0..3);
    (any::<bool>(), measure, conditions, by).prop_map(|(is_subtracted, measure, conditions, by)| {
        let is_total = measure == Measure::Total;
        let conditions = if is_total { Vec::new() } else { conditions };
        let by = if is_total { Vec::new() } else { by };
        Term { is_subtracted, measure, conditions, by }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    /// A rendered query parses to itself.
    #[test]
    fn texts_of_queries_are_canonical(mut terms in prop::collection::vec(term(), 1..4)) {
        terms[0].is_subtracted = false;
        let query = Query { terms };
        let text = query.to_string();
        prop_assert_eq!(Query::parse(&text).map_err(|e| e.to_string()), Ok(query), "{}", text);
    }

    /// No text makes the parser panic.
    #[test]
    fn any_text_is_parsed_or_refused(
        text in "\\PC{0,40}",
        words in "(count|where|by|a|=|1|[(),\"+-]| ){0,20}",
    ) {
        let schema = super::schema();
        for text in [text, words] {
            let _ = ResolvedQuery::parse(&text, &schema).map_err(|e| e.to_string());
        }
    }
}
