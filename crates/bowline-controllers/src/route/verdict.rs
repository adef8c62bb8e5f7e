//! Derives the state of each Node's network from the results of the changes. Pure.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::condition::Network;
use super::plan::{Need, Standing};

/// The result of a planned route. A route that was held back or not begun has none yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The route was created.
    Made,
    /// The route could not be created, now or in an earlier attempt.
    Failed,
}

/// The results of planned routes, by Node and destination.
pub type Fates = BTreeMap<(String, IpNet), Fate>;

/// The state of each Node's network. A Node whose state is uncertain is not listed.
#[must_use]
pub fn networks(needs: &BTreeMap<String, Vec<Need>>, fates: &Fates) -> BTreeMap<String, Network> {
    let of_node = |(name, needs): (&String, &Vec<Need>)| {
        let known = network(needs, |need| fates.get(&(name.clone(), need.destination)).copied());
        known.map(|known| (name.clone(), known))
    };
    needs.iter().filter_map(of_node).collect()
}

fn network(needs: &[Need], fate: impl Fn(&Need) -> Option<Fate>) -> Option<Network> {
    // The Node has routes, but no pod range any more.
    if needs.is_empty() {
        return Some(Network::Unavailable);
    }
    let mut certain = true;
    for need in needs {
        match (need.standing, fate(need)) {
            (Standing::There, _) | (Standing::ToBeMade, Some(Fate::Made)) => {}
            (Standing::Blocked, _) | (Standing::ToBeMade, Some(Fate::Failed)) => {
                return Some(Network::Unavailable);
            }
            (Standing::ToBeMade, None) => certain = false,
        }
    }
    certain.then_some(Network::Available)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_available_only_with_all_its_routes_and_nothing_is_said_on_a_guess() {
        use Standing::{Blocked, There, ToBeMade};
        let net = |i: usize| -> IpNet { format!("10.0.{i}.0/24").parse().unwrap() };
        let cases: [(Vec<Standing>, Option<Fate>, Option<Network>); 7] = [
            (vec![], None, Some(Network::Unavailable)),
            (vec![There, There], None, Some(Network::Available)),
            (vec![There, ToBeMade], Some(Fate::Made), Some(Network::Available)),
            (vec![There, ToBeMade], Some(Fate::Failed), Some(Network::Unavailable)),
            (vec![There, ToBeMade], None, None),
            (vec![ToBeMade, ToBeMade], Some(Fate::Failed), Some(Network::Unavailable)),
            (vec![Blocked], None, Some(Network::Unavailable)),
        ];
        for (standings, of_the_second, expected) in cases {
            let needs = standings.iter().enumerate();
            let needs = needs.map(|(i, &standing)| Need { destination: net(i), standing }).collect();
            let fates = of_the_second.map(|fate| (("n".to_owned(), net(1)), fate)).into_iter().collect();
            let known = networks(&BTreeMap::from([("n".to_owned(), needs)]), &fates);
            assert_eq!(known.get("n").copied(), expected, "{standings:?} {of_the_second:?}");
        }
    }
}
