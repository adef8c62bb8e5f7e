//! Small units of shell commands, started for real.

use super::*;

struct Place {
    _folder: tempfile::TempDir,
    settings: Settings,
    interrupt: Interrupt,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::of_folder(folder.path().to_owned());
        for folder in [settings.data().join("done"), settings.run(), settings.logs()] {
            fs::create_dir_all(folder).unwrap();
        }
        Self { _folder: folder, settings, interrupt: Interrupt::default() }
    }

    fn start(&self, units: &[Unit]) -> anyhow::Result<()> {
        let starter =
            Starter { settings: &self.settings, progress: Progress::silent(), interrupt: &self.interrupt };
        starter.start(units)
    }

    fn record(&self, name: &str) -> Option<Record> {
        Record::read(&self.settings, name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        process::end(&self.settings, &process::records(&self.settings), Duration::ZERO).unwrap();
    }
}

fn shell(script: &str) -> Launch {
    Launch::new("sh").arg("-c").arg(script)
}

fn task(name: &str, needs: &[&str], when: When, scripts: &[&str]) -> Unit {
    let steps = scripts.iter().map(|script| shell(script)).collect();
    let needs = needs.iter().map(|need| (*need).to_owned()).collect();
    Unit { name: name.into(), needs, kind: Kind::Task { steps, when } }
}

fn service(name: &str, script: &str, ready: Ready, ports: Vec<Port>) -> Unit {
    let service = Service { launch: shell(script), ready, ports, files: Vec::new(), is_foundation: false };
    Unit { name: name.into(), needs: Vec::new(), kind: Kind::Service(service) }
}

#[test]
fn a_unit_starts_after_what_it_needs_and_a_task_that_is_done_is_not_done_again() {
    let place = Place::new();
    let units = [
        task("second", &["first"], When::Once, &["echo second >>order"]),
        task("first", &[], When::Once, &["echo first >>order", "echo more >>order"]),
        task("always", &["second"], When::Always, &["echo always >>order"]),
    ];
    place.start(&units).unwrap();
    place.start(&units).unwrap();
    let order = fs::read_to_string(place.settings.data().join("order")).unwrap();
    assert_eq!(order, "first\nmore\nsecond\nalways\nalways\n");
    assert_eq!(process::records(&place.settings), []);
}

#[test]
fn a_service_that_runs_is_left_alone_and_one_whose_command_changed_is_replaced() {
    let place = Place::new();
    let script = |number| format!("touch ready; exec sleep {number}");
    let ready = Ready::Socket(place.settings.data().join("ready"));
    let unit = |number| service("sleeper", &script(number), ready.clone(), Vec::new());
    place.start(&[unit(1000)]).unwrap();
    let first = place.record("sleeper").unwrap();
    place.start(&[unit(1000)]).unwrap();
    assert_eq!(place.record("sleeper").unwrap(), first);
    place.start(&[unit(1001)]).unwrap();
    assert!(!first.is_running() && place.record("sleeper").unwrap().is_running());
}

#[test]
fn a_service_that_ends_while_it_starts_is_named_with_the_end_of_its_log() {
    let place = Place::new();
    let ready = Ready::Socket(place.settings.data().join("never"));
    let error =
        place.start(&[service("broken", "echo no such thing; exit 1", ready, Vec::new())]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("broken ended") && text.contains("no such thing"), "{text}");
}

#[test]
fn a_failed_task_is_named_and_tried_again_next_time() {
    let place = Place::new();
    let unit = task("fussy", &[], When::Once, &["test -e ../wanted || { echo wanted; false; }"]);
    let text = place.start(std::slice::from_ref(&unit)).unwrap_err().to_string();
    assert!(text.contains("fussy failed (exit status: 1)") && text.contains("    wanted"), "{text}");
    fs::write(place.settings.folder().join("wanted"), "").unwrap();
    place.start(&[unit]).unwrap();
}

#[test]
fn a_taken_port_is_named_with_who_needs_it_and_nothing_is_started() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let error =
        place.start(&[service("web", "sleep 1000", Ready::Port(port), vec![Port::Tcp(port)])]).unwrap_err();
    assert!(error.to_string().starts_with(&format!("web needs port {port}")), "{error}");
    assert_eq!(place.record("web"), None);
}
