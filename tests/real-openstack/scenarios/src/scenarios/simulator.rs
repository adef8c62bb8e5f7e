//! The simulated OpenStack beside this real one: the same requests to both, and their answers compared.

use anyhow::ensure;
use cloud_differential::{Choice, RealCloud, run_sessions};

use crate::scenario::{On, Scenario, Stage, When};

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "simulator/differential",
    story: "sim-openstack answers as this cloud does, request by request; each difference is a row with its reason",
    when: When::Asked,
    on: On::Any,
    run: |stage| Box::pin(differential(stage)),
}];

async fn differential(stage: &Stage<'_>) -> anyhow::Result<()> {
    let (about, administrator) = (stage.world.about(), &stage.world.about().accounts.admin);
    let real = RealCloud {
        auth_url: about.auth_url.clone(),
        admin_user: administrator.user.clone(),
        admin_password: administrator.password.clone(),
        admin_project: administrator.project.clone(),
        region: about.region.clone(),
        external_network: "public".to_owned(),
        image: "tiny".to_owned(),
        flavor: about.estate.flavor.clone(),
    };
    let (report, recording) = run_sessions(&real, &Choice::default()).await?;
    if !report.is_clean() {
        // With it the simulator is mended without a cloud: `cargo run -p cloud-differential -- --again FILE`.
        let file = stage.world.keep.join("differential.json");
        std::fs::create_dir_all(&stage.world.keep)?;
        std::fs::write(&file, serde_json::to_vec(&recording)?)?;
        stage.note(format!("the answers are kept: {}", file.display()));
    }
    ensure!(report.is_clean(), "the simulator is not like the cloud:\n{report}");
    let (exchanges, listed) = (report.exchanges, report.listed.len());
    stage.note(format!("{exchanges} exchanges; {listed} known differences"));
    Ok(())
}
