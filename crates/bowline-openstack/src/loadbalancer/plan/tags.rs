//! Tags that a Service requests: missing ones are added, all others stay. Pure.

/// The most tags of one object. Every list of the project contains them, and each change of the annotation may add more.
pub(in crate::loadbalancer) const MOST: usize = 100;

/// The requested tags that are missing; empty if the object would have more than [`MOST`].
pub(in crate::loadbalancer) fn missing<'a>(asked: &'a [String], there: &[String]) -> Vec<&'a String> {
    let missing: Vec<&String> = asked.iter().filter(|tag| !there.contains(tag)).collect();
    if there.len() + missing.len() > MOST { Vec::new() } else { missing }
}

/// Whether missing tags are not added because the object would have more than [`MOST`].
pub(in crate::loadbalancer) fn are_too_many(asked: &[String], there: &[String]) -> bool {
    missing(asked, there).is_empty() && asked.iter().any(|tag| !there.contains(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(there: &[&str], asked: &str) -> Vec<String> {
        let there: Vec<String> = there.iter().map(|tag| (*tag).to_owned()).collect();
        let asked = crate::loadbalancer::intent::parse_tags(asked).unwrap();
        there.iter().cloned().chain(missing(&asked, &there).into_iter().cloned()).collect()
    }

    /// The semantics of OCCM's annotations for tags: commas and white space separate them, the union is written, what is there stays
    /// in front, and nothing is written if nothing is missing.
    #[test]
    fn tags_are_merged_as_occm_merges_them() {
        let own = "kube_service_kubernetes_default_web";
        let rows: [(&[&str], &str, &[&str]); 8] = [
            (&[own], "", &[own]),
            (&[own], " , ,, ", &[own]),
            (&[own], "env=prod", &[own, "env=prod"]),
            (&[own], " env=prod,  team=a ", &[own, "env=prod", "team=a"]),
            (&[own], "env=prod team=a", &[own, "env=prod", "team=a"]),
            (&[own, "env=prod"], "env=prod", &[own, "env=prod"]),
            (&["by-hand", own], "env=prod,by-hand,env=prod", &["by-hand", own, "env=prod"]),
            (&[], "b,a", &["b", "a"]),
        ];
        for (there, asked, wanted) in rows {
            assert_eq!(merged(there, asked), wanted, "{there:?} and {asked:?}");
        }
    }
}
