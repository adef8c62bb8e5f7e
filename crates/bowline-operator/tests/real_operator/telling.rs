//! `bowline migrate status` on the API server: what it reads there, and what it says when it cannot.

use bowline_operator::command::migrate::{Arguments, Output, status};
use bowline_testkit::apiserver::Identity;
use serde_json::{Value, json};

use crate::harness::Harness;

#[tokio::test]
async fn migrate_status_tells_what_the_operator_wrote_for_people_and_for_programs() -> anyhow::Result<()> {
    let stage = Harness::start().await?;
    let kubeconfig = Some(stage.cluster.kubeconfig(&Identity::Admin).await?);
    let asked = |output: Output, name: Option<&str>| Arguments {
        kubeconfig: kubeconfig.clone(),
        context: None,
        output,
        name: name.map(str::to_owned),
    };
    let _operator = stage.operator().await?;
    let inline = "[Global]\nauth-url = https://keystone.example.org/v3\n";
    stage.ask("main", json!({ "cloudConfig": { "inline": inline } })).await?;
    stage.steady("main").await?;

    let (text, code) = status(&asked(Output::Table, None)).await.map_err(anyhow::Error::msg)?;
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("main") && text.contains("Steady") && text.contains("100"), "{text}");
    let (told, _code) = status(&asked(Output::Json, Some("main"))).await.map_err(anyhow::Error::msg)?;
    let told: Value = serde_json::from_str(&told)?;
    assert_eq!((&told[0]["name"], &told[0]["phase"]), (&json!("main"), &json!("Steady")), "{told:#}");
    let unknown = status(&asked(Output::Table, Some("other"))).await;
    assert_eq!(unknown, Err("there is no CloudControllerManager other".to_owned()));

    let nobody = stage.cluster.kubeconfig(&Identity::service_account("default", "nobody")).await?;
    let refused = status(&Arguments { kubeconfig: Some(nobody), ..asked(Output::Table, None) }).await;
    assert!(refused.as_ref().is_err_and(|why| why.contains("forbidden")), "{refused:?}");
    Ok(())
}
