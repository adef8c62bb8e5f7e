//! Which ports are listened on: those that were asked for, or known ones where they are free, or any.

use std::net::{IpAddr, SocketAddr};

use anyhow::Context;
use tokio::net::TcpListener;

/// The first of the known ports; the others follow it.
pub(crate) const FIRST: u16 = 7440;

/// Where to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    ip: IpAddr,
    first: u16,
    /// Whether a port that is taken is an error.
    must: bool,
}

impl Listen {
    /// What `--listen` says: an address and the first port, where 0 takes free ones. Without it, loopback and the known ports.
    pub(crate) fn of(asked: Option<SocketAddr>) -> Self {
        match asked {
            Some(asked) => Self { ip: asked.ip(), first: asked.port(), must: asked.port() != 0 },
            None => Self { ip: IpAddr::from([127, 0, 0, 1]), first: FIRST, must: false },
        }
    }

    /// Any ports of the same address.
    pub(crate) fn anywhere(self) -> Self {
        Self { first: 0, must: false, ..self }
    }

    /// Whether nobody but this machine can come.
    pub(crate) fn is_loopback(self) -> bool {
        self.ip.is_loopback()
    }

    /// Listens on one of the ports, counted from 0. Tells if it is another one than the known.
    pub(crate) async fn bind(self, number: u16) -> anyhow::Result<(TcpListener, Option<String>)> {
        let port = if self.first == 0 { 0 } else { self.first.saturating_add(number) };
        let wanted = SocketAddr::new(self.ip, port);
        match TcpListener::bind(wanted).await {
            Ok(listener) => Ok((listener, None)),
            Err(error) if self.must || port == 0 => Err(error)
                .with_context(|| format!("listen on {wanted}; choose another address with --listen")),
            Err(error) => {
                let listener = TcpListener::bind(SocketAddr::new(self.ip, 0)).await.context("listen")?;
                let taken = format!("{wanted} cannot be used ({error}); {} instead", listener.local_addr()?);
                Ok((listener, Some(taken)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_known_port_that_is_taken_gives_way_and_one_that_was_asked_for_is_an_error() {
        let (taken, _) = Listen::of(Some("127.0.0.1:0".parse().unwrap())).bind(0).await.unwrap();
        let address = taken.local_addr().unwrap();
        let refused = Listen::of(Some(address)).bind(0).await.unwrap_err();
        assert!(format!("{refused:#}").contains("--listen"), "{refused:#}");
        let known = Listen { must: false, ..Listen::of(Some(address)) };
        let (other, told) = known.bind(0).await.unwrap();
        assert_ne!(other.local_addr().unwrap().port(), address.port());
        assert!(told.unwrap().contains(&address.to_string()));
    }
}
