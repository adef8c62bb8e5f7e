//! Logging: one line an event to standard error, as text or JSON, with the verbosity of `-v` changeable at run time.
//!
//! This file decides what is written and how. It must not log by itself, and nothing here knows what the lines mean.

mod filter;
#[cfg(test)]
mod tests;
mod text;

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use thiserror::Error;
use tracing::Dispatch;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

pub use filter::directives;
pub(crate) use filter::names_modules;

/// What the logging flags say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggingOptions {
    /// `--logging-format`.
    pub format: LogFormat,
    /// `-v`: how much is said, see [`directives`].
    pub verbosity: u8,
    /// `--vmodule`: more for single modules; each pair is the beginning of a module's path and its verbosity. Other
    /// patterns match nothing.
    pub vmodule: Vec<(String, u8)>,
}

/// How a line looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people: time, level, module, message, fields.
    #[default]
    Text,
    /// For machines: one JSON object a line.
    Json,
}

/// Why logging cannot be set up or changed.
#[derive(Debug, Error)]
pub enum LoggingError {
    /// The filter did not accept what was made for it: a mistake of this program.
    #[error("the log filter {directives:?} was not accepted: {source}")]
    Filter {
        /// The text of the filter.
        directives: String,
        /// What is wrong with it.
        source: tracing_subscriber::filter::ParseError,
    },
    /// Logging was set up before: a process does so once.
    #[error("logging is set up already, and can be only once: {0}")]
    SetUpTwice(#[from] tracing_subscriber::util::TryInitError),
    /// The subscriber is gone or broken: there is nothing to change.
    #[error("the verbosity of the log cannot be changed: {0}")]
    NotChangeable(#[from] reload::Error),
}

/// Changes the verbosity of a running process. Clones share it.
#[derive(Debug, Clone)]
pub struct LogLevel {
    handle: reload::Handle<EnvFilter, Registry>,
    vmodule: Arc<[(String, u8)]>,
    /// Locked while the filter is changed, so that the two always agree.
    verbosity: Arc<Mutex<u8>>,
}

impl LogLevel {
    /// The verbosity now.
    #[must_use]
    pub fn get(&self) -> u8 {
        *self.verbosity.lock()
    }

    /// Another verbosity, from now on. What `--vmodule` asks for stays.
    ///
    /// # Errors
    ///
    /// If the subscriber of this handle is gone; the verbosity is then as before.
    pub fn set(&self, verbosity: u8) -> Result<(), LoggingError> {
        let filter = filter(verbosity, &self.vmodule)?;
        let mut now = self.verbosity.lock();
        self.handle.reload(filter)?;
        *now = verbosity;
        Ok(())
    }
}

/// Sets up the log of this process, on standard error.
///
/// # Errors
///
/// If logging was set up before.
pub fn init(options: &LoggingOptions) -> Result<LogLevel, LoggingError> {
    init_with(options, io::stderr)
}

/// The same to somewhere else, such as a file.
///
/// # Errors
///
/// If logging was set up before.
pub fn init_with<W>(options: &LoggingOptions, writer: W) -> Result<LogLevel, LoggingError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (dispatch, level) = subscriber(options, writer)?;
    // What is installed first also decides, for good, what records of the `log` crate are let in: everything, since
    // the verbosity may grow later. The filter sees them too.
    level.handle.reload(parsed(filter::everything())?)?;
    dispatch.try_init()?;
    level.set(options.verbosity)?;
    Ok(level)
}

/// A subscriber that writes to `writer`, and the handle to change it.
///
/// # Errors
///
/// If the filter cannot be made: a mistake of this program.
pub fn subscriber<W>(options: &LoggingOptions, writer: W) -> Result<(Dispatch, LogLevel), LoggingError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (layer, handle) = reload::Layer::new(filter(options.verbosity, &options.vmodule)?);
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false);
    let lines = match options.format {
        LogFormat::Text => lines.event_format(text::OneLine).boxed(),
        LogFormat::Json => lines.json().with_current_span(false).boxed(),
    };
    let level = LogLevel {
        handle,
        vmodule: options.vmodule.clone().into(),
        verbosity: Arc::new(Mutex::new(options.verbosity)),
    };
    let lines = lines.with_filter(filter_fn(|metadata| !filter::shows_answers(metadata.target())));
    Ok((Dispatch::new(Registry::default().with(layer).with(lines)), level))
}

fn filter(verbosity: u8, vmodule: &[(String, u8)]) -> Result<EnvFilter, LoggingError> {
    parsed(directives(verbosity, vmodule))
}

fn parsed(directives: String) -> Result<EnvFilter, LoggingError> {
    EnvFilter::builder().parse(&directives).map_err(|source| LoggingError::Filter { directives, source })
}
