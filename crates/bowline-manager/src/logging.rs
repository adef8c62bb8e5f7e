//! Logging: one line for each event on standard error, as text or JSON. The verbosity of `-v` can be changed at runtime.
//!
//! This module decides which events are written and in which format. It must not log itself.

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

/// The values of the logging flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggingOptions {
    /// `--logging-format`.
    pub format: LogFormat,
    /// `-v`: the verbosity, see [`directives`].
    pub verbosity: u8,
    /// `--vmodule`: a higher verbosity for single modules. Each pair is a prefix of a module path and its verbosity. Other patterns match
    /// nothing.
    pub vmodule: Vec<(String, u8)>,
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people: time, level, module, message, fields.
    #[default]
    Text,
    /// For programs: one JSON object per line.
    Json,
}

/// Why logging cannot be set up or changed.
#[derive(Debug, Error)]
pub enum LoggingError {
    /// The log filter that this program built is invalid, which is a bug.
    #[error("the log filter {directives:?} was not accepted: {source}")]
    Filter {
        /// The text of the filter.
        directives: String,
        /// The parse error.
        source: tracing_subscriber::filter::ParseError,
    },
    /// Logging is already set up; a process can do this only once.
    #[error("logging is set up already, and can be only once: {0}")]
    SetUpTwice(#[from] tracing_subscriber::util::TryInitError),
    /// The subscriber no longer exists or is broken.
    #[error("the verbosity of the log cannot be changed: {0}")]
    NotChangeable(#[from] reload::Error),
}

/// Changes the verbosity at runtime. Clones share it.
#[derive(Debug, Clone)]
pub struct LogLevel {
    handle: reload::Handle<EnvFilter, Registry>,
    vmodule: Arc<[(String, u8)]>,
    /// Locked while the filter is replaced, so that the filter and this value always agree.
    verbosity: Arc<Mutex<u8>>,
}

impl LogLevel {
    /// The current verbosity.
    #[must_use]
    pub fn get(&self) -> u8 {
        *self.verbosity.lock()
    }

    /// Sets the verbosity. `--vmodule` still applies.
    ///
    /// # Errors
    ///
    /// If the subscriber of this handle no longer exists; the verbosity is then unchanged.
    pub fn set(&self, verbosity: u8) -> Result<(), LoggingError> {
        let filter = filter(verbosity, &self.vmodule)?;
        let mut now = self.verbosity.lock();
        self.handle.reload(filter)?;
        *now = verbosity;
        Ok(())
    }
}

/// Sets up logging for this process, to standard error.
///
/// # Errors
///
/// If logging is already set up.
pub fn init(options: &LoggingOptions) -> Result<LogLevel, LoggingError> {
    init_with(options, io::stderr)
}

/// Sets up logging to another writer, such as a file.
///
/// # Errors
///
/// If logging is already set up.
pub fn init_with<W>(options: &LoggingOptions, writer: W) -> Result<LogLevel, LoggingError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (dispatch, level) = subscriber(options, writer)?;
    // The filter that is active during the installation decides permanently which records of the `log` crate are forwarded. All are
    // forwarded, because the verbosity may be raised later; the filter is applied to them too.
    level.handle.reload(parsed(filter::everything())?)?;
    dispatch.try_init()?;
    level.set(options.verbosity)?;
    Ok(level)
}

/// Creates a subscriber that writes to `writer`, and the handle that changes its verbosity.
///
/// # Errors
///
/// If the filter is invalid, which is a bug.
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
