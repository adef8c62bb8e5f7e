//! Safety rails: each answers an incident in which a cloud-controller-manager did harm. They judge what is planned before
//! it is executed, for every provider alike, and no provider can turn off one that is here. The rails about ownership in the cloud
//! (SR-8, SR-9) are not here: each provider has to keep them itself.
//!
//! Rails are values and pure functions: no client, no clock, no logging. Who asks them tells people what they held back.
//!
//! | rail | tuned by | metric | event | released by |
//! |---|---|---|---|---|
//! | SR-1 unknown is not gone | nothing: a fact, not a limit | `bowline_node_deletions_held{rail="evidence"}` | `NodeDeletionHeld` | an answer of the cloud |
//! | SR-2 [`deletion_budget`] | `--node-deletion-limit-percent`, `--node-deletion-window`, `--node-removal-taints` | `…held{rail="budget"}` | `NodeDeletionHeld` | time; the annotation `bowline.dev/allow-node-deletion` |
//! | SR-2 its breaker | `--node-deletion-breaker-percent`, `--node-deletion-breaker-recovery` | `bowline_node_deletion_breaker_open`, `…held{rail="breaker"}` | `NodeDeletionHeld` | healthy reads; a reset; the annotation |
//! | SR-3 [`identity`] | nothing: the cloud knows us or it does not | `bowline_cloud_identity_lost`, `bowline_cloud_identity_losses_total` | `CloudIdentityLost`, `CloudIdentityFound` on the Lease | the cloud's word that we are who we were; of a cloud that cannot say, an answered look |
//! | SR-4 [`claim`] | nothing: the provider says what is its own, and of a Node without provider ID it must have shown the machine ([`seen_machines`]) | `…held{rail="claim"}` | `NodeDeletionHeld` on Nodes without provider ID; none on those of other clouds | a provider ID of ours; a machine that was seen once |
//! | SR-4 its filter, [`node_filter`] | `--node-filter` | `…held{rail="claim"}` | `CloudNodeNotClaimed` on Nodes that wait to be initialized | labels that the filter selects |
//! | no deletion at all | `--skip-node-deletion` | `…held{rail="skip"}` | `NodeDeletionHeld` | a start without `--skip-node-deletion` |
//! | SR-5 preconditions | nothing: every write carries a UID | none: it costs a look | none | the next look |
//! | SR-6 right to act, in the manager | nothing: it holds nothing back, it says in advance what will fail | `bowline_missing_permissions` | `MissingPermissions` on the Lease | granting the right |
//! | SR-7 [`second_look`] | `--second-look-delay` | `bowline_rail_held_back_total{rail="second-look"}` | `LoadBalancerChangeHeld`, `RouteRemovalHeld` | a second look that wants the same |
//! | SR-10 [`create_budget`] | `--create-limit`, `--create-limit-window` | `…held_back_total{rail="create-budget"}` | `LoadBalancerCreateHeld`, and the Service's condition | time |
//! | SR-19 [`replacement`] | `--load-balancer-replacement-delay` | `bowline_load_balancers_broken`, `…held_back_total{rail="replacement"}` | `LoadBalancerReplacementHeld`, and the Service's condition | a second observation that shows that it serves nobody; a repair in the cloud |
//! | SR-19 its breaker | `--load-balancer-breaker-percent` | `bowline_load_balancer_breaker_open` | `LoadBalancerReplacementHeld` | repairs in the cloud and time; the annotation `bowline.dev/allow-load-balancer-replacement` |
//! | SR-14 [`new_node_grace`] | `--new-node-grace-period` | `…held{rail="grace"}` | `NodeDeletionHeld` | time; a machine that was seen once |
//! | SR-15 [`pause`], the cluster | the annotation `bowline.dev/paused` of the Lease; `--paused` | `bowline_paused`, `…held_back_total{rail="pause"}`, `…held{rail="pause"}` | `Paused` on the Lease, `LoadBalancerPaused`, `CloudNodeInitializationPaused`, `NodeDeletionHeld`, `RoutesPaused` | taking the annotation off; a start without `--paused` |
//! | [`adopt_only`], a migration | `--adopt-only` | `…held_back_total{rail="adopt-only"}` | `LoadBalancerNotAdopted`, and the Service's condition | a start without `--adopt-only` |
//! | SR-15 one Service | its annotation `bowline.dev/paused` | none: its owner asked for it | `LoadBalancerPaused` | taking the annotation off |
//!
//! Each has a pair of tests of the running controller, beside those of the rail itself: it holds what does harm, and it lets
//! the right thing pass.
//!
//! | rail | holds | lets pass |
//! |---|---|---|
//! | SR-1 | `sr1_only_proof_by_a_direct_read_deletes` | the same: its first two cases |
//! | SR-2 | `sr2_a_tenth_goes_within_ten_minutes_and_the_next_tenth_after` | `sr2_announced_removals_do_not_count_and_do_not_wait` |
//! | SR-2 | `sr2_when_more_than_a_third_seems_gone_none_is_deleted_and_it_is_told` | `sr2_the_breaker_closes_when_reads_are_healthy_again`, `sr2_a_person_who_resets_the_breaker_lets_them_go_within_the_budget` |
//! | SR-3 | `with_a_bad_password_nothing_is_deleted_or_changed_and_with_a_good_one_everything_is`, `another_projects_404_deletes_nothing`, `a_service_that_is_being_deleted_keeps_its_finalizer_until_its_load_balancer_is_gone`, `routes_are_not_made_in_the_other_project` | the same, known again; `one_endpoint_that_refuses_us_although_the_cloud_knows_us_freezes_the_others_for_a_moment_only` |
//! | SR-4 | `sr4_nodes_of_others_are_never_touched_and_ours_beside_them_are` | the same |
//! | SR-4 | `sr4_a_node_without_provider_id_that_this_cloud_never_had_gets_no_route_and_no_condition` | `a_new_node_gets_its_route_before_its_provider_id` |
//! | SR-4 | `sr4_node_without_provider_id_never_found_in_cloud_is_not_deleted` | `sr4_node_without_provider_id_found_once_is_deleted_when_its_machine_is_gone` |
//! | SR-4 filter | `nodes_outside_the_filter_are_neither_initialized_nor_relabelled`, `nodes_outside_the_filter_are_neither_tainted_nor_deleted`, `nodes_outside_the_filter_get_no_routes`, `nodes_outside_the_filter_get_no_range` | the same: the Nodes inside |
//! | skip | `with_skip_node_deletion_no_node_is_deleted_and_each_is_told_once` | `without_skip_node_deletion_the_same_nodes_go` |
//! | SR-5 | `sr5_a_node_that_comes_back_during_the_direct_read_is_not_deleted` | `sr5_a_node_is_deleted_by_its_uid_and_a_namesake_that_came_meanwhile_is_not` |
//! | SR-6 | `a_missing_verb_is_named_everywhere_and_forgotten_when_it_is_granted`, and `real_rbac` | the same, granted |
//! | SR-7 | `losing_most_nodes_for_a_moment_takes_none_out_of_a_load_balancer` | `nodes_that_stay_away_are_taken_out_after_a_second_look`, `without_nodes_stale_routes_go_after_a_second_look` |
//! | SR-10 | `what_is_never_found_again_is_created_three_times_an_hour_at_most` | `a_create_that_fails_for_some_minutes_still_succeeds_when_the_cloud_is_back` |
//! | SR-19 | `sr19_a_broken_load_balancer_that_may_serve_is_kept`, `sr19_when_many_are_broken_at_once_none_is_replaced` | `sr19_one_that_serves_nobody_is_replaced_after_a_second_observation`, `sr19_one_that_never_served_is_replaced_at_once`, `sr19_a_broken_load_balancer_goes_with_its_service` |
//! | SR-14 | `sr14_a_new_node_is_spared_for_five_minutes_and_then_goes` | `sr14_a_new_node_whose_machine_was_seen_goes_at_once` |
//! | SR-15 | `while_the_cluster_is_paused_…` of each controller | the same, after the pause; `what_is_as_it_should_be_does_not_notice_a_pause` |
//! | adopt-only | `in_adopt_only_mode_nothing_is_made_and_it_is_told_once`, `in_adopt_only_mode_a_deletion_waits` | `in_adopt_only_mode_what_is_there_is_adopted` |
//! | SR-15 | `a_paused_service_is_neither_changed_nor_removed_until_it_is_resumed` | the same, resumed |
//!
//! Elsewhere: SR-8 and SR-9 (whose is it) are providers', SR-11 (isolation) is the manager's supervisor, SR-12 (calls) its
//! budget, SR-13 the fence of the election.

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
