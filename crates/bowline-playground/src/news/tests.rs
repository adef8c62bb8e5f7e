//! The end of the news, while a line is being written on another thread.

use std::io::{self, Write};
use std::sync::mpsc;

use parking_lot::Mutex;
use serde_json::json;
use sim_kube::Config;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::*;
use crate::cluster::UNINITIALIZED;

type Shared<T> = Arc<Mutex<T>>;

/// Writes one line slowly: it says when it begins, waits until it may go on, and notes that it is done.
struct SlowWriter {
    begins: Option<oneshot::Sender<()>>,
    may_go_on: mpsc::Receiver<()>,
    happened: Shared<Vec<&'static str>>,
}

impl Write for SlowWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(begins) = self.begins.take() {
            begins.send(()).unwrap();
            self.may_go_on.recv().unwrap();
            self.happened.lock().push("the line is written");
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_news_waits_for_the_line_that_is_being_written() {
    let (begins, began) = oneshot::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let happened: Shared<Vec<&str>> = Arc::default();
    let writer = SlowWriter { begins: Some(begins), may_go_on, happened: Arc::clone(&happened) };
    let kube = SimKube::new(Config::real());
    let news = News::start(kube.clone(), None, Terminal::new(Box::new(writer), false, false), "");
    let taint = json!({"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"});
    let node = json!({"metadata": {"name": "node-1"}, "spec": {"taints": [taint]}});
    let node = serde_json::from_value(node).unwrap();
    kube.objects::<Node>("").create(&node).unwrap();
    timeout(Duration::from_secs(60), began).await.expect("a line about the Node").unwrap();
    let end = async {
        news.end().await;
        happened.lock().push("the news has ended");
    };
    // Polled in this order: the news ends first if it waits for nothing.
    tokio::join!(end, async { go_on.send(()).unwrap() });
    assert_eq!(*happened.lock(), ["the line is written", "the news has ended"]);
}
