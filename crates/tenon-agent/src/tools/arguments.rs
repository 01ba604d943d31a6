//! Arguments of a call against the tool's schema: aliases of other agents are understood, numbers
//! and booleans in quotes are taken, and an error names the field, what was expected and what came.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Names that other agents use for the same argument. The first that fits the schema wins.
const ALIASES: &[(&str, &[&str])] = &[
    ("path", &["file_path", "filepath", "filename", "file", "dir", "directory"]),
    ("old_text", &["old_string", "old_str", "old"]),
    ("new_text", &["new_string", "new_str", "new"]),
    ("content", &["contents", "file_text", "text"]),
    ("command", &["cmd", "script"]),
    ("pattern", &["query", "regex"]),
    ("timeout", &["timeout_s", "timeout_seconds"]),
    ("glob", &["include"]),
    ("ignore_case", &["case_insensitive", "-i"]),
];

/// The most characters of a wrong value that an error repeats.
const SHOWN_CHARS_MAX: usize = 60;

/// What is wrong with the arguments of a call.
///
/// ```
/// use serde_json::json;
/// use tenon_agent::{CoreToolOptions, core_tools};
/// use tenon_sandbox::Workspace;
///
/// let tools = core_tools(CoreToolOptions::default());
/// let bash = tools.get("bash").ok_or("no such tool")?;
/// if let Err(error) = bash.prepare(&json!({"command": 5}), &Workspace::open(".".as_ref())?) {
///     let text = "invalid arguments: `command` must be a string, got number 5";
///     assert_eq!(error.to_string(), text);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid arguments: {0}")]
pub struct ArgumentError(String);

impl ArgumentError {
    /// Returns the error that says `message`: the field, what was expected and what came.
    ///
    /// ```
    /// use tenon_agent::ArgumentError;
    ///
    /// let error = ArgumentError::new("`city` must be a string, got number 5");
    /// assert_eq!(error.to_string(), "invalid arguments: `city` must be a string, got number 5");
    /// ```
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Returns the JSON schema of `A`, without what the model does not need.
pub(crate) fn schema_of<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    lighten(&mut schema, true);
    schema
}

/// Checks `arguments` against `schema` and returns them with aliases replaced and quoted numbers
/// and booleans taken out of their quotes. Unknown fields are left out.
pub(crate) fn checked(arguments: &Value, schema: &Value) -> Result<Value, ArgumentError> {
    let Value::Object(given) = arguments else {
        return Err(ArgumentError(format!("expected an object, got {}", shown(arguments))));
    };
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut taken = Map::new();
    for (name, property) in properties {
        match find(given, properties, name) {
            Some(value) if !value.is_null() => {
                taken.insert(name.clone(), fitted(name, value, property)?);
            }
            _ if required.contains(&name.as_str()) => {
                return Err(ArgumentError(format!(
                    "`{name}` is required ({}); got {}",
                    expected(property),
                    fields(given)
                )));
            }
            _ => {}
        }
    }
    Ok(Value::Object(taken))
}

/// Returns `arguments` as the tool's own type.
pub(crate) fn typed<A: DeserializeOwned>(arguments: &Value) -> Result<A, ArgumentError> {
    A::deserialize(arguments).map_err(|error| ArgumentError(error.to_string()))
}

/// Takes out titles, formats and defaults that only cost tokens.
fn lighten(schema: &mut Value, is_schema: bool) {
    match schema {
        Value::Object(object) => {
            if is_schema {
                for key in ["title", "format", "default", "description"] {
                    // The description of the argument struct itself is for people.
                    if key != "description" || object.contains_key("properties") {
                        object.remove(key);
                    }
                }
                if object.get("minimum").is_some_and(|minimum| minimum.as_f64() == Some(0.0)) {
                    object.remove("minimum");
                }
                object.remove("maximum");
                without_null(object);
            }
            for (key, value) in object {
                lighten(value, key != "properties");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| lighten(item, is_schema)),
        _ => {}
    }
}

/// `["integer", "null"]` is how an optional field looks; that it is not required says the same.
fn without_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
}

