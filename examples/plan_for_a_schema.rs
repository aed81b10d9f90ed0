//! Computes the expected errors for a schema, without data: QuerySmasher's plan for a budget.
//!
//! Every attribute has a family of queries: ranges of ages, incomes up to a limit, every region,
//! either sex. The workload is all of these queries, and their products for pairs of attributes.
//!
//! ```sh
//! cargo run --release --example plan_for_a_schema
//! ```

use std::error::Error;
use std::io::Write;

use matmech::workload::{QueryGroup, attribute_sets};
use matmech::{
    Attribute, AttributeKind, Family, GroupedWorkload, Guarantee, Planner, PrivacyBudget,
    QuerySmasher, Schema,
};

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout().lock())
}

/// Writes the program's output to `out`, so that a test can read it.
pub fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let attribute = |name: &str, size, kind| Attribute::new(name, size, kind);
    let schema = Schema::new(vec![
        attribute("age", 50, AttributeKind::Numeric),
        attribute("income", 32, AttributeKind::Numeric),
        attribute("region", 12, AttributeKind::Categorical),
        attribute("sex", 2, AttributeKind::Categorical),
    ])?;
    let families = [Family::RANGE, Family::PREFIX, Family::IDENTITY, Family::IDENTITY];

    // A group has the queries on one set of attributes, here the products of their families.
    let mut groups = Vec::new();
    for set in attribute_sets(&schema, &[1, 2])? {
        let chosen: Vec<Family> = set.positions().map(|position| families[position]).collect();
        groups.push(QueryGroup::product(&schema, set, &chosen, 1.0)?);
    }
    let workload = GroupedWorkload::new(schema, groups)?;

    // The plan needs the budget as a privacy cost β: the sum over all measurements of squared
    // sensitivity divided by variance.
    let budget = PrivacyBudget::from(Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 });
    let cost = budget.privacy_cost()?;
    let plan = QuerySmasher::default().plan(&workload, cost)?;
    let bound = plan.lower_bound_rmse().ok_or("QuerySmasher proves a lower bound")?;

    writeln!(out, "budget        {budget}")?;
    writeln!(out, "privacy cost  {:.9}", cost.get())?;
    writeln!(out, "measurements  {}, one per residual subspace", plan.measurements().len())?;
    writeln!(out, "rmse          {:.6} over {} queries", plan.rmse(), plan.queries())?;
    writeln!(out, "lower bound   {bound:.6}, for all strategies on the residual subspaces")?;
    writeln!(out, "{:>10}{:>12}  attributes", "queries", "rmse")?;
    for group in plan.groups() {
        let names = workload.schema().names(group.attributes);
        writeln!(out, "{:>10}{:>12.4}  {names}", group.queries.to_string(), group.rmse())?;
    }
    Ok(())
}
