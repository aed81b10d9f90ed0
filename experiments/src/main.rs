//! The command `reproduce`: from configs to results, figures and verdicts.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

use std::process::ExitCode;

use clap::Parser;
use experiments::cli::{Arguments, execute, report_error};
use experiments::datasets::Catalogue;
use experiments::engine::Display;
use experiments::registry::Kinds;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let display = Display::detect();
    let filter = std::env::var("RUST_LOG")
        .ok()
        .and_then(|text| text.parse::<Targets>().ok())
        .unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let writer = display.clone();
    tracing_subscriber::fmt()
        .with_writer(move || writer.log_writer())
        .with_target(false)
        .without_time()
        .finish()
        .with(filter)
        .init();
    let catalogue = Catalogue::of_process(&arguments.root);
    match execute(&arguments, &Kinds::all(&catalogue), &catalogue, &display) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report_error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}
