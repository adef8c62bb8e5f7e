//! `bowline config check FILE`: what is wrong or doubtful in a cloud.conf, by line and key. `bowline config policy FILE`: its `[Tenancy]`
//! rules as an admission policy. Asks nobody, shows no secret.

use std::path::PathBuf;

use bowline_openstack::config::{ConfigSource, Environment, LoadError, Problem, Site, Source, decode};
use bowline_openstack::loadbalancer::tenancy;
use serde::Serialize;

use crate::ending::{Ending, FINE, FOUND};
use crate::output::{Output, Report};
use crate::terminal::line_of;

/// What every `config` command says of its exit codes.
const CODES: &str = "Exit codes:\n  0  it can be used as it is; there may be warnings\n  1  it has errors, or with --strict warnings\n  2  it cannot be read, or the command line is wrong";

/// What to do with a configuration.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Command {
    /// Checks a cloud.conf: syntax, unknown keys, values, credentials. Nothing is asked over the network
    Check(Arguments),
    /// Prints the [Tenancy] rules of a cloud.conf as a ValidatingAdmissionPolicy with its binding, for kubectl apply
    Policy(PolicyArguments),
}

/// Whose rules.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Exit codes:\n  0  the policy is printed\n  1  there is no rule about what a Service may ask for\n  2  the file cannot be read or used, or the command line is wrong"
)]
pub struct PolicyArguments {
    /// The cloud.conf; several are read one over the other, as OCCM does
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// Which file.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CODES)]
pub struct Arguments {
    /// The cloud.conf; several are read one over the other, as OCCM does
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Count warnings as errors
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What was found in a cloud.conf.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checked {
    /// What keeps it from being used.
    pub errors: Vec<Line>,
    /// What a person should look at.
    pub warnings: Vec<Line>,
    /// Whether warnings count as errors.
    pub strict: bool,
}

/// Something at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The file.
    pub file: String,
    /// The line, counted from 1, if it is at one place.
    pub line: Option<u32>,
    /// The column, counted from 1.
    pub column: Option<u32>,
    /// The key with its section.
    pub key: Option<String>,
    /// What, and what to do.
    pub what: String,
}

impl Line {
    fn of(problem: &Problem) -> Self {
        let number = |number: usize| u32::try_from(number).ok();
        Self {
            file: problem.file.clone(),
            line: problem.position.and_then(|position| number(position.line)),
            column: problem.position.and_then(|position| number(position.column)),
            key: problem.key.clone(),
            what: problem.what.clone(),
        }
    }

    fn words(&self) -> String {
        let place = match (self.line, self.column) {
            (Some(line), Some(column)) => format!(":{line}:{column}"),
            _ => String::new(),
        };
        let key = self.key.as_deref().map(|key| format!(" {key}:")).unwrap_or_default();
        format!("{}{place}:{key} {}", self.file, self.what)
    }
}

/// Reads the files, and tells.
///
/// # Errors
///
/// [`Ending`] if a file cannot be read.
pub async fn run(arguments: &Arguments) -> Result<Checked, Ending> {
    let mut sources = Vec::new();
    let mut checked = Checked { strict: arguments.strict, ..Checked::default() };
    for path in &arguments.files {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| Ending::not_looked(format!("{name}: {error}")))?;
        match Source::from_bytes(name, &bytes) {
            Ok(source) => sources.push(source),
            Err(problems) => checked.errors.extend(problems.0.iter().map(Line::of)),
        }
    }
    if !checked.errors.is_empty() {
        return Ok(checked);
    }
    match decode(&sources) {
        Err(problems) => checked.errors.extend(problems.0.iter().map(Line::of)),
        Ok(decoded) => {
            checked.warnings.extend(decoded.warnings.iter().map(Line::of));
            // What only the whole tells: credentials, files that it names, clouds.yaml.
            let site = Site::new(arguments.files.clone(), Environment::of_process());
            let known = checked.warnings.clone();
            let file = sources.last().map(|source| source.name.clone()).unwrap_or_default();
            match site.read().await {
                Ok(configuration) => {
                    let more = configuration.warnings.iter().map(Line::of);
                    checked.warnings.extend(more.filter(|line| !known.contains(line)));
                }
                Err(error) => sort_in(&mut checked, &file, &error),
            }
        }
    }
    Ok(checked)
}

/// Prints the policy.
///
/// # Errors
///
/// [`Ending`] if a file cannot be read or used, or nobody takes the policy.
pub fn policy(arguments: &PolicyArguments, output: &mut dyn std::io::Write) -> Result<u8, Ending> {
    let unusable = |problems: &[Problem]| {
        let lines: Vec<String> = problems.iter().map(|problem| Line::of(problem).words()).collect();
        Ending::not_looked(lines.join("\n"))
    };
    let mut sources = Vec::new();
    for path in &arguments.files {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| Ending::not_looked(format!("{name}: {error}")))?;
        sources.push(Source::from_bytes(name, &bytes).map_err(|problems| unusable(&problems.0))?);
    }
    let conf = decode(&sources).map_err(|problems| unusable(&problems.0))?.conf;
    match tenancy::policy::manifest(&conf).map_err(Ending::not_looked)? {
        Some(manifest) => {
            output.write_all(manifest.as_bytes()).map_err(Ending::not_looked)?;
            Ok(FINE)
        }
        None => {
            let nothing = "# No [Tenancy] rule limits what a Service may ask for: there is nothing that a policy could refuse.";
            writeln!(output, "{nothing}").map_err(Ending::not_looked)?;
            Ok(FOUND)
        }
    }
}

