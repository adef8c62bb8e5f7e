//! The supervisor and the janitor with a harmless child in place of a server.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;
use crate::eventually_blocking;

/// Names the folder in which [`the_owner_that_will_be_killed`] works; unset when it runs as an ordinary test.
const OWNER_FOLDER: &str = "BOWLINE_TEST_OWNER_FOLDER";

fn start(folder: &Path, script: &str) -> Process {
    let janitor = Arc::new(Janitor::take_charge_of(folder).unwrap());
    let arguments = ["-c".to_owned(), script.to_owned()];
    Process::spawn("sh".as_ref(), &arguments, &folder.join("log"), &janitor).unwrap()
}

fn new_folder() -> PathBuf {
    tempfile::tempdir().unwrap().keep()
}

fn is_alive(pid: u32) -> bool {
    let kill = Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status();
    kill.is_ok_and(|status| status.success())
}

#[test]
fn dropping_a_process_kills_it_and_removes_the_folder() {
    let folder = new_folder();
    let process = start(&folder, "exec sleep 1000");
    let pid = process.pid();
    assert!(is_alive(pid));
    drop(process);
    assert!(!is_alive(pid));
    assert!(!folder.exists());
}

#[test]
fn a_server_that_ends_by_itself_is_noticed_with_its_code_and_its_last_words() {
    let mut process = start(&new_folder(), "echo out; echo last words >&2; exit 3");
    let status = process.supervisor.wait().unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(process.has_logged("out"));
    assert!(process.log_tail().ends_with("last words"));
    process.signal(Signal::Stop).unwrap_err();
}

#[test]
fn a_server_halts_and_goes_on_as_ordered() {
    let mut process = start(&new_folder(), "exec sleep 1000");
    assert!(!process.is_stopped().unwrap());
    process.signal(Signal::Stop).unwrap();
    eventually_blocking("the server has halted", || process.is_stopped().unwrap());
    process.signal(Signal::Continue).unwrap();
    eventually_blocking("the server goes on", || !process.is_stopped().unwrap());
}

#[test]
fn the_state_of_a_thread_is_read_past_any_name() {
    assert!(is_stopped_thread("7 (kube-apiserver) T 1 7 7"));
    assert!(is_stopped_thread("7 (odd) S name) T 1 7 7"));
    assert!(!is_stopped_thread("7 (T) S 1 7 7"));
}

#[test]
fn even_a_paused_server_and_its_folder_are_gone_after_their_owner_was_killed() {
    let folder = new_folder();
    let mut owner = Command::new(env::current_exe().unwrap())
        .args(["--exact", "apiserver::process::tests::the_owner_that_will_be_killed"])
        .env(OWNER_FOLDER, &folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid_file = folder.join("pid");
    eventually_blocking("the owner has started a server", || pid_file.exists());
    let pid: u32 = fs::read_to_string(&pid_file).unwrap().parse().unwrap();
    assert!(is_alive(pid));

    owner.kill().unwrap(); // SIGKILL: no code of the owner runs any more
    owner.wait().unwrap();
    eventually_blocking("the server is gone", || !is_alive(pid));
    eventually_blocking("the folder is removed", || !folder.exists());
}

/// Not a test of its own: the process that the test above kills.
#[test]
fn the_owner_that_will_be_killed() {
    let Some(folder) = env::var_os(OWNER_FOLDER).map(PathBuf::from) else { return };
    let mut process = start(&folder, "exec sleep 1000");
    process.signal(Signal::Stop).unwrap();
    fs::write(folder.join("pid.new"), process.pid().to_string()).unwrap();
    fs::rename(folder.join("pid.new"), folder.join("pid")).unwrap();
    process.supervisor.wait().unwrap();
}
