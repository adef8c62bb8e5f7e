//! Says how it goes, and at the end what held, what did not, and how long each took.

use std::time::{Duration, Instant};

/// How the scenarios went so far.
pub(crate) struct Report {
    wanted: usize,
    current: Option<(String, Instant)>,
    rows: Vec<Row>,
    /// Those for which there was no time.
    left_out: Vec<String>,
}

struct Row {
    name: String,
    took: Duration,
    outcome: Result<Vec<String>, String>,
}

impl Report {
    pub(crate) const fn new(wanted: usize) -> Self {
        Self { wanted, current: None, rows: Vec::new(), left_out: Vec::new() }
    }

    pub(crate) fn begin(&mut self, name: &str) {
        println!("[{}/{}] {name}", self.rows.len() + 1, self.wanted);
        self.current = Some((name.to_owned(), Instant::now()));
    }

    pub(crate) fn end(&mut self, outcome: anyhow::Result<Vec<String>>) {
        let Some((name, began)) = self.current.take() else { return };
        let took = began.elapsed();
        match &outcome {
            Ok(notes) => {
                println!("      held, {:.1} s", took.as_secs_f64());
                notes.iter().for_each(|note| println!("      {note}"));
            }
            Err(error) => println!("      FAILED after {:.1} s: {error:#}", took.as_secs_f64()),
        }
        self.rows.push(Row { name, took, outcome: outcome.map_err(|error| format!("{error:#}")) });
    }

    pub(crate) fn leave_out(&mut self, name: &str) {
        self.left_out.push(name.to_owned());
    }

    /// The last lines; whether everything held that was begun.
    pub(crate) fn conclude(&self) -> bool {
        println!();
        for row in &self.rows {
            let (word, more) = match &row.outcome {
                Ok(_) => ("held  ", ""),
                Err(why) => ("FAILED", why.lines().next().unwrap_or_default()),
            };
            println!("{word} {:>7.1} s  {}  {more}", row.took.as_secs_f64(), row.name);
        }
        self.left_out.iter().for_each(|name| println!("no time           {name}"));
        let held = self.rows.iter().filter(|row| row.outcome.is_ok()).count();
        let time: Duration = self.rows.iter().map(|row| row.took).sum();
        println!("{held} of {} scenarios held, {:.0} s", self.wanted, time.as_secs_f64());
        held == self.rows.len() && held > 0
    }
}
