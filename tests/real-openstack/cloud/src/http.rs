//! Asks an API whether it is there: the status of one GET, by plain HTTP on loopback. Anything more is for real clients.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The status of `GET path`, or nothing within the limit.
pub(crate) fn status(port: u16, path: &str, limit: Duration) -> Option<u16> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, limit).ok()?;
    stream.set_read_timeout(Some(limit)).ok()?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: real-cloud\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut start = [0; 12]; // "HTTP/1.1 200"
    stream.read_exact(&mut start).ok()?;
    str::from_utf8(&start).ok()?.split_once(' ')?.1.parse().ok()
}

/// Whether a status is one of an API that works; nginx answers 502 for one that does not.
pub(crate) fn is_answer(status: u16) -> bool {
    (200..400).contains(&status)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_status_is_read_from_the_first_line_and_silence_is_no_status() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut first, _) = listener.accept().unwrap();
            first.write_all(b"HTTP/1.1 300 Multiple Choices\r\n\r\n").unwrap();
            listener.accept().unwrap().0 // held open, and silent
        });
        assert_eq!(status(port, "/", Duration::from_secs(20)), Some(300));
        assert_eq!(status(port, "/", Duration::from_millis(50)), None);
        drop(server.join().unwrap());
        assert!(is_answer(300) && !is_answer(502));
    }
}
