//! The resources of a schema (its root, and each subschema with an `$id`), and which of them use
//! which.
//!
//! The validator compiles a subschema again for each sequence of resources through which it is
//! reached, because a `$dynamicRef` may have another target there. The number of those sequences
//! doubles with each resource that two others use, so it is limited.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

/// The maximum number of subschemas that are compiled for a schema with several resources.
const MAX_COMPILED: usize = 50_000;

/// The resources that validation can reach, by address.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    indices: HashMap<*const Value, usize>,
    resources: Vec<Resource>,
}

#[derive(Debug, Default)]
struct Resource {
    subschemas: usize,
    /// The other resources whose subschemas this one applies.
    uses: BTreeSet<usize>,
}

impl Resources {
    fn index(&mut self, resource: &Value) -> usize {
        let fresh = self.resources.len();
        let index = *self
            .indices
            .entry(std::ptr::from_ref(resource))
            .or_insert(fresh);
        if index == fresh {
            self.resources.push(Resource::default());
        }
        index
    }

    /// Adds a subschema of a resource. That of the root comes first.
    pub(crate) fn add_subschema(&mut self, resource: &Value) {
        let index = self.index(resource);
        self.resources[index].subschemas += 1;
    }

    /// Adds that a subschema of one resource applies one of another resource, or of the same.
    pub(crate) fn add_use(&mut self, by: &Value, used: &Value) {
        if !std::ptr::eq(by, used) {
            let (by, used) = (self.index(by), self.index(used));
            self.resources[by].uses.insert(used);
        }
    }

    /// The number of subschemas that will be compiled. The error describes why the schema is
    /// refused.
    pub(crate) fn compiled_subschemas(&self) -> Result<usize, String> {
        match &self.resources[..] {
            // `true` or `false`.
            [] => return Ok(0),
            [only] => return Ok(only.subschemas),
            _ => {}
        }
        let mut remaining = MAX_COMPILED;
        let mut path = vec![false; self.resources.len()];
        match self.spend(0, &mut path, &mut remaining) {
            Some(()) => Ok(MAX_COMPILED - remaining),
            None => Err(format!(
                "its subschemas with an `$id` refer to each other in more than {MAX_COMPILED} \
                 ways: remove `$id`, and refer to `#/$defs/…`"
            )),
        }
    }

    /// Counts the subschemas of a resource, and of those that it uses and that are not on the path
    /// to it. Returns `None` if more than `remaining` would be compiled.
    fn spend(&self, index: usize, path: &mut [bool], remaining: &mut usize) -> Option<()> {
        let resource = &self.resources[index];
        *remaining = remaining.checked_sub(resource.subschemas.max(1))?;
        path[index] = true;
        for &used in &resource.uses {
            if !path[used] {
                self.spend(used, path, remaining)?;
            }
        }
        path[index] = false;
        Some(())
    }
}
