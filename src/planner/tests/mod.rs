//! Plans against explicit matrices on small domains, and relations between planners from S3.

mod closed_forms;
mod families;
mod measures;
mod objectives;
mod of_measurements;
mod planners;
mod samples;

use super::*;
use crate::domain::{AttributeSet, coordinates};
use crate::error::Result;
use crate::privacy::PrivacyCost;
use crate::schema::Schema;
use crate::test_support::{all_ways, gram, schema, set};
use crate::workload::{
    Family, GroupFamily, GroupQueries, GroupedWorkload, JointQueries, QueryGroup,
};
use approx::{assert_abs_diff_eq, assert_relative_eq};
use matmech_linalg as linalg;
use ndarray::{Array1, Array2, Axis};
use samples::*;
use std::sync::Arc;
