//! Safety rails. Each prevents a repetition of an incident in which a cloud-controller-manager caused damage. They check a plan before it
//! is executed, for every provider alike; a provider cannot disable them. The rails about ownership in the cloud (SR-8, SR-9) are not here:
//! each provider implements them.
//!
//! Rails are values and pure functions: no client, no clock, no logging. The caller reports what they held back.
//!
//! # Configuration, metric, event and release of each rail
//!
//! `…held` stands for the metric `bowline_node_deletions_held`, `…held_back_total` for `bowline_rail_held_back_total`.
//!
//! - SR-1, unknown is not gone. Not configurable. Metric `…held{rail="evidence"}`. Event `NodeDeletionHeld`. Released by an answer of the
//!   cloud.
//! - SR-2, [`deletion_budget`]. Flags `--node-deletion-limit-percent`, `--node-deletion-window`, `--node-removal-taints`. Metric
//!   `…held{rail="budget"}`. Event `NodeDeletionHeld`. Released by time; by the annotation `bowline.dev/allow-node-deletion`.
//! - SR-2, its breaker. Flags `--node-deletion-breaker-percent`, `--node-deletion-breaker-recovery`. Metrics
//!   `bowline_node_deletion_breaker_open`, `…held{rail="breaker"}`. Event `NodeDeletionHeld`. Released by successful reads; by a reset; by
//!   the annotation.
//! - SR-3, [`identity`]. Not configurable. Metrics `bowline_cloud_identity_lost`, `bowline_cloud_identity_losses_total`. Events
//!   `CloudIdentityLost`, `CloudIdentityFound` on the Lease. Released when the cloud confirms the original identity; for a cloud that
//!   cannot report one, when it answers an observation.
//! - SR-4, [`claim`]. Not configurable: the provider decides which Nodes are its own, and for a Node without provider ID it must have
//!   returned the machine ([`seen_machines`]). Metric `…held{rail="claim"}`. Event `NodeDeletionHeld` on Nodes without provider ID; none on
//!   Nodes of other clouds. Released by a provider ID of this cloud; by a machine that was observed once.
//! - SR-4, its filter [`node_filter`]. Flag `--node-filter`. Metric `…held{rail="claim"}`. Event `CloudNodeNotClaimed` on Nodes that wait
//!   to be initialized. Released by labels that the filter selects.
//! - No deletion at all. Flag `--skip-node-deletion`. Metric `…held{rail="skip"}`. Event `NodeDeletionHeld`. Released by a restart without
//!   the flag.
//! - SR-5, preconditions. Not configurable: every write carries a UID. No metric and no event, because a rejected write costs only one more
//!   observation.
//! - SR-6, permission check, in the manager. Not configurable. Holds nothing back; reports in advance which requests will be forbidden.
//!   Metric `bowline_missing_permissions`. Event `MissingPermissions` on the Lease. Released by granting the permission.
//! - SR-7, [`second_look`]. Flag `--second-look-delay`. Metric `…held_back_total{rail="second-look"}`. Events `LoadBalancerChangeHeld`,
//!   `RouteRemovalHeld`. Released by a second observation that leads to the same plan.
//! - SR-10, [`create_budget`]. Flags `--create-limit`, `--create-limit-window`. Metric `…held_back_total{rail="create-budget"}`. Event
//!   `LoadBalancerCreateHeld`, and the condition of the Service. Released by time.
//! - SR-14, [`new_node_grace`]. Flag `--new-node-grace-period`. Metric `…held{rail="grace"}`. Event `NodeDeletionHeld`. Released by time;
//!   by a machine that was observed once.
//! - SR-15, [`pause`] of the cluster. The annotation `bowline.dev/paused` of the Lease; flag `--paused`. Metrics `bowline_paused`,
//!   `…held_back_total{rail="pause"}`, `…held{rail="pause"}`. Events `Paused` on the Lease, `LoadBalancerPaused`,
//!   `CloudNodeInitializationPaused`, `NodeDeletionHeld`, `RoutesPaused`. Released by removing the annotation; by a restart without
//!   `--paused`.
//! - SR-15, pause of one Service. Its annotation `bowline.dev/paused`. No metric, because the owner of the Service asked for it. Event
//!   `LoadBalancerPaused`. Released by removing the annotation.
//! - SR-19, [`replacement`]. Flag `--load-balancer-replacement-delay`. Metrics `bowline_load_balancers_broken`,
//!   `…held_back_total{rail="replacement"}`. Event `LoadBalancerReplacementHeld`, and the condition of the Service. Released by a second
//!   observation that shows that the load balancer serves no traffic; by a repair in the cloud.
//! - SR-19, its breaker. Flag `--load-balancer-breaker-percent`. Metric `bowline_load_balancer_breaker_open`. Event
//!   `LoadBalancerReplacementHeld`. Released by repairs in the cloud and time; by the annotation
//!   `bowline.dev/allow-load-balancer-replacement`.
//! - [`adopt_only`], for migrations. Flag `--adopt-only`. Metric `…held_back_total{rail="adopt-only"}`. Event `LoadBalancerNotAdopted`, and
//!   the condition of the Service. Released by a restart without the flag.
//!
//! # Tests of the running controllers
//!
//! Besides its unit tests, each rail has tests which show that it holds back what is harmful, and tests which show that it lets correct
//! changes pass.
//!
//! - SR-1 holds and passes: `sr1_only_proof_by_a_direct_read_deletes` (its first two cases pass).
//! - SR-2 holds: `sr2_a_tenth_goes_within_ten_minutes_and_the_next_tenth_after`,
//!   `sr2_when_more_than_a_third_seems_gone_none_is_deleted_and_it_is_told`. Passes: `sr2_announced_removals_do_not_count_and_do_not_wait`,
//!   `sr2_the_breaker_closes_when_reads_are_healthy_again`, `sr2_a_person_who_resets_the_breaker_lets_them_go_within_the_budget`.
//! - SR-3 holds, and passes once the identity is confirmed again:
//!   `with_a_bad_password_nothing_is_deleted_or_changed_and_with_a_good_one_everything_is`, `another_projects_404_deletes_nothing`,
//!   `a_service_that_is_being_deleted_keeps_its_finalizer_until_its_load_balancer_is_gone`, `routes_are_not_made_in_the_other_project`.
//!   Passes: `one_endpoint_that_refuses_us_although_the_cloud_knows_us_freezes_the_others_for_a_moment_only`.
//! - SR-4 holds and passes: `sr4_nodes_of_others_are_never_touched_and_ours_beside_them_are`. Holds:
//!   `sr4_a_node_without_provider_id_that_this_cloud_never_had_gets_no_route_and_no_condition`,
//!   `sr4_node_without_provider_id_never_found_in_cloud_is_not_deleted`. Passes: `a_new_node_gets_its_route_before_its_provider_id`,
//!   `sr4_node_without_provider_id_found_once_is_deleted_when_its_machine_is_gone`.
//! - SR-4, the filter, holds Nodes outside and passes Nodes inside: `nodes_outside_the_filter_are_neither_initialized_nor_relabelled`,
//!   `nodes_outside_the_filter_are_neither_tainted_nor_deleted`, `nodes_outside_the_filter_get_no_routes`,
//!   `nodes_outside_the_filter_get_no_range`.
//! - `--skip-node-deletion` holds: `with_skip_node_deletion_no_node_is_deleted_and_each_is_told_once`. Passes:
//!   `without_skip_node_deletion_the_same_nodes_go`.
//! - SR-5 holds: `sr5_a_node_that_comes_back_during_the_direct_read_is_not_deleted`. Passes:
//!   `sr5_a_node_is_deleted_by_its_uid_and_a_namesake_that_came_meanwhile_is_not`.
//! - SR-6 reports a missing permission, and clears it once it is granted:
//!   `a_missing_verb_is_named_everywhere_and_forgotten_when_it_is_granted`, and `real_rbac`.
//! - SR-7 holds: `losing_most_nodes_for_a_moment_takes_none_out_of_a_load_balancer`. Passes:
//!   `nodes_that_stay_away_are_taken_out_after_a_second_look`, `without_nodes_stale_routes_go_after_a_second_look`.
//! - SR-10 holds: `what_is_never_found_again_is_created_three_times_an_hour_at_most`. Passes:
//!   `a_create_that_fails_for_some_minutes_still_succeeds_when_the_cloud_is_back`.
//! - SR-14 holds: `sr14_a_new_node_is_spared_for_five_minutes_and_then_goes`. Passes:
//!   `sr14_a_new_node_whose_machine_was_seen_goes_at_once`.
//! - SR-15, the cluster, holds, and passes after the pause: `while_the_cluster_is_paused_…` of each controller. Passes:
//!   `what_is_as_it_should_be_does_not_notice_a_pause`.
//! - SR-15, one Service, holds, and passes after it is resumed: `a_paused_service_is_neither_changed_nor_removed_until_it_is_resumed`.
//! - SR-19 holds: `sr19_a_broken_load_balancer_that_may_serve_is_kept`, `sr19_when_many_are_broken_at_once_none_is_replaced`. Passes:
//!   `sr19_one_that_serves_nobody_is_replaced_after_a_second_observation`, `sr19_one_that_never_served_is_replaced_at_once`,
//!   `sr19_a_broken_load_balancer_goes_with_its_service`.
//! - Adopt-only holds: `in_adopt_only_mode_nothing_is_made_and_it_is_told_once`, `in_adopt_only_mode_a_deletion_waits`. Passes:
//!   `in_adopt_only_mode_what_is_there_is_adopted`.
//!
//! # Rails elsewhere
//!
//! SR-8 and SR-9 (ownership) are in the providers, SR-11 (isolation) in the manager's supervisor, SR-12 (rate limit of cloud calls) in its
//! call budget, SR-13 in the fence of the leader election.

pub mod adopt_only;
pub mod claim;
pub mod create_budget;
pub mod deletion_budget;
pub mod identity;
pub mod new_node_grace;
pub mod node_filter;
pub mod pause;
pub mod replacement;
pub mod second_look;
pub mod seen_machines;