fn find<'a>(
    given: &'a Map<String, Value>,
    properties: &Map<String, Value>,
    name: &str,
) -> Option<&'a Value> {
    let aliases =
        ALIASES.iter().find(|(ours, _)| *ours == name).map_or(&[][..], |(_, theirs)| theirs);
    given.get(name).or_else(|| {
        aliases.iter().find_map(|alias| {
            if properties.contains_key(*alias) { None } else { given.get(*alias) }
        })
    })
}

fn fitted(name: &str, value: &Value, property: &Value) -> Result<Value, ArgumentError> {
    let kind = property.get("type").and_then(Value::as_str).unwrap_or_default();
    let fits = match kind {
        "string" => value.is_string(),
        "integer" => value.as_u64().is_some() || value.as_i64().is_some(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if fits && in_enum(value, property) {
        return Ok(value.clone());
    }
    let unquoted = match (kind, value) {
        ("integer" | "number" | "boolean" | "array" | "object", Value::String(text)) => {
            serde_json::from_str::<Value>(text.trim()).ok()
        }
        // Some models write 5.0 for 5.
        ("integer", Value::Number(number)) => number
            .as_f64()
            .filter(|float| float.fract() == 0.0 && (0.0..=1e15).contains(float))
            .map(|float| Value::from(float as u64)),
        _ => None,
    };
    match unquoted {
        Some(unquoted) if &unquoted != value => fitted(name, &unquoted, property),
        _ => Err(ArgumentError(format!(
            "`{name}` must be {}, got {}",
            expected(property),
            shown(value)
        ))),
    }
}

fn in_enum(value: &Value, property: &Value) -> bool {
    property.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(value))
}

fn expected(property: &Value) -> String {
    if let Some(values) = property.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        return format!("one of {}", values.join(", "));
    }
    match property.get("type").and_then(Value::as_str) {
        Some(kind @ ("integer" | "array" | "object")) => format!("an {kind}"),
        Some(kind) => format!("a {kind}"),
        None => "a value".into(),
    }
}

fn shown(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".into(),
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let text = value.to_string();
    let cut: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("{kind} {cut}{dots}")
}

fn fields(given: &Map<String, Value>) -> String {
    if given.is_empty() {
        return "no arguments".into();
    }
    let names: Vec<String> = given.keys().map(|name| format!("`{name}`")).collect();
    format!("only {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Not for the model.
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Args {
        /// The file.
        path: String,
        /// How many lines.
        limit: Option<u32>,
        #[serde(default)]
        all: bool,
    }

    fn check(arguments: Value, outcome: Result<Args, &str>) {
        let schema = schema_of::<Args>();
        let got = checked(&arguments, &schema).and_then(|value| typed::<Args>(&value));
        assert_eq!(
            got.map_err(|error| error.to_string()),
            outcome.map_err(|text| format!("invalid arguments: {text}")),
            "{arguments}"
        );
    }

    #[test]
    fn spec_11_the_schema_comes_from_the_type_and_holds_only_what_the_model_needs() {
        assert_eq!(
            schema_of::<Args>(),
            json!({"type": "object", "required": ["path"], "properties": {
                "path": {"type": "string", "description": "The file."},
                "limit": {"type": "integer", "description": "How many lines."},
                "all": {"type": "boolean"}
            }})
        );
    }

    #[test]
    fn spec_12_arguments_are_checked_and_errors_name_field_expectation_and_value() {
        let args = |limit| Args { path: "a".into(), limit, all: false };
        check(json!({"path": "a"}), Ok(args(None)));
        check(json!({"file_path": "a", "limit": null, "extra": 1}), Ok(args(None)));
        check(json!({"path": "a", "limit": "7", "all": "false"}), Ok(args(Some(7))));
        check(json!({"path": "a", "limit": 7.0}), Ok(args(Some(7))));
        check(
            json!({"path": "a", "limit": "ten"}),
            Err("`limit` must be an integer, got string \"ten\""),
        );
        check(json!({"path": 5}), Err("`path` must be a string, got number 5"));
        check(json!({"limit": 5}), Err("`path` is required (a string); got only `limit`"));
        check(json!({}), Err("`path` is required (a string); got no arguments"));
        check(json!([1]), Err("expected an object, got array [1]"));
    }
}
