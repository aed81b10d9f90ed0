//! Independent checks of staged releases: costs, attacks, coverage and planted mistakes.

mod audit;
mod cost;
mod counts;
mod coverage;
mod damaged;
mod files;
mod levels;
mod planted;
mod queries;
mod releases;
mod synthetic;

use super::run::{empty, measure};
use super::*;
use crate::access::ReleaseNoise;
use crate::access::ReleaseTable;
use crate::data::{OutOfDomain, Records};
use crate::privacy::PrivacyUnit;
use crate::release::tests::{records_of, rows, schema_text, sources};
use crate::release::{IntegerMeasurement, Reservation, Terms};
use crate::test_support::{rho, schema};
use crate::workload::GroupedWorkload;
use releases::*;
