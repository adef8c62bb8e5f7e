//! The OpenStack provider of Bowline.