fn sort_in(checked: &mut Checked, file: &str, error: &LoadError) {
    match error {
        LoadError::Problems(problems) => checked.errors.extend(problems.0.iter().map(Line::of)),
        LoadError::Several(errors) => errors.iter().for_each(|error| sort_in(checked, file, error)),
        // Here is no cluster: that is no fault of the file.
        LoadError::NoSecretReader(what) => {
            checked.warnings.push(whole(file, format!("{what} is not looked at here")));
        }
        other => checked.errors.push(whole(file, other.to_string())),
    }
}

fn whole(file: &str, what: String) -> Line {
    Line { file: file.to_owned(), line: None, column: None, key: None, what }
}

impl Report for Checked {
    fn text(&self) -> String {
        let said_of = |kind: &str, line: &Line| line_of(format!("{kind}: {}", line.words()));
        let mut text: String = self.errors.iter().map(|one| said_of("error", one)).collect();
        text.extend(self.warnings.iter().map(|one| said_of("warning", one)));
        let said = match (self.errors.len(), self.warnings.len()) {
            (0, 0) => "It can be used.".to_owned(),
            (0, warnings) => format!("It can be used; warnings: {warnings}."),
            (errors, warnings) => format!("It cannot be used; errors: {errors}, warnings: {warnings}."),
        };
        format!("{text}{said}\n")
    }

    fn code(&self) -> u8 {
        let passes = self.warnings.is_empty() || !self.strict;
        if self.errors.is_empty() && passes { FINE } else { FOUND }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    async fn check(text: &str, strict: bool) -> Checked {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let files = vec![file.path().to_owned()];
        run(&Arguments { files, strict, output: Output::default() }).await.unwrap()
    }

    const GOOD: &str = "[Global]\nauth-url = https://k.example/v3\nusername = u\npassword = s3cret\ntenant-name = p\ndomain-id = default\n";

    #[tokio::test]
    async fn a_good_file_can_be_used_and_a_misspelt_key_is_a_warning_with_its_line_and_the_nearest_name() {
        let good = check(GOOD, false).await;
        assert_eq!((good.code(), good.warnings.len()), (FINE, 0), "{good:?}");
        let misspelt = format!("{GOOD}[LoadBalancer]\nsubnet-idd = x\n");
        let checked = check(&misspelt, false).await;
        let [warning] = checked.warnings.as_slice() else { panic!("{checked:?}") };
        assert_eq!((warning.line, warning.column, checked.code()), (Some(8), Some(1), FINE));
        assert!(warning.what.contains("did you mean subnet-id?"), "{warning:?}");
        assert_eq!(check(&misspelt, true).await.code(), FOUND);
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_an_error_with_its_line_and_no_secret_is_shown() {
        let checked =
            check("[Global]\npassword = s3cret\n[LoadBalancer]\nmonitor-delay = often\n", false).await;
        assert_eq!((checked.code(), checked.errors[0].line), (FOUND, Some(4)), "{checked:?}");
        let nothing = check("[Global]\nusername = u\npassword = s3cret\n", false).await;
        assert!(!nothing.errors.is_empty() && !nothing.text().contains("s3cret"), "{}", nothing.text());
        let broken = check("password = s3cret\n[Global\n", false).await;
        assert!(broken.code() == FOUND && !broken.text().contains("s3cret"), "{}", broken.text());
    }

    fn policy_of(text: &str) -> (u8, String) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut output = Vec::new();
        let arguments = PolicyArguments { files: vec![file.path().to_owned()] };
        let code = policy(&arguments, &mut output).unwrap();
        (code, String::from_utf8(output).unwrap())
    }

    #[test]
    fn the_rules_of_tenancy_become_a_policy_and_without_rules_there_is_none() {
        let (code, text) = policy_of(&format!("{GOOD}[Tenancy \"team-*\"]\nflavor-id = small\n"));
        assert_eq!(code, FINE);
        assert!(
            text.contains("kind: ValidatingAdmissionPolicyBinding") && !text.contains("s3cret"),
            "{text}"
        );
        assert_eq!(policy_of(GOOD).0, FOUND);
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_could_not_be_looked_at() {
        let files = vec![PathBuf::from("/nowhere/cloud.conf")];
        let ending = run(&Arguments { files, strict: false, output: Output::default() }).await.unwrap_err();
        assert_eq!(ending.code, crate::ending::NOT_LOOKED);
    }
}
