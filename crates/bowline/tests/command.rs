//! The binary from outside, as far as it needs no cluster: names, help, version, and what it refuses.

use std::io;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const OCCM: &str = "openstack-cloud-controller-manager";

fn bowline(arguments: &[&str]) -> io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_bowline")).args(arguments).output()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with a kubeconfig that leads nowhere.
fn folder() -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: \
                      'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: \
                      {cluster: c, user: u}}]\n";
    std::fs::write(folder.path().join("kubeconfig"), kubeconfig)?;
    Ok(folder)
}

/// Starts the manager with a cloud.conf that holds `text`.
fn start(folder: &Path, text: &str, flags: &[&str]) -> io::Result<Output> {
    let conf = folder.join("cloud.conf");
    std::fs::write(&conf, text)?;
    Command::new(env!("CARGO_BIN_EXE_bowline"))
        .arg("ccm")
        .arg(format!("--kubeconfig={}", folder.join("kubeconfig").display()))
        .arg(format!("--cloud-config={}", conf.display()))
        .args(["--cloud-provider=openstack", "--secure-port=0"])
        .args(flags)
        .output()
}

#[test]
fn the_manager_is_a_command_and_tells_its_own_flags() -> io::Result<()> {
    assert!(out(&bowline(&["--help"])?).contains("ccm"));
    let help = out(&bowline(&["ccm", "--help"])?);
    for part in
        ["Usage: bowline ccm [flags]", "--cloud-config", "--leader-elect", "--user-agent", "openstack flags"]
    {
        assert!(help.to_lowercase().contains(&part.to_lowercase()), "{part}: {help}");
    }
    let version = out(&bowline(&["ccm", "--version"])?);
    assert_eq!(version, format!("{OCCM} {}\n", env!("CARGO_PKG_VERSION")));
    Ok(())
}

#[test]
fn under_the_name_of_the_openstack_manager_it_has_its_command_line() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let link = folder.path().join(OCCM);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bowline"), &link)?;
    let occm = |flag: &str| Command::new(&link).arg(flag).output();
    assert!(out(&occm("--help")?).starts_with(&format!("Usage: {OCCM} [flags]")));
    assert_eq!(out(&occm("--version")?), format!("{OCCM} {}\n", env!("CARGO_PKG_VERSION")));
    let refused = occm("sim")?;
    assert_eq!(refused.status.code(), Some(1), "no commands here: {}", err(&refused));
    assert_eq!(occm("--no-such-flag")?.status.code(), Some(1));
    Ok(())
}

#[test]
fn a_cloud_that_it_does_not_know_is_refused_with_those_that_it_does() -> io::Result<()> {
    let folder = folder()?;
    let refused = start(folder.path(), "", &["--cloud-provider=nimbus"])?;
    assert_eq!(refused.status.code(), Some(255));
    let why = err(&refused);
    assert!(why.contains("nimbus") && why.contains("knows only openstack"), "{why}");
    Ok(())
}

#[test]
fn a_cloud_conf_that_is_wrong_ends_it_with_line_or_key_and_without_secrets() -> io::Result<()> {
    let folder = folder()?;
    let global =
        "[Global]\nauth-url=https://k.example/v3\nusername=u\npassword=s3cret\ntenant-id=t\ndomain-id=d\n";
    for (more, wanted) in [
        ("[LoadBalancer\n", "cloud.conf"),
        ("auth_url=x\n", ":7:"),
        ("[LoadBalancer]\nlb-version=v1\n", "lb-version"),
        ("[LoadBalancer]\nmonitor-delay=5\n", "monitor-delay"),
    ] {
        let refused = start(folder.path(), &format!("{global}{more}"), &[])?;
        assert_eq!(refused.status.code(), Some(255), "{more}");
        let why = err(&refused);
        assert!(why.contains("cloud provider openstack") && why.contains(wanted), "{more}: {why}");
        assert!(!why.contains("s3cret"), "{why}");
    }
    let refused = start(folder.path(), "", &["--user-agent=\n"])?;
    assert_eq!(refused.status.code(), Some(255));
    assert!(err(&refused).contains("--user-agent"), "{}", err(&refused));
    Ok(())
}

