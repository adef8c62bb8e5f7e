//! Upstream's own controllers and ours, each on a real API server of its own, with clouds that answer the same: the same
//! script of objects and edits goes into both, and after every stage everything that can be seen of both is compared.
//!
//! A difference is either listed in `differences`, with its reason, or a fault; one that is listed and does not occur is a
//! fault of the list. The API server's audit log says what each of the two wrote.

#![expect(clippy::indexing_slicing, reason = "an object without the field fails the test, as it should")]

mod compare;
mod differences;
mod edit;
mod objects;
mod record;
mod script;
mod seen;
mod side;

use std::time::Instant;

use anyhow::ensure;
use bowline_testkit::apiserver::Binaries;

use crate::record::Record;
use crate::side::{Program, Side};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_does_what_upstream_does_except_where_it_is_said_why_not() -> anyhow::Result<()> {
    let Some(upstream) = Binaries::locate()?.upstream_ccm else {
        println!(
            "not run: there is no upstream-ccm; `cargo xtask kubernetes` without KUBEBUILDER_ASSETS builds it"
        );
        return Ok(());
    };
    let (mut ours, mut theirs) =
        tokio::try_join!(Side::start(Program::ours()), Side::start(Program::upstream(upstream)))?;
    let (mut our_record, mut their_record) = (Record::default(), Record::default());
    for stage in script::stages() {
        let began = Instant::now();
        let (us, them) = tokio::try_join!(ours.play(&stage), theirs.play(&stage))?;
        our_record.stages.push(us);
        their_record.stages.push(them);
        println!("{:>6.1} s for: {}", began.elapsed().as_secs_f64(), stage.name);
    }
    (our_record.events, our_record.writes) = (ours.events().await?, ours.writes()?);
    (their_record.events, their_record.writes) = (theirs.events().await?, theirs.writes()?);
    let verdict = compare::compare(&our_record, &their_record);
    println!("{verdict}");
    ensure!(
        verdict.is_clean(),
        "ours and upstream's differ in what is not listed, or not in what is; see above\n{}\n{}",
        ours.log_tail(),
        theirs.log_tail()
    );
    Ok(())
}
