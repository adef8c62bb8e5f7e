//! The limit of open files: the soft limit of a process is often 1,024 although the system permits far more. Go's runtime raises it for
//! every Go program; this module does the same.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard limit, and returns the new limit; `None` means no limit.
///
/// # Errors
///
/// If the operating system refuses.
pub(crate) fn raise_limit() -> std::io::Result<Option<u64>> {
    let now = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: now.maximum, ..now };
    if raised != now {
        setrlimit(Resource::Nofile, raised)?;
    }
    Ok(raised.current)
}

#[cfg(test)]
mod tests {
    use bowline_cloud::CloudError;

    use super::*;
    use crate::CloudControllerManager;
    use crate::exit::Exit;

    /// Marks the process that a test starts: limits are those of a whole process.
    const IN_CHILD: &str = "BOWLINE_TEST_RAISES_OPEN_FILES";

    /// Does `work`, given the hard limit, in a process of its own whose soft limit is 64. `test` is the name of the calling test.
    fn with_low_limit(test: &str, work: impl FnOnce(Option<u64>)) {
        if std::env::var_os(IN_CHILD).is_some() {
            let hard = getrlimit(Resource::Nofile).maximum;
            setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: hard }).unwrap();
            work(hard);
            return;
        }
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("open_files::tests::{test}"), "--nocapture"])
            .env(IN_CHILD, "1")
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    }

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        with_low_limit("the_soft_limit_becomes_the_hard_one", |hard| {
            assert_eq!(raise_limit().unwrap(), hard);
            assert_eq!(getrlimit(Resource::Nofile), Rlimit { current: hard, maximum: hard });
            assert_eq!(raise_limit().unwrap(), hard, "a second time changes nothing");
        });
    }

    #[test]
    fn a_manager_raises_the_limit_when_it_starts() {
        with_low_limit("a_manager_raises_the_limit_when_it_starts", |hard| {
            let nowhere = ["--cloud-provider=none".to_owned(), "--kubeconfig=/nowhere/kubeconfig".to_owned()];
            let exit = CloudControllerManager::new("test", "v0")
                .cloud("none", |_config| Err(CloudError::invalid("no cloud")))
                .run_with(&nowhere);
            assert_ne!(exit, Exit::Success);
            assert_eq!(getrlimit(Resource::Nofile), Rlimit { current: hard, maximum: hard });
        });
    }
}
