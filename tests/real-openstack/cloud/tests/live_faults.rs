//! Breaks and mends services of the running cloud. One test, because the others would suffer from what it does.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bowline_testkit::{deadline, eventually_blocking};
use real_cloud::{Cloud, Settings, Status};

/// The status of Octavia's answer to a call without a token that needs no database.
fn octavia(limit: Duration) -> Option<u16> {
    let mut stream = TcpStream::connect("127.0.0.1:9876").ok()?;
    stream.set_read_timeout(Some(limit)).ok()?;
    stream.write_all(b"GET / HTTP/1.0\r\nHost: 127.0.0.1:9876\r\n\r\n").ok()?;
    let mut start = [0; 12];
    stream.read_exact(&mut start).ok()?;
    str::from_utf8(&start).ok()?.split_once(' ')?.1.parse().ok()
}

#[test]
fn a_service_can_be_frozen_stopped_and_started_and_its_tables_locked() {
    let cloud = Cloud::open().unwrap();
    let service = cloud.service("octavia").unwrap();

    service.freeze().unwrap();
    assert!(service.is_running());
    assert_eq!(octavia(Duration::from_secs(2)), None);
    service.thaw().unwrap();
    assert_eq!(octavia(deadline()), Some(200));

    service.stop().unwrap();
    assert!(!service.is_running() && !Status::of(&Settings::locate()).is_up());
    assert_eq!(octavia(deadline()), Some(502));
    service.start().unwrap();
    assert_eq!(octavia(deadline()), Some(200));

    service.kill().unwrap();
    assert_eq!(octavia(deadline()), Some(502));
    service.start().unwrap();
    assert!(Status::of(&Settings::locate()).is_up());

    let question = "SET STATEMENT max_statement_time = 1 FOR SELECT count(*) FROM load_balancer";
    let lock = cloud.lock_tables("octavia", &["load_balancer"]).unwrap();
    assert!(cloud.sql("octavia", question).is_err(), "the table was not locked");
    drop(lock);
    eventually_blocking("the lock ends with its holder", || cloud.sql("octavia", question).is_ok());
    assert_eq!(cloud.sql("octavia", "SELECT 1, 'a'").unwrap(), ["1\ta"]);
    assert!(cloud.service("nothing").unwrap_err().to_string().contains("octavia-worker"));
}
