//! The terminal: one line for each thing that happens, and on a terminal a status line below them that is written anew. Piped, it
//! is plain text. It says what it is told and knows nothing of what that means.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How a line sounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Something went as it should.
    Good,
    /// Something to know.
    Plain,
    /// Something that a person may have to look at.
    Bad,
    /// What the playground itself does.
    Stage,
}

impl Tone {
    /// The colour of the subject.
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Plain => "36",
            Self::Bad => "31",
            Self::Stage => "35",
        }
    }
}

/// Takes the status line away, whatever it was.
const CLEAR: &str = "\r\x1b[2K";

/// The longest status line that fits everywhere: one that wraps could not be taken away.
const STATUS_CHARS_MAX: usize = 78;

struct Inside {
    out: Box<dyn Write + Send>,
    is_live: bool,
    has_colour: bool,
    began: Instant,
    status: String,
    has_ended: bool,
}

/// Where things are told. Clones are the same.
#[derive(Clone)]
pub(crate) struct Terminal(Arc<Mutex<Inside>>);

impl Terminal {
    /// That of this process.
    pub(crate) fn of_process() -> Self {
        let is_live =
            std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self::new(Box::new(std::io::stdout()), is_live, is_live && !no_colour)
    }

    /// One that writes to `out`.
    pub(crate) fn new(out: Box<dyn Write + Send>, is_live: bool, has_colour: bool) -> Self {
        let inside = Inside {
            out,
            is_live,
            has_colour,
            began: Instant::now(),
            status: String::new(),
            has_ended: false,
        };
        Self(Arc::new(Mutex::new(inside)))
    }

    /// Whether somebody sees the status line.
    pub(crate) fn is_live(&self) -> bool {
        self.with(|inside| inside.is_live)
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.with(|inside| inside.began.elapsed())
    }

    /// Tells one thing.
    pub(crate) fn tell(&self, tone: Tone, subject: &str, text: &str) {
        self.with(|inside| {
            let line = line(inside.began.elapsed(), tone, subject, text, inside.has_colour);
            inside.write(&line);
        });
    }

    /// Writes a text as it is.
    pub(crate) fn write(&self, text: &str) {
        self.with(|inside| inside.write(text));
    }

    /// A heading.
    pub(crate) fn heading(&self, text: &str) {
        self.with(|inside| {
            let text = if inside.has_colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() };
            inside.write(&text);
        });
    }

    /// Writes the last words, if there are any, in place of the status line. Whatever is told afterwards, by whoever still runs, is not
    /// written.
    pub(crate) fn end(&self, last_words: Option<&str>) {
        self.with(|inside| {
            inside.status.clear();
            inside.draw(&last_words.map(|words| format!("{words}\n")).unwrap_or_default());
            inside.has_ended = true;
        });
    }

    /// Replaces the status line, where there is one.
    pub(crate) fn status(&self, text: &str) {
        self.with(|inside| {
            let text: String = text.chars().take(STATUS_CHARS_MAX).collect();
            if inside.is_live && inside.status != text {
                inside.status = text;
                inside.draw("");
            }
        });
    }

    fn with<R>(&self, work: impl FnOnce(&mut Inside) -> R) -> R {
        work(&mut self.0.lock())
    }
}

impl Inside {
    fn write(&mut self, text: &str) {
        self.draw(&format!("{text}\n"));
    }

    /// Nobody may listen any more: that is no reason to end.
    fn draw(&mut self, text: &str) {
        if self.has_ended {
            return;
        }
        let clear = if self.is_live { CLEAR } else { "" };
        let status = match (self.is_live && !self.status.is_empty(), self.has_colour) {
            (false, _) => String::new(),
            (true, true) => format!("\x1b[2m{}\x1b[0m", self.status),
            (true, false) => self.status.clone(),
        };
        self.out.write_all(format!("{clear}{text}{status}").as_bytes()).ok();
        self.out.flush().ok();
    }
}

/// One line: when, about what, and what happened.
fn line(elapsed: Duration, tone: Tone, subject: &str, text: &str, has_colour: bool) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let (on, off) =
        if has_colour { (format!("\x1b[{}m", tone.code()), "\x1b[0m") } else { (String::new(), "") };
    format!("{:>7.2} s  {on}{subject:<9}{off} {text}", elapsed.as_secs_f64())
}

/// A bar of `width` characters that is full as far as `done` is of `all`.
pub(crate) fn bar(done: usize, all: usize, width: usize) -> String {
    let full = (done.min(all) * width).checked_div(all).unwrap_or(width);
    format!("[{}{}]", "#".repeat(full), "-".repeat(width - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn said(is_live: bool, has_colour: bool, say: impl FnOnce(&Terminal)) -> String {
        let paper = Paper::default();
        say(&Terminal::new(Box::new(paper.clone()), is_live, has_colour));
        String::from_utf8(paper.0.lock().clone()).unwrap()
    }

    #[test]
    fn piped_output_is_plain_and_has_no_status_line() {
        let said = said(false, false, |terminal| {
            terminal.status("3 nodes");
            terminal.tell(Tone::Bad, "node", "node-1 is\x1b[31m gone\n");
        });
        assert!(!said.contains('\x1b') && !said.contains('\r'), "{said:?}");
        assert!(said.ends_with(" s  node      node-1 is [31m gone \n"), "{said:?}");
    }

    #[test]
    fn a_line_goes_above_the_status_line_which_is_written_once_for_each_change() {
        let said = said(true, false, |terminal| {
            terminal.status("3 nodes");
            terminal.status("3 nodes");
            terminal.write("hello");
        });
        assert_eq!(said, format!("{CLEAR}3 nodes{CLEAR}hello\n3 nodes"));
    }

    #[test]
    fn nothing_is_written_after_the_last_words() {
        let said = said(true, false, |terminal| {
            terminal.status("3 nodes");
            terminal.end(Some("Ended."));
            terminal.tell(Tone::Good, "node", "node-1 is Ready");
            terminal.write("hello");
            terminal.status("4 nodes");
        });
        assert_eq!(said, format!("{CLEAR}3 nodes{CLEAR}Ended.\n"));
    }

    #[test]
    fn a_terminal_without_colour_has_the_status_line_and_no_colour() {
        let said = said(true, false, |terminal| terminal.tell(Tone::Good, "node", "ready"));
        assert!(!said.contains("\x1b[3"), "{said:?}");
    }

    #[test]
    fn a_status_that_is_too_long_for_a_line_is_cut() {
        let said = said(true, false, |terminal| terminal.status(&"é".repeat(200)));
        assert_eq!(said.chars().filter(|c| *c == 'é').count(), STATUS_CHARS_MAX);
    }

    #[test]
    fn a_bar_is_empty_half_and_full() {
        assert_eq!(bar(0, 10, 4), "[----]");
        assert_eq!(bar(5, 10, 4), "[##--]");
        assert_eq!((bar(10, 10, 4), bar(0, 0, 4)), ("[####]".to_owned(), "[####]".to_owned()));
    }
}
