//! How many ids fit into the address of one request. Pure.

/// So many at most: the ids of fifty servers, each behind `&device_id=`, are 2.4 kB. Web servers take 4 kB of headers at least (uWSGI as
/// it is delivered), of which a token is half a kilobyte.
const MOST: usize = 50;

/// The ids in groups that fit, in order.
pub(crate) fn groups(ids: &[String]) -> impl Iterator<Item = &[String]> {
    ids.chunks(MOST)
}

/// Into how many groups so many ids go.
pub(crate) fn group_count(ids: usize) -> usize {
    ids.div_ceil(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_ids_fit_and_nothing_is_lost() {
        for (count, sizes) in [(0, vec![]), (50, vec![50]), (101, vec![50, 50, 1])] {
            let ids: Vec<String> = (0..count).map(|number| format!("{number:036}")).collect();
            assert_eq!(groups(&ids).map(<[String]>::len).collect::<Vec<_>>(), sizes);
            assert_eq!(groups(&ids).collect::<Vec<_>>().concat(), ids);
            assert_eq!(group_count(count), sizes.len());
        }
    }
}
