//! POST: a new object.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{decode, metadata, seconds};
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::status::ApiError;
use crate::strategy;

/// Signs of generated names: no vowels and no look-alikes, as the real server.
const NAME_SIGNS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Core {
    pub(crate) fn create(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        call.options.check_write("CreateOptions", false)?;
        let (mut object, warnings) = decode::object(call)?;
        self.check_namespace_of_body(call, &mut object)?;
        let stored = self.create_object(call, object)?;
        let mut outcome = self.answer(call, 201, &stored);
        if let Outcome::Json { warnings: out, .. } = &mut outcome {
            *out = warnings;
        }
        Ok(outcome)
    }

    /// The namespace of body and path agree, or the body says none.
    pub(crate) fn check_namespace_of_body(
        &self,
        call: &Call<'_>,
        object: &mut Value,
    ) -> Result<(), ApiError> {
        let wanted = call.path.namespace.as_str();
        let found = object::namespace(object);
        // Objects without a namespace lose one that they bring.
        if call.resource.namespaced && !found.is_empty() && found != wanted {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if wanted.is_empty() {
            object::meta(object).remove("namespace");
        } else {
            object::meta(object).insert("namespace".into(), json!(wanted));
        }
        Ok(())
    }

    /// Stores a new object after all rules; `object` is in stored form.
    pub(crate) fn create_object(
        &mut self,
        call: &Call<'_>,
        mut object: Value,
    ) -> Result<Arc<Value>, ApiError> {
        let resource = Arc::clone(&call.resource);
        self.check_namespace_exists(call, object::name(&object))?;
        if object::resource_version(&object) != 0 {
            return Err(ApiError::internal("resourceVersion should not be set on objects to be created"));
        }
        object::meta(&mut object).remove("resourceVersion");
        if object::name(&object).is_empty() {
            self.generate_name(&mut object);
        }
        let (uid, now) = (self.new_uid(), seconds(self.now()));
        metadata::fill_new(&mut object, &uid, &now, resource.has_generation);
        let given = object.clone();
        strategy::default_new(&resource, &mut object);
        self.manage_new(call, &given, &mut object);
        let mut errors = metadata::validate(&resource, &object);
        errors.extend(strategy::validate_new(&resource, &object));
        if !errors.is_empty() {
            return Err(ApiError::invalid_object(&resource, object::name(&object), &errors));
        }
        let key = (object::namespace(&object).to_owned(), object::name(&object).to_owned());
        let bucket = resource.bucket();
        if let Some(existing) = self.store.get(&bucket, &key) {
            return Err(exists(call, &existing));
        }
        self.allocate_new(&resource, &mut object)?;
        if call.dry_run() {
            return Ok(Arc::new(object));
        }
        Ok(self.commit(&bucket, &key, object))
    }

    /// Namespaced objects need a namespace that is not on its way out.
    fn check_namespace_exists(&self, call: &Call<'_>, name: &str) -> Result<(), ApiError> {
        let namespace = call.path.namespace.as_str();
        if namespace.is_empty() {
            return Ok(());
        }
        let bucket = (String::new(), "namespaces".to_owned());
        match self.store.get(&bucket, &(String::new(), namespace.to_owned())) {
            None => Err(ApiError::not_found(&strategy::namespace::resource(), namespace)),
            Some(found) if object::is_deleting(&found) => {
                Err(ApiError::terminating(&call.resource, name, namespace))
            }
            Some(_) => Ok(()),
        }
    }

    /// A name from `generateName`.
    pub(crate) fn generate_name(&mut self, object: &mut Value) {
        let base = object::text(object, &["metadata", "generateName"]).to_owned();
        if base.is_empty() {
            return;
        }
        let mut number = (self.config.numbers)();
        let mut name: String = base.chars().take(58).collect();
        for _ in 0..5 {
            let signs = NAME_SIGNS.len() as u64;
            let index = usize::try_from(number % signs).unwrap_or(0);
            name.extend(NAME_SIGNS.get(index).map(|sign| char::from(*sign)));
            number /= signs;
        }
        object::meta(object).insert("name".into(), json!(name));
    }

    /// A version 4 uuid from the server's numbers.
    pub(crate) fn new_uid(&mut self) -> String {
        let (high, low) = ((self.config.numbers)(), (self.config.numbers)());
        let mut bytes = [0_u8; 16];
        for (byte, random) in bytes.iter_mut().zip(high.to_be_bytes().into_iter().chain(low.to_be_bytes())) {
            *byte = random;
        }
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}

fn exists(call: &Call<'_>, existing: &Value) -> ApiError {
    let mut error = ApiError::already_exists(&call.resource, object::name(existing));
    if object::is_deleting(existing) {
        error.message = format!("object is being deleted: {}", error.message);
    }
    error
}
