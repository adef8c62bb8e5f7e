//! `bowline page`: the manager's status page for a browser on this machine. Finds the leader, shows it the credentials that a browser
//! cannot send, and hands its page on at loopback. It changes nothing, and knows nothing of what is on the page.

mod port;
mod relay;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use bowline_manager::signals::Signals;
use bowline_manager::status::loopback;
use bowline_manager::status::serve::PAGE;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::ending::{Ending, FINE};
use crate::session::Access;
use crate::terminal::{escaped, line_of};
use crate::way::{self, Way};

/// What `page` says of its exit codes.
const CODES: &str =
    "Exit codes:\n  0  it was ended by Ctrl-C\n  2  the page cannot be reached, or the command line is wrong";

/// Whose page, by which way, and where to show it.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CODES)]
pub struct Arguments {
    /// The port on 127.0.0.1; if it is taken, the next that is free
    #[arg(long, value_name = "PORT", default_value_t = 7443)]
    pub port: u16,
    #[command(flatten)]
    pub(crate) way: way::Arguments,
    #[command(flatten)]
    pub(crate) access: Access,
}

/// Shows the page until Ctrl-C.
///
/// # Errors
///
/// [`Ending`] if there is no page to show.
pub async fn run(arguments: &Arguments, output: &mut dyn Write) -> Result<u8, Ending> {
    let signals = Signals::listen().map_err(Ending::not_looked)?;
    let shown = show(arguments).await?;
    write!(output, "{}", escaped(&shown.words()))
        .and_then(|()| output.flush())
        .map_err(Ending::not_looked)?;
    signals.received().await;
    shown.end().await;
    Ok(FINE)
}

/// A page that is shown.
#[derive(Debug)]
pub struct Shown {
    /// Where it is shown.
    pub address: SocketAddr,
    /// Whose it is.
    pub whose: String,
    /// What a person should know of how this came to be.
    pub notes: Vec<String>,
    closing: CancellationToken,
    task: JoinHandle<()>,
}

/// Finds the page, makes sure that we may see it, and shows it on loopback.
///
/// # Errors
///
/// [`Ending`] if there is nobody to ask, or we may not look, or there is no port.
pub async fn show(arguments: &Arguments) -> Result<Shown, Ending> {
    let way = Arc::new(Way::of(&arguments.way, &arguments.access)?);
    let whose = way.try_it().await?;
    let (listener, told) = port::bind(arguments.port).await.map_err(Ending::not_looked)?;
    let address = listener.local_addr().map_err(Ending::not_looked)?;
    let closing = CancellationToken::new();
    let task = tokio::spawn(loopback::serve(listener, relay::routes(&way, &closing), closing.clone()));
    Ok(Shown { address, whose, notes: told.into_iter().collect(), closing, task })
}

impl Shown {
    /// What a person is told.
    #[must_use]
    pub fn words(&self) -> String {
        let notes: String = self.notes.iter().map(line_of).collect();
        let page = line_of(format!("The status page of {}: http://{}{PAGE}", self.whose, self.address));
        format!("{notes}{page}Ctrl-C ends it.\n")
    }

    /// Ends it.
    pub async fn end(self) {
        self.closing.cancel();
        // One that panicked has ended too.
        self.task.await.ok();
    }
}
