//! Further users of the cloud, made by its administrator for one scenario: what is done to their passwords, rights and credentials
//! harms nobody else. They go with the sweep.

use anyhow::Context;
use real_cloud::{Account, ApplicationCredential};
use serde_json::json;

use super::Harness;
use super::belongings::id_of;
use crate::openstack::Api::Identity;
use crate::openstack::OpenStack;

/// What a user of Kubernetes may do in a project.
const ROLES: [&str; 2] = ["member", "load-balancer_member"];

/// A user of the cloud.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) account: Account,
    pub(crate) id: String,
    pub(crate) project: String,
}

impl Harness<'_> {
    /// A user of the cluster's project.
    pub(crate) async fn colleague(&self, what: &str) -> anyhow::Result<Person> {
        let about = self.world.about();
        self.person(what, &about.accounts.member.project, &about.estate.project).await
    }

    /// A user of a project of their own.
    pub(crate) async fn stranger(&self, what: &str) -> anyhow::Result<Person> {
        let name = self.called(what);
        let wanted = json!({"project": {"name": name, "domain_id": "default"}});
        let made = self.world.admin.post(Identity, "projects", &wanted).await?;
        self.person(what, &name, &id_of(&made["project"])?).await
    }

    async fn person(&self, what: &str, project_name: &str, project: &str) -> anyhow::Result<Person> {
        let admin = &self.world.admin;
        let (name, password) = (self.called(what), "first secret; of #1".to_owned());
        let wanted = json!({"user": {"name": name, "domain_id": "default", "password": password}});
        let id = id_of(&admin.post(Identity, "users", &wanted).await?["user"])?;
        for role in ROLES {
            let roles = admin.list(Identity, &format!("roles?name={role}"), "roles").await?;
            let role = id_of(roles.first().with_context(|| format!("no role {role}"))?)?;
            admin.put(Identity, &format!("projects/{project}/users/{id}/roles/{role}"), &json!({})).await?;
        }
        let domain = self.world.about().accounts.member.domain.clone();
        let account = Account { user: name, password, project: project_name.to_owned(), domain };
        Ok(Person { account, id, project: project.to_owned() })
    }

    /// The administrator changes something of a user.
    pub(crate) async fn change_person(
        &self,
        person: &Person,
        change: &serde_json::Value,
    ) -> anyhow::Result<()> {
        let path = format!("users/{}", person.id);
        self.world.admin.patch(Identity, &path, &json!({"user": change})).await.map(drop)
    }

    /// A user gets an application credential.
    pub(crate) async fn credential(
        &self,
        person: &Person,
        name: &str,
    ) -> anyhow::Result<ApplicationCredential> {
        let user = OpenStack::login(self.world.about(), &person.account).await?;
        let path = format!("users/{}/application_credentials", person.id);
        let made = user.post(Identity, &path, &json!({"application_credential": {"name": name}})).await?;
        let made = &made["application_credential"];
        let secret = made["secret"].as_str().context("a credential without secret")?.to_owned();
        Ok(ApplicationCredential { id: id_of(made)?, name: name.to_owned(), secret })
    }

    /// A credential is taken away.
    pub(crate) async fn withdraw(
        &self,
        person: &Person,
        credential: &ApplicationCredential,
    ) -> anyhow::Result<()> {
        let path = format!("users/{}/application_credentials/{}", person.id, credential.id);
        self.world.admin.delete(Identity, &path).await
    }
}
