//! Before the first request to a cloud that only the cluster names: the person sees where it goes and as whom, and is asked once.
//!
//! Whoever may write the manager's Secret chooses the host. Its credentials are the Secret's own (nothing of the person's is read for it),
//! but the request still leaves this machine.

use std::io::{BufRead, IsTerminal, Write};

use bowline_openstack::config::{Configuration, is_ignored_key};
use tokio::sync::OnceCell;

use crate::ending::Ending;
use crate::terminal::line_of;

/// The answer of the person, once there is one.
#[derive(Debug, Default)]
pub struct Consent(OnceCell<Result<(), Ending>>);

impl Consent {
    /// Shows where requests would go, and asks unless `trusted`. Later calls get the same answer.
    pub(super) async fn get(
        &self,
        from: &str,
        configuration: &Configuration,
        trusted: bool,
    ) -> Result<(), Ending> {
        let shown = shown(from, configuration);
        let asking = async || {
            let asked = tokio::task::spawn_blocking(move || {
                let stdin = std::io::stdin();
                let mut person = stdin.is_terminal().then(|| stdin.lock());
                let person = person.as_mut().map(|person| -> &mut dyn BufRead { person });
                ask(&shown, trusted, person, &mut std::io::stderr().lock())
            });
            asked.await.map_err(Ending::not_looked)?
        };
        self.0.get_or_init(asking).await.clone()
    }
}

/// What the person has to know: one line, and one for each key that is ignored.
fn shown(from: &str, configuration: &Configuration) -> String {
    let global = &configuration.conf.global;
    let first = |texts: &[&String]| texts.iter().find(|text| !text.is_empty()).map(ToString::to_string);
    let user = first(&[
        &global.username,
        &global.user_id,
        &global.trustee_id,
        &global.application_credential_name,
        &global.application_credential_id,
    ]);
    let project = first(&[&global.tenant_name, &global.tenant_id, &global.domain_name, &global.domain_id]);
    let mut text = line_of(format!(
        "{from} names the cloud: requests go to {} as {}, project {}.",
        configuration.credentials.auth_origin(),
        user.as_deref().unwrap_or("the owner of its token"),
        project.as_deref().unwrap_or("of its credentials"),
    ));
    let ignored = configuration.warnings.iter().filter(|warning| is_ignored_key(warning));
    text.extend(ignored.map(|warning| line_of(warning.to_string())));
    text
}

/// Asks the person at the terminal, if there is one. Without one nobody agrees.
fn ask(
    shown: &str,
    trusted: bool,
    person: Option<&mut dyn BufRead>,
    terminal: &mut dyn Write,
) -> Result<(), Ending> {
    if trusted {
        return write!(terminal, "{shown}").map_err(Ending::not_looked);
    }
    let other = "use credentials of your own (--cloud-config, --os-cloud or the OS_* variables)";
    let Some(person) = person else {
        return Err(Ending::not_looked(format!(
            "the cloud is named by the cluster and there is no terminal to ask you at: add --trust-cloud-host if {} is right, or {other}",
            shown.lines().next().unwrap_or_default()
        )));
    };
    let mut answer = String::new();
    let asked = write!(terminal, "{shown}Send requests there? [y/N] ").and_then(|()| terminal.flush());
    asked.and_then(|()| person.read_line(&mut answer)).map_err(Ending::not_looked)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Ending::not_looked(format!("nothing was sent to the cloud: you did not agree; {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use bowline_openstack::config::{ConfigSource, Environment, Site};

    use super::*;

    fn answered(answer: Option<&str>, trusted: bool) -> (Result<(), Ending>, String) {
        let mut terminal = Vec::new();
        let mut typed = answer.map(str::as_bytes);
        let person = typed.as_mut().map(|typed| -> &mut dyn BufRead { typed });
        let asked = ask("requests go to https://k.example\n", trusted, person, &mut terminal);
        (asked, String::from_utf8(terminal).unwrap())
    }

    #[test]
    fn only_a_yes_at_a_terminal_or_the_flag_lets_requests_go() {
        for yes in ["y\n", "Yes\n"] {
            assert_eq!(answered(Some(yes), false).0, Ok(()));
        }
        for no in ["", "\n", "n\n", "yellow\n"] {
            assert!(answered(Some(no), false).0.unwrap_err().why.contains("did not agree"), "{no:?}");
        }
        let (nobody, told) = answered(None, false);
        assert!(nobody.unwrap_err().why.contains("--trust-cloud-host") && !told.contains("[y/N]"));
        let (trusted, told) = answered(None, true);
        assert!(trusted.is_ok() && told.contains("https://k.example") && !told.contains("[y/N]"), "{told}");
        assert!(answered(Some("n\n"), false).1.contains("https://k.example\nSend requests there? [y/N]"));
    }

    #[tokio::test]
    async fn host_user_and_project_are_shown_and_what_is_ignored() {
        let text = "[Global]\nauth-url = https://evil.example:5000/v3\nusername = \"ops\u{1b}[2J\"\npassword = CANARY\ntenant-name = prod\ndomain-id = d\nuse-clouds = true\n";
        let site = Site::of_cluster("Secret x/y", text.to_owned(), Environment::default());
        let configuration = site.read().await.unwrap();
        let shown = shown("Secret x/y", &configuration);
        assert!(shown.contains("https://evil.example:5000 as ops\\u{1b}[2J, project prod"), "{shown}");
        assert!(shown.contains("[Global] use-clouds: it is ignored") && !shown.contains("CANARY"), "{shown}");
    }
}
