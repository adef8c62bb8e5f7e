//! Free loopback ports.
//!
//! A port is only known to be free at the moment of asking: another program may take it before the server binds it,
//! and a child process that another thread is just starting holds our own listener for a moment more. Whoever starts a
//! server must therefore be ready to try again with other ports.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// As many different ports as asked for, none of them in use right now.
pub(crate) fn free<const N: usize>() -> io::Result<[u16; N]> {
    let mut ports = [0; N];
    let mut held = Vec::with_capacity(N); // held until all are chosen, so that they differ
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_differ() {
        let [one, two, three] = free().unwrap();
        assert!(one != two && two != three && one != three);
    }
}
