//! Which controllers are chosen.

use super::*;

fn known() -> Vec<(String, String)> {
    [
        ("cloud-node-controller", "cloud-node"),
        ("cloud-node-lifecycle-controller", "cloud-node-lifecycle"),
        ("service-lb-controller", "service"),
        ("node-route-controller", "route"),
    ]
    .map(|(canonical, alias)| (canonical.to_owned(), alias.to_owned()))
    .to_vec()
}

fn select(items: &[&str]) -> Result<ControllerSelection, OptionErrors> {
    let items: Vec<String> = items.iter().map(|item| (*item).to_owned()).collect();
    ControllerSelection::parse(&items, &known())
}

#[test]
fn the_first_item_that_mentions_a_controller_decides() {
    let service = "service-lb-controller";
    for (items, enabled) in [
        (&["service-lb-controller"][..], true),
        (&["-service-lb-controller"], false),
        (&["*"], true),
        (&["*", "-service-lb-controller"], false),
        (&["-service-lb-controller", "*"], false),
        (&["service-lb-controller", "-service-lb-controller"], true),
        (&["-service-lb-controller", "service-lb-controller", "*"], false),
        (&["cloud-node-controller"], false),
        (&["-cloud-node-controller"], false),
        (&[], false),
    ] {
        assert_eq!(select(items).unwrap().is_enabled(service), enabled, "{items:?}");
    }
    assert!(!select(&["*"]).unwrap().is_enabled("unheard-of-controller"));
}

#[test]
fn aliases_mean_their_controller_in_both_signs() {
    let all = |items: &[&str]| {
        let selection = select(items).unwrap();
        known()
            .iter()
            .filter(|(name, _)| selection.is_enabled(name))
            .map(|(_, alias)| alias.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(all(&["service"]), ["service"]);
    assert_eq!(all(&["*", "-service"]), ["cloud-node", "cloud-node-lifecycle", "route"]);
    assert_eq!(all(&["route", "-node-route-controller"]), ["route"], "name and alias are one controller");
    assert_eq!(all(&["*", "-cloud-node-lifecycle-controller"]), ["cloud-node", "service", "route"]);
}

#[test]
fn unknown_controllers_are_all_named_with_what_is_known() {
    let errors = select(&["*", "-servce", "zzz", "-*", ""]).unwrap_err();
    assert_eq!(errors.0.len(), 4);
    let text = errors.0[0].to_string();
    assert!(
        text.starts_with(
            "--controllers=-servce: no controller has this name; known are cloud-node-controller,"
        ),
        "{text}"
    );
    assert!(text.ends_with("did you mean service?"), "{text}");
}
