//! Independent checks of releases: cost, distribution, attack, planted mistakes, damaged inputs.

pub(super) mod audit;
mod conditions;
pub(super) mod cost;
pub(super) mod damaged;
mod distinct;
mod every_source;
mod neighbours;
mod planted;
pub(super) mod queries;
mod releases;
mod report;
mod statistics;

use super::*;
use crate::access::ReleaseNoise;
use crate::data::{Column, OutOfDomain, Records};
use crate::privacy::PrivacyUnit;
use crate::schema::Schema;
use crate::test_support::{rho, schema};
use crate::workload::GroupedWorkload;
pub(super) use releases::*;
