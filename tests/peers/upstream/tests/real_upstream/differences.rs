//! Where ours is meant to differ from upstream, and why. Every row must occur, except those that occur by chance.

/// A difference that is wanted.
#[derive(Debug)]
pub(crate) struct Known {
    /// In which stages; empty for any.
    pub(crate) stages: &'static [&'static str],
    /// What differs, as the report names it; a `*` stands for any text.
    pub(crate) subjects: &'static [&'static str],
    /// Why it is so.
    pub(crate) because: &'static str,
}

impl Known {
    /// Whether it speaks of this subject in this stage.
    pub(crate) fn covers(&self, stage: &str, subject: &str) -> bool {
        self.subjects.iter().any(|row| matches(row, subject))
            && (self.stages.is_empty() || self.stages.contains(&stage))
    }
}

/// Whether a row names this subject.
pub(crate) fn matches(row: &str, subject: &str) -> bool {
    row.split_once('*').map_or(row == subject, |(beginning, end)| {
        subject.strip_prefix(beginning).is_some_and(|rest| rest.ends_with(end))
    })
}

/// Why something differs, if it is meant to.
pub(crate) fn reason(stage: &str, subject: &str) -> Option<&'static str> {
    KNOWN.iter().chain(BY_CHANCE).find(|known| known.covers(stage, subject)).map(|known| known.because)
}

/// What differs in some runs only, because upstream races with itself.
#[rustfmt::skip]
pub(crate) const BY_CHANCE: &[Known] = &[
    Known {
        stages: &["services appear, machines and labels change"],
        subjects: &[
            "cloud default/dns: calls", "cloud default/guarded: calls", "cloud default/local: calls",
            "cloud default/named: calls", "cloud default/proxied: calls", "cloud default/slow: calls",
            "cloud default/twofold: calls", "cloud default/void: calls", "cloud default/web: calls",
        ],
        because: "load balancers are told when the addresses of a node change: their members are made from them; upstream \
                  tells them with the next change of the set. Which stage sees it depends on for how long changes of nodes are gathered",
    },
    Known {
        stages: &["the cloud works again"],
        subjects: &["service named: load balancer"],
        because: "every run writes the status that the cloud shows; upstream only an ensure, which comes later than the end of the \
                  stage in some runs",
    },
    Known {
        stages: &["much happens while no manager runs"],
        subjects: &["cloud default/*: calls"],
        because: "at its start upstream may give new hosts to a load balancer between noting its Service and noting which \
                  hosts it ensured it with",
    },
    Known {
        stages: &["all stages"],
        subjects: &["event service-controller Normal UpdatedLoadBalancer on v1 Service late *"],
        because: "load balancers are told when the addresses of a node change, in ours; whether this one is there by then \
                  depends on who is quicker",
    },
    Known {
        stages: &["all stages"],
        subjects: &["writes: services/status"],
        because: "a failure and a long wait are also said in the Service's condition, which is a write of its own; how many depends on how long the outage is felt",
    },
];

