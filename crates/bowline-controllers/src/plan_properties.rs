//! What holds for the plans of Nodes and routes whatever is seen: the plan after the plan is empty, the order in which the cloud lists
//! things does not count, and what is not ours is not touched.

mod nodes;
mod routes;
