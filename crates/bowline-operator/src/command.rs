//! The commands of the operator. Each file is one command; none of them decides anything.

pub mod run;
