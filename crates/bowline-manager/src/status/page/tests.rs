use bowline_cloud::{Standing, StepNote};

use super::super::overview::*;
use super::*;

/// Markup that must never come out as markup.
const BAD: &str = "\"'><img src=x onerror=alert(1)></title></script></style>&";

fn at() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn bad() -> String {
    BAD.to_owned()
}

fn listing<T>(rows: Vec<T>) -> Listing<T> {
    Listing { matching: rows.len(), total: 500, page: 2, pages: 10, known: true, rows }
}

/// An overview with markup wherever a text can come from outside.
fn overview(standing: Standing) -> Overview {
    let member = MemberBox { name: bad(), address: bad(), status: bad() };
    let pool = PoolBox { title: bad(), status: bad(), monitor: Some(bad()), members: vec![member], more: 3 };
    let allowed = vec![bad()];
    let listener = ListenerBox { title: bad(), name: bad(), status: bad(), allowed, pools: vec![pool] };
    let balancer = BalancerBox {
        source: "read",
        name: Some(bad()),
        id: Some(bad()),
        status: bad(),
        listeners: vec![listener],
        more: 1,
    };
    let step = StepNote { verb: "create", kind: "pool", target: bad(), text: bad(), reason: bad() };
    let plan = PlanRow { at: at(), done_at: None, steps: vec![PlannedStep { step, done: false }], more: 2 };
    let service = ServiceRow {
        namespace: bad(),
        name: bad(),
        addresses: vec![bad()],
        standing: Some(standing),
        since: Some(at()),
        says: Some(bad()),
        leaving: false,
        balancer,
        plan: Some(plan),
    };
    let node = NodeRow {
        name: bad(),
        ready: Some(false),
        provider_id: Some(bad()),
        addresses: vec![(bad(), bad())],
        waits: vec![bad()],
        taints: vec![bad()],
        place: Some(bad()),
        leaving: false,
    };
    let call = CallRow {
        at: at(),
        service: "compute",
        method: bad(),
        path: bad(),
        status: None,
        millis: 7,
        request_id: Some(bad()),
        failed: true,
    };
    let cloud = CloudRow {
        service: bad(),
        last_minute: 9,
        failed_last_minute: 2,
        lately: vec![(0, 0), (9, 2)],
        per_second: Some(10.0),
        burst: 20,
        left: Some(4),
        paused_seconds: None,
        answered_at: None,
        silent: true,
    };
    Overview {
        now: at(),
        replica: ReplicaRow {
            component: bad(),
            version: bad(),
            identity: bad(),
            started_at: at(),
            cloud: bad(),
            cluster: bad(),
            leader: LeaderRow::StandsBy { lease: bad(), holder: Some(bad()) },
        },
        problems: vec![Problem { what: bad(), text: bad() }],
        services: listing(vec![service]),
        service_counts: ServiceCounts { settled: 1, moving: 1, held: 1, troubled: 1 },
        nodes: listing(vec![node]),
        node_counts: NodeCounts { ready: 0, waiting: 1 },
        cloud: vec![cloud],
        calls: vec![call],
        rails: vec![RailRow {
            id: "SR-2",
            name: "Breaker",
            guards: bad(),
            holds: true,
            says: bad(),
            rail: "breaker",
            nodes_held: Some(2),
            plans_held: None,
        }],
        checks: vec![CheckRow { name: bad(), state: CheckState::Look, why: Some(bad()) }],
        timeline: vec![Moment { at: at(), kind: "event", tone: Tone::Warning, about: bad(), text: bad() }],
    }
}

fn drawn(overview: &Overview) -> String {
    page(overview, &Query { service: bad(), node: bad(), ..Query::default() })
}

#[test]
fn nothing_from_outside_comes_out_as_markup() {
    let html = drawn(&overview(Standing::Settled));
    assert!(!html.contains("<img") && !html.contains("onerror=alert(1)>"), "{html}");
    assert_eq!(html.matches("<script").count(), 1, "our own");
    assert_eq!(html.matches("</script>").count(), 1, "our own");
    assert_eq!(html.matches("</style>").count(), 1, "our own");
    assert_eq!(html.matches("</title>").count(), 1, "our own");
    assert!(html.contains("&lt;img src=x onerror=alert(1)&gt;"), "it is shown as text");
}

#[test]
fn the_page_needs_nothing_from_elsewhere_and_no_style_or_handler_in_its_elements() {
    let html = drawn(&overview(Standing::Settled));
    let html = html.replace(SCRIPT, "").replace(STYLE, "");
    for never in ["http://", "https://", " style=", " onclick=", "src=\"", "@import", "url("] {
        assert!(!html.contains(never), "{never} in {html}");
    }
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !SCRIPT.contains("://"));
    assert!(!STYLE.contains("</") && !SCRIPT.contains("</"), "they end where they end");
}

#[test]
fn whoever_has_no_eyes_or_no_mouse_finds_the_way() {
    let html = drawn(&overview(Standing::Settled));
    for wanted in [
        "<html lang=\"en\">",
        "<a class=\"skip\" href=\"#main\">",
        "<main id=\"main\"",
        "<header",
        "<footer>",
        "aria-label=\"Sections\"",
        "aria-labelledby=\"services-title\"",
        "role=\"status\"",
        "role=\"alert\"",
        "<th scope=\"col\">",
        "<th scope=\"row\">",
        "name=\"viewport\"",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
}

#[test]
fn each_standing_has_a_word_of_its_own() {
    let why = || "why".to_owned();
    for (standing, word) in [
        (Standing::Settled, "Settled"),
        (Standing::Waits { reason: why() }, "Waiting"),
        (Standing::Acts { steps: Vec::new(), more: 0 }, "Changing"),
        (Standing::Refused { problems: Vec::new() }, "Refused"),
        (Standing::Unknown { why: why() }, "Unknown"),
        (Standing::Failed { why: why() }, "Failing"),
        (Standing::Held { rail: "pause", why: why() }, "Held"),
    ] {
        let html = drawn(&overview(standing));
        let services = html.split("id=\"services-body\"").nth(1).unwrap();
        assert!(
            services.split("</summary>").next().unwrap().contains(&format!("</span>{word}</span>")),
            "{word}"
        );
    }
}

#[test]
fn other_pages_are_linked_and_keep_what_was_asked_for() {
    let query = Query { service: "web".to_owned(), unsettled: true, service_page: 2, ..Query::default() };
    let html = page(&overview(Standing::Settled), &query);
    assert!(html.contains("href=\"bowline?service=web&amp;unsettled=1\">Previous"), "{html}");
    assert!(html.contains("href=\"bowline?service=web&amp;unsettled=1&amp;servicePage=3\">Next"), "{html}");
    assert!(
        html.contains("data-live-url=\"bowline/live?service=web&amp;unsettled=1&amp;servicePage=2\""),
        "{html}"
    );
}

#[test]
fn the_parts_that_are_sent_live_are_those_of_the_page() {
    let shown = overview(Standing::Settled);
    let html = drawn(&shown);
    let query = Query { service: bad(), node: bad(), ..Query::default() };
    for part in parts(&shown, &query) {
        let id = part.id;
        let opens = format!("<div id=\"{id}\" data-live=\"\">");
        assert!(html.contains(&format!("{opens}{}", part.into_content())), "{id}");
    }
}
