//! A tool made of a name, a description and a function: the shortest way to one of one's own.

use serde::de::DeserializeOwned;

use super::tool::{Effect, Tool, ToolContext, ToolOutput};

/// Returns a tool that calls `run` with its checked arguments. It counts as writing, so it never
/// runs beside another call; implement [`Tool`] for a tool that reads, waits or watches.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use tenon_agent::{Tools, tool};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Fetch {
///     /// The number of the ticket, without `#`.
///     number: u32,
/// }
///
/// let ticket = tool("ticket", "Reads a ticket of our tracker.", |args: Fetch| match args.number {
///     1 => Ok("The door squeaks.".to_owned()),
///     number => Err(format!("there is no ticket {number}")),
/// });
/// let tools = Tools::new().with(ticket);
/// ```
pub fn tool<A>(
    name: &str,
    description: &str,
    run: impl Fn(A) -> Result<String, String> + Send + Sync + 'static,
) -> impl Tool<Args = A>
where
    A: DeserializeOwned + schemars::JsonSchema + Send + 'static,
{
    Function {
        name: name.to_owned(),
        description: description.to_owned(),
        run,
        args: std::marker::PhantomData,
    }
}

struct Function<F, A> {
    name: String,
    description: String,
    run: F,
    args: Args<A>,
}

/// Says which arguments a function takes without holding any.
type Args<A> = std::marker::PhantomData<fn(A)>;

impl<A, F> Tool for Function<F, A>
where
    A: DeserializeOwned + schemars::JsonSchema + Send + 'static,
    F: Fn(A) -> Result<String, String> + Send + Sync + 'static,
{
    type Args = A;

    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn effect(&self, _args: &A) -> Effect {
        Effect::Write
    }

    fn subject(&self, _args: &A) -> String {
        String::new()
    }

    async fn run(&self, args: A, _context: &ToolContext) -> Result<ToolOutput, String> {
        (self.run)(args).map(ToolOutput::text)
    }
}
