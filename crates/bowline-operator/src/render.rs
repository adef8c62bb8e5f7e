//! What shall exist: the objects of a cloud-controller-manager, made from typed values. Pure; applies nothing, reads nothing.

mod object;

pub use self::object::{Object, ObjectError};
