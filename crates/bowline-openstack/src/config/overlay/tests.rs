//! Every way to authenticate, from cloud.conf and from clouds.yaml, down to the credentials.

use openstack_client::clouds_yaml::Documents;
use openstack_client::{
    ApplicationCredential, AuthOptionsError, DomainRef, Method, ProjectRef, Scope, UserRef,
};
use zeroize::Zeroizing;

use super::*;
use crate::config::{Source, decode};

fn conf(lines: &str) -> CloudConf {
    let text = format!("[Global]\nauth-url=https://k/v3\n{}\n", lines.replace(' ', "\n"));
    decode(&[Source::new("cloud.conf", text)]).unwrap().conf
}

/// The method, the user and the scope, as a person would say them.
fn said(options: &AuthOptions) -> Result<String, AuthOptionsError> {
    let domain = |domain: &DomainRef| match domain {
        DomainRef::Id(id) => format!("@{id}"),
        DomainRef::Name(name) => format!("@name:{name}"),
    };
    let user = |user: &UserRef| match user {
        UserRef::Id(id) => format!("#{id}"),
        UserRef::Name { name, domain: of } => format!("{name}{}", domain(of)),
    };
    let credentials = options.resolve()?;
    let method = match &credentials.method {
        Method::Password { user: who, .. } => format!("password {}", user(who)),
        Method::Token(_) => "token".to_owned(),
        Method::ApplicationCredential { credential: ApplicationCredential::Id(id), .. } => {
            format!("app #{id}")
        }
        Method::ApplicationCredential {
            credential: ApplicationCredential::Name { name, user: who }, ..
        } => {
            format!("app {name} of {}", user(who))
        }
    };
    let scope = match &credentials.scope {
        Scope::Project(ProjectRef::Id(id)) => format!("project #{id}"),
        Scope::Project(ProjectRef::Name { name, domain: of }) => format!("project {name}{}", domain(of)),
        Scope::Domain(of) => format!("domain {}", domain(of)),
        Scope::Trust(id) => format!("trust {id}"),
        Scope::System => "system".to_owned(),
        Scope::OfMethod => "its own".to_owned(),
    };
    Ok(format!("{method} for {scope}"))
}

#[test]
fn every_method_of_cloud_conf_becomes_its_credentials() {
    for (lines, wanted) in [
        ("username=u password=p tenant-id=t user-domain-id=d", "password u@d for project #t"),
        ("username=u password=p tenant-id=t user-domain-name=d", "password u@name:d for project #t"),
        ("username=u password=p tenant-name=t domain-id=d", "password u@d for project t@d"),
        ("username=u password=p tenant-name=t domain-name=d", "password u@name:d for project t@name:d"),
        (
            "username=u password=p tenant-name=t user-domain-id=d tenant-domain-name=e",
            "password u@d for project t@name:e",
        ),
        (
            "username=u password=p tenant-name=t user-domain-id=d tenant-domain-id=e tenant-domain-name=f",
            "password u@d for project t@e",
        ),
        ("user-id=u password=p tenant-id=t", "password #u for project #t"),
        ("user-id=u password=p tenant-name=t tenant-domain-id=e", "password #u for project t@e"),
        ("username=u password=p user-domain-id=d domain-id=e", "password u@d for domain @e"),
        ("user-id=u password=p domain-name=e", "password #u for domain @name:e"),
        ("token=x tenant-id=t", "token for project #t"),
        ("token=x tenant-id=t username=u password=p", "token for project #t"),
        ("application-credential-id=a application-credential-secret=s", "app #a for its own"),
        ("application-credential-id=a application-credential-secret=s tenant-id=t", "app #a for its own"),
        (
            "application-credential-name=a application-credential-secret=s user-id=u",
            "app a of #u for its own",
        ),
        (
            "application-credential-name=a application-credential-secret=s username=u domain-id=d",
            "app a of u@d for its own",
        ),
        ("trust-id=x user-id=u password=p", "password #u for trust x"),
        ("trust-id=x trustee-id=v trustee-password=q tenant-id=t token=y", "password #v for trust x"),
        ("trust-id=x username=u user-domain-id=d password=p", "password u@d for trust x"),
    ] {
        assert_eq!(said(&auth_options(&conf(lines).global)).as_deref(), Ok(wanted), "{lines}");
    }
}

#[test]
fn what_cannot_authenticate_is_refused() {
    for lines in [
        "",
        "username=u tenant-id=t user-domain-id=d",
        "username=u password=p tenant-id=t",
        "username=u password=p tenant-name=t user-domain-id=d",
        "username=u user-id=v password=p tenant-id=t user-domain-id=d",
        "username=u password=p tenant-id=t user-domain-id=d user-domain-name=e",
        "user-id=u password=p tenant-id=t user-domain-id=d",
        "token=x",
        "application-credential-id=a",
        "application-credential-secret=s",
        "application-credential-name=a application-credential-secret=s",
        "application-credential-id=a application-credential-secret=s username=u password=p",
        "trust-id=x trustee-id=v username=u user-domain-id=d password=p",
    ] {
        assert!(said(&auth_options(&conf(lines).global)).is_err(), "{lines}");
    }
}

fn entry() -> CloudEntry {
    let yaml = "clouds: {c: {region_name: R, interface: internal, cacert: /ca, cert: /cert, key: /key, auth: {auth_url: https://yaml/v3, username: y, password: yp, project_name: yt, user_domain_name: yd, project_domain_name: ye}}}";
    let documents = Documents { clouds: Zeroizing::new(yaml.to_owned()), ..Documents::default() };
    documents.entry(Some("c")).unwrap()
}

#[test]
fn what_is_empty_is_filled_and_cloud_conf_wins() {
    let mut conf = conf("username=own region=Own");
    fill(&mut conf.global, &entry());
    let global = &conf.global;
    assert_eq!((global.auth_url.as_str(), global.username.as_str()), ("https://k/v3", "own"));
    assert_eq!((global.region.as_str(), global.endpoint_type.as_str()), ("Own", "internal"));
    assert_eq!(
        (global.ca_file.as_str(), global.cert_file.as_str(), global.key_file.as_str()),
        ("/ca", "/cert", "/key")
    );
    assert_eq!(said(&auth_options(global)).as_deref(), Ok("password own@name:yd for project yt@name:ye"));
}

#[test]
fn a_named_cloud_brings_its_own_credentials() {
    let conf = conf("cloud=c username=own password=p tenant-id=t trust-id=");
    let options = named_options(&conf.global, &entry());
    assert_eq!(said(&options).as_deref(), Ok("password y@name:yd for project yt@name:ye"));
    assert_eq!(options.auth_url.as_deref(), Some("https://k/v3"), "the address of cloud.conf stays");
    assert_eq!(replaced(&conf), ["username", "password", "tenant-id"]);
}

#[test]
fn a_trust_of_cloud_conf_counts_for_a_named_cloud() {
    let options = named_options(&conf("cloud=c trust-id=x").global, &entry());
    assert_eq!(said(&options).as_deref(), Ok("password y@name:yd for trust x"));
}
