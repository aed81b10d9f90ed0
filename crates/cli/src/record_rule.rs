//! What happens to records with values outside the schema, on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use matmech::data::OutOfDomain;

/// The rule of a table that may be seen; absent to refuse it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublicRule(pub(crate) Option<OutOfDomain>);

/// Returns the parser of rules for tables that may be seen.
pub(crate) fn public_rule() -> impl TypedValueParser<Value = PublicRule> {
    names(true).try_map(|name| OutOfDomain::of_name(&name).map(PublicRule))
}

/// Returns the parser of rules for private tables.
pub(crate) fn private_rule() -> impl TypedValueParser<Value = OutOfDomain> {
    names(false).try_map(|name| OutOfDomain::of_name_for_private(&name))
}

fn names(is_public: bool) -> PossibleValuesParser {
    let rules = OutOfDomain::NAMES.into_iter().filter(|(_, rule, _)| is_public || rule.is_some());
    rules.map(|(name, _, help)| PossibleValue::new(name).help(help)).collect::<Vec<_>>().into()
}