/// All that always differ.
#[rustfmt::skip]
pub(crate) const KNOWN: &[Known] = &[
    // Leases.
    Known {
        stages: &["all stages"],
        subjects: &["writes: leases"],
        because: "the machines seen for Nodes without provider ID are kept for the next leader in a Lease, once there is one (SR-4)",
    },
    // Nodes.
    Known {
        stages: &[],
        subjects: &[
            "node noaddr: labels", "node noaddr: provider ID", "node noaddr: taints",
            "event cloud-node-controller Normal Synced on v1 Node noaddr *",
        ],
        because: "a node whose machine has no address yet is not made schedulable; upstream takes the taint off and \
                  writes addresses, if there are any, afterwards",
    },
    Known {
        stages: &["all stages"],
        subjects: &[
            "event cloud-node-controller Warning CloudNodeInitializationFailed on v1 Node noaddr *",
            "event cloud-node-controller Warning CloudNodeInitializationFailed on v1 Node noid *",
            "event cloud-node-controller Warning CloudNodeInitializationFailed on v1 Node misfit *",
            "event cloud-node-controller Warning CloudNodeInitializationFailed on v1 Node garbled *",
            "event cloud-node-controller Warning CloudNodeInitializationFailed on v1 Node unknown *",
            "event cloud-node-controller Warning CloudNodeInitializationFailed on v1 Node later *",
        ],
        because: "a node that cannot be initialised says so; upstream only logs it",
    },
    Known {
        stages: &["types are switched back, machines start", "other hosts"],
        subjects: &["node tainted: taints"],
        because: "the shutdown taint goes when the cloud says that the machine runs; upstream waits until the node is \
                  Ready as well",
    },
    Known {
        stages: &[],
        subjects: &[
            "node foreign: exists",
            "event cloud-node-lifecycle-controller Normal DeletingNode on v1 Node foreign *",
            "event cloud-node-controller Normal CloudNodeNotClaimed on v1 Node foreign *",
        ],
        because: "a node with another cloud's provider ID is left alone and told so (SR-4); upstream deletes it as soon as \
                  it is not Ready",
    },
    Known {
        stages: &[],
        subjects: &[
            "node unknown: exists",
            "event cloud-node-lifecycle-controller Normal DeletingNode on v1 Node unknown *",
            "event cloud-node-lifecycle-controller Normal NodeDeletionHeld on v1 Node unknown *",
        ],
        because: "a node without provider ID whose machine the cloud never showed may be bare metal, and is left alone (SR-4); \
                  upstream deletes it as soon as it is not Ready",
    },
    Known {
        stages: &[],
        subjects: &["event service-controller Warning LoadBalancerAddressChanged on v1 Service *"],
        because: "people are warned when the published address of a Service changes; upstream is silent",
    },
    // Routes.
    Known {
        stages: &[],
        subjects: &["node calico: conditions"],
        because: "a network plugin that says the same about NetworkUnavailable keeps its word; upstream takes the \
                  condition over, and the plugin takes it back",
    },
    Known {
        stages: &["all stages"],
        subjects: &[
            "event route_controller Warning FailedToCreateRoute on v1 Node picked (Node picked) in default: Could not create \
             route <UID of Node picked> 10.244.7.0/24 for node picked after <time>: no room for routes",
            "event route_controller Warning FailedToCreateRoute on v1 Node picked (Node picked) in default: Could not create \
             route <UID of Node picked> 10.244.7.0/24 for node picked: no room for routes",
        ],
        because: "the message does not say how long the call took: with that, every repetition would be an event of its own",
    },
    // Services.
    Known {
        stages: &[],
        subjects: &["service guarded: finalizers"],
        because: "the server merges our finalizer into the list and puts it first; the order of finalizers means nothing",
    },
    Known {
        stages: &["all stages"],
        subjects: &["writes: selfsubjectrulesreviews"],
        because: "at its start ours asks whether it may do what it is about to do (SR-6); nothing is stored by it",
    },
    Known {
        stages: &[],
        subjects: &["service *: conditions"],
        because: "a Service says in a condition whether its load balancer is as it asks, and if not, why; upstream only \
                  writes events",
    },
    Known {
        stages: &["other hosts", "the cloud fails"],
        subjects: &["service named: load balancer"],
        because: "every run writes the status that the cloud shows; upstream only an ensure",
    },
    Known {
        stages: &["the cloud fails", "the cloud works again"],
        subjects: &[
            "cloud default/dns: calls", "cloud default/guarded: calls", "cloud default/named: calls",
            "cloud default/proxied: calls", "cloud default/twofold: calls", "cloud default/void: calls",
        ],
        because: "hosts that could not be given are given again, after a pause; upstream ensures the whole load balancer \
                  instead, at once",
    },
    Known {
        stages: &["all stages"],
        subjects: &[
            "event service-controller Warning SyncLoadBalancerFailed on v1 Service dns *",
            "event service-controller Warning SyncLoadBalancerFailed on v1 Service guarded *",
            "event service-controller Warning SyncLoadBalancerFailed on v1 Service named *",
            "event service-controller Warning SyncLoadBalancerFailed on v1 Service proxied *",
            "event service-controller Warning SyncLoadBalancerFailed on v1 Service twofold *",
            "event service-controller Warning SyncLoadBalancerFailed on v1 Service void *",
        ],
        because: "upstream's ensure after the failed update failed too; ours told of the update, which both do",
    },
    Known {
        stages: &["the cloud fails", "the cloud works again", "all stages"],
        subjects: &[
            "cloud default/web: calls", "cloud default/local: calls", "cloud default/slow: calls",
            "event service-controller Warning UpdateLoadBalancerFailed on v1 Service web *",
            "event service-controller Warning UpdateLoadBalancerFailed on v1 Service local *",
            "event service-controller Warning UpdateLoadBalancerFailed on v1 Service slow *",
        ],
        because: "work on one Service is done by one worker: one that has to be ensured or deleted gets no new hosts \
                  besides; upstream does both at the same time",
    },
    Known {
        stages: &["all stages"],
        subjects: &[
            "event service-controller Warning LoadBalancerChangeHeld on v1 Service dns *",
            "event service-controller Warning LoadBalancerChangeHeld on v1 Service guarded *",
            "event service-controller Warning LoadBalancerChangeHeld on v1 Service named *",
            "event service-controller Warning LoadBalancerChangeHeld on v1 Service proxied *",
            "event service-controller Warning LoadBalancerChangeHeld on v1 Service twofold *",
            "event service-controller Warning LoadBalancerChangeHeld on v1 Service void *",
            "event service-controller Warning LoadBalancerChangeHeld on v1 Service web *",
        ],
        because: "a load balancer that would lose most of its hosts is looked at twice (SR-7); upstream empties it at once",
    },
];
