//! Starting, freezing and ending real processes, in a folder of their own.

use bowline_testkit::eventually_blocking;

use super::*;

const GRACE: Duration = Duration::from_secs(20);

fn place() -> (tempfile::TempDir, Settings) {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::of_folder(folder.path().to_owned());
    for folder in [settings.data(), settings.run(), settings.logs()] {
        fs::create_dir_all(folder).unwrap();
    }
    (folder, settings)
}

/// A shell with a child, which says when both are there.
fn family() -> Launch {
    Launch::new("sh").arg("-c").arg("sleep 1000 & echo ready; wait")
}

fn started(settings: &Settings, name: &str) -> Record {
    let_go(spawn(settings, name, &family(), 7).unwrap());
    eventually_blocking("the shell", || fs::read_to_string(settings.log(name)).unwrap().contains("ready"));
    Record::read(settings, name).unwrap()
}

#[test]
fn what_is_ended_takes_its_children_with_it_and_is_forgotten() {
    let (_folder, settings) = place();
    let record = started(&settings, "family");
    let members = record.members();
    assert_eq!((members.len(), record.fingerprint), (2, 7));
    end(&settings, &records(&settings), GRACE).unwrap();
    eventually_blocking("their end", || {
        !members.iter().any(|pid| procfs::stat(*pid).is_some_and(|stat| stat.is_alive()))
    });
    assert_eq!(Record::read(&settings, "family"), None);
}

#[test]
fn a_frozen_process_is_seen_as_such_goes_on_and_can_be_ended() {
    let (_folder, settings) = place();
    let record = started(&settings, "family");
    record.signal_all("STOP").unwrap();
    eventually_blocking("the freeze", || record.is_frozen());
    record.signal_all("CONT").unwrap();
    eventually_blocking("the thaw", || record.is_running() && !record.is_frozen());
    record.signal_all("STOP").unwrap();
    eventually_blocking("the freeze", || record.is_frozen());
    end(&settings, &records(&settings), GRACE).unwrap();
    eventually_blocking("its end", || !record.is_running());
}

#[test]
fn a_number_that_belongs_to_another_process_by_now_is_left_alone() {
    let (_folder, settings) = place();
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    let started = procfs::stat(other.id()).unwrap().started;
    let record = Record { pid: other.id(), started: started - 1, fingerprint: 0 };
    assert!(!record.is_running() && record.members().is_empty());
    end(&settings, &[("other".into(), record)], GRACE).unwrap();
    assert!(other.try_wait().unwrap().is_none(), "a foreign process was ended");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_service_finds_nothing_of_our_environment_but_what_it_was_given() {
    let (_folder, settings) = place();
    let mut child = spawn(&settings, "env", &Launch::new("env").env("GIVEN", "1"), 0).unwrap();
    assert!(child.wait().unwrap().success());
    let text = fs::read_to_string(settings.log("env")).unwrap();
    assert!(text.contains("GIVEN=1\n") && !text.contains("CARGO"), "{text}");
}

#[test]
fn a_changed_argument_or_file_changes_the_fingerprint() {
    let (_folder, settings) = place();
    let file = settings.data().join("conf");
    let launch = Launch::new("x").words("a b");
    let before = launch.fingerprint(std::slice::from_ref(&file));
    fs::write(&file, "new").unwrap();
    let after = launch.fingerprint(std::slice::from_ref(&file));
    assert!(before != after && after != Launch::new("x").words("a c").fingerprint(&[file]));
}
