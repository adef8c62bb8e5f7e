//! How OpenShift starts a manager: by a shell, which learns first where the API server is. Before the cluster's network works,
//! its Service cannot be reached, and each node has a file that names the load balancer instead.

const API_SERVER_FILE: &str = "/etc/kubernetes/apiserver-url.env";

/// The command of a container.
pub(super) fn command(script: String) -> Vec<String> {
    vec!["/bin/bash".to_owned(), "-c".to_owned(), script]
}

/// The script that starts a program.
pub(super) fn start(program: &str, indent: &str, flags: &[String]) -> String {
    let prologue = format!(
        "#!/bin/bash\nset -o allexport\nif [[ -f {API_SERVER_FILE} ]]; then\n  source {API_SERVER_FILE}\nfi\n"
    );
    format!("{prologue}exec {}\n", lines(program, indent, flags))
}

/// A program and its flags, one in a line.
pub(super) fn lines(program: &str, indent: &str, flags: &[String]) -> String {
    let flags = flags.iter().map(|flag| format!("{indent}{flag}"));
    std::iter::once(program.to_owned()).chain(flags).collect::<Vec<_>>().join(" \\\n")
}
