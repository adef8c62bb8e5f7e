//! The commands, and which function each is. Decides nothing.

use std::io::Write;

use crate::ending::Ending;
use crate::output::say;
use crate::terminal::escaped;
use crate::{adopt, breaker, bundle, config, doctor, drift, explain, page, pages, plan, resync, status};

/// A command for people.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Command {
    /// Tells who works and on what: Nodes and servers, Services and load balancers, pause, breaker and budgets.
    Status(Box<status::Arguments>),
    /// Explains one Service or Node: what is wanted, what is there, what it waits for, what to do.
    Explain(explain::Arguments),
    /// Shows what the manager would do for Services now. Nothing is written.
    Plan(plan::Arguments),
    /// Shows what in the cloud differs from what the cluster wants. Nothing is written.
    Drift(drift::Arguments),
    /// Looks for what is wrong with cluster, manager and cloud; each finding has its remedy. Nothing is written.
    Doctor(Box<doctor::Arguments>),
    /// Shows the status page of the manager to a browser on this machine, until Ctrl-C.
    Page(Box<page::Arguments>),
    /// Makes the manager look again at a Service now.
    Resync(resync::Arguments),
    /// Makes a Service use a load balancer that is there, after it has shown what the manager does then.
    Adopt(adopt::Arguments),
    /// Tells of the breaker that keeps Nodes when many look gone at once, and lets Nodes go that are gone indeed.
    #[command(subcommand)]
    Breaker(breaker::Command),
    /// Collects what somebody needs who shall help, without anything secret.
    SupportBundle(Box<bundle::Arguments>),
    /// Checks configuration files.
    #[command(subcommand)]
    Config(config::Command),
    /// Prints the completion of a shell for this command line.
    Completion(pages::Completion),
    /// Prints the manual of this command line.
    Man(pages::Man),
}

/// Runs a command; `root` is the whole command line that it is part of. Answers the exit code; what went wrong is told on `errors`.
pub async fn execute(
    command: Command,
    root: clap::Command,
    output: &mut dyn Write,
    errors: &mut dyn Write,
) -> u8 {
    match try_execute(command, root, output).await {
        Ok(code) => code,
        Err(Ending { code, why }) => {
            // Who does not even take this cannot be told anything.
            writeln!(errors, "error: {}", escaped(&why)).ok();
            code
        }
    }
}

async fn try_execute(
    command: Command,
    mut root: clap::Command,
    output: &mut dyn Write,
) -> Result<u8, Ending> {
    match command {
        Command::Status(arguments) => say(output, arguments.output.format, &status::run(&arguments).await?),
        Command::Explain(arguments) => say(output, arguments.output.format, &explain::run(&arguments).await?),
        Command::Plan(arguments) => say(output, arguments.output.format, &plan::run(&arguments).await?),
        Command::Drift(arguments) => say(output, arguments.output.format, &drift::run(&arguments).await?),
        Command::Doctor(arguments) => say(output, arguments.output.format, &doctor::run(&arguments).await?),
        Command::Page(arguments) => page::run(&arguments, output).await,
        Command::Resync(arguments) => say(output, arguments.output.format, &resync::run(&arguments).await?),
        Command::Adopt(arguments) => say(output, arguments.output.format, &adopt::run(&arguments).await?),
        Command::Breaker(breaker::Command::Status(arguments)) => {
            say(output, arguments.output.format, &breaker::status(&arguments).await?)
        }
        Command::Breaker(breaker::Command::Reset(arguments)) => {
            say(output, arguments.output.format, &breaker::reset(&arguments).await?)
        }
        Command::SupportBundle(arguments) => {
            say(output, arguments.output.format, &bundle::run(&arguments).await?)
        }
        Command::Config(config::Command::Check(arguments)) => {
            say(output, arguments.output.format, &config::run(&arguments).await?)
        }
        Command::Config(config::Command::Policy(arguments)) => config::policy(&arguments, output),
        Command::Completion(arguments) => pages::completion(&arguments, &mut root, output),
        Command::Man(arguments) => pages::man(&arguments, root, output),
    }
}