#[test]
fn as_a_plugin_of_kubectl_it_tells_its_commands_as_kubectl_bowline() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let link = folder.path().join("kubectl-bowline");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bowline"), &link)?;
    let help = out(&Command::new(&link).args(["explain", "--help"]).output()?);
    assert!(help.contains("Usage: kubectl bowline explain"), "{help}");
    assert!(help.contains("Exit codes:"), "{help}");
    let wrong = Command::new(&link).args(["explain", "pod/x"]).output()?;
    assert_eq!(wrong.status.code(), Some(2), "{}", err(&wrong));
    Ok(())
}

#[test]
fn completion_manual_and_config_check_need_neither_cluster_nor_cloud() -> io::Result<()> {
    for shell in ["bash", "zsh", "fish"] {
        let completion = out(&bowline(&["completion", shell])?);
        assert!(completion.contains("support-bundle"), "{shell}: {completion}");
    }
    let folder = tempfile::tempdir()?;
    assert!(out(&bowline(&["man"])?).contains(".TH bowline"));
    let pages = folder.path().join("man");
    assert_eq!(bowline(&["man", "--out", &pages.display().to_string()])?.status.code(), Some(0));
    assert!(pages.join("bowline-explain.1").exists());
    let conf = folder.path().join("cloud.conf");
    std::fs::write(
        &conf,
        "[Global]\nauth-url = https://k.example/v3\nusername = u\npassword = s3cret\ntenant-id = t\ndomain-id = d\nregoin = x\n",
    )?;
    let path = conf.display().to_string();
    let checked = bowline(&["config", "check", &path])?;
    let said = out(&checked);
    assert_eq!(checked.status.code(), Some(0), "{said}");
    assert!(said.contains(&format!("{path}:7:1")) && said.contains("did you mean region?"), "{said}");
    assert!(!said.contains("s3cret"));
    assert_eq!(bowline(&["config", "check", "--strict", &path])?.status.code(), Some(1));
    assert_eq!(bowline(&["config", "check", "/nowhere"])?.status.code(), Some(2));
    Ok(())
}

#[test]
fn without_a_cluster_a_command_could_not_look() -> io::Result<()> {
    let folder = folder()?;
    let kubeconfig = format!("--kubeconfig={}", folder.path().join("kubeconfig").display());
    let lost = bowline(&["status", &kubeconfig])?;
    assert_eq!(lost.status.code(), Some(2), "{}", err(&lost));
    assert!(err(&lost).contains("https://127.0.0.1:1"), "{}", err(&lost));
    let missing = bowline(&["status", "--kubeconfig=/nowhere"])?;
    assert_eq!(missing.status.code(), Some(2));
    Ok(())
}

/// The filter of `tracing` warns on standard error of each directive that the build cannot serve, before any line of the log: a release
/// build contains no trace events. Tests are built with all events, so this test is strictest with `cargo test --release`.
#[test]
fn no_command_begins_with_a_warning_about_directives_of_the_log() -> io::Result<()> {
    let folder = folder()?;
    let conf = folder.path().join("cloud.conf");
    let text = "[Global]\nauth-url = https://k.example/v3\nusername = u\npassword = p\ntenant-id = t\ndomain-id = d\n";
    std::fs::write(&conf, text)?;
    let conf = conf.display().to_string();
    let has_no_warning = |command: &str, said: &str| {
        for part in ["filter directives", "disabled statically"] {
            assert!(!said.contains(part), "{command}: {said}");
        }
    };
    for command in [
        &["--help"][..],
        &["--version"],
        &["ccm", "--version"],
        &["config", "check", &conf],
        &["explain", "--help"],
        &["operator", "manifests", "--help"],
        #[cfg(feature = "playground")]
        &["playground", "--scenario", "list"],
    ] {
        let ended = bowline(command)?;
        assert_eq!((ended.status.code(), err(&ended).as_str()), (Some(0), ""), "{command:?}");
    }
    for verbosity in ["-v=0", "-v=4", "-v=6"] {
        let help = bowline(&["ccm", verbosity, "--help"])?;
        assert_eq!((help.status.code(), err(&help).as_str()), (Some(0), ""), "{verbosity}");
        // These log, and end because there is no cloud and no cluster.
        let manager = start(folder.path(), "", &[verbosity])?;
        assert_eq!(manager.status.code(), Some(255), "{verbosity}: {}", err(&manager));
        has_no_warning(verbosity, &err(&manager));
        let operator = bowline(&["operator", "run", verbosity, "--secure-port=0", "--kubeconfig=/nowhere"])?;
        assert!(!operator.status.success());
        has_no_warning(verbosity, &err(&operator));
    }
    Ok(())
}
