//! The port on loopback that the page is shown on: the one that was asked for, or the next that is free.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;

/// So many ports are tried: more pages at once are no one's wish.
const TRIED: u16 = 50;

/// Listens on the port, or on the next that is free; then what to tell of it.
///
/// # Errors
///
/// What is wrong, if none of them can be had.
pub(super) async fn bind(asked: u16) -> Result<(TcpListener, Option<String>), String> {
    let mut first = None;
    for port in asked..=asked.saturating_add(TRIED) {
        match TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await {
            Ok(listener) => {
                let told = first.map(|why| format!("Port {asked} cannot be used ({why}); {port} instead."));
                return Ok((listener, told));
            }
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    let why = first.map(|error| error.to_string()).unwrap_or_default();
    Err(format!("none of the ports from {asked} on can be used ({why}); choose another one with --port"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_that_is_taken_gives_way_to_the_next_and_that_is_told() {
        let (taken, told) = bind(0).await.unwrap();
        assert_eq!(told, None);
        let port = taken.local_addr().unwrap().port();
        let (next, told) = bind(port).await.unwrap();
        let other = next.local_addr().unwrap();
        assert!(other.port() > port && other.ip().is_loopback(), "{other}");
        let told = told.unwrap();
        assert!(told.contains(&format!("Port {port} cannot be used")), "{told}");
        assert!(told.contains(&format!("{} instead", other.port())), "{told}");
    }
}
