//! The simulation itself: the same seed gives the same run.

use dst::{run, scenarios, swarm};

#[test]
fn the_same_seed_gives_the_same_trace_twice() {
    for seed in 1..=6 {
        let case = swarm::case(seed);
        let (one, two) = (run(&case), run(&case));
        for (first, second) in one.trace.lines().iter().zip(two.trace.lines()) {
            assert_eq!(first, second, "seed {seed}");
        }
        assert_eq!(one.trace.hash(), two.trace.hash(), "seed {seed}");
        println!("seed {seed}: {:016x}, {} lines {:?}", one.trace.hash(), one.trace.lines().len(), one.violations);
    }
}

#[test]
fn scenarios_hold_without_faults() {
    for case in scenarios::all().iter().step_by(5) {
        let report = run(case);
        assert!(report.is_sound(), "{}", report.story());
    }
}
