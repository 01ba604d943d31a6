//! Asks a model behind an OpenAI-compatible server and shows the events as they come:
//! `cargo run -p tenon-model --example ask -- http://127.0.0.1:8080 MODEL "What is 2 + 2?"`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::{env, error::Error, sync::Arc};

use futures::StreamExt;
use tenon_model::{
    Fold, Message, OpenAiOptions, OpenAiProvider, Provider, Request, StreamEvent, ToolSpec,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let mut next = |name: &str| arguments.next().ok_or(format!("{name} is missing"));
    let (base_url, model, prompt) = (next("BASE_URL")?, next("MODEL")?, next("PROMPT")?);
    let provider = OpenAiProvider::new(OpenAiOptions {
        base_url: Some(base_url),
        ..OpenAiOptions::new(model)
    })?;
    let weather = ToolSpec {
        name: "weather".into(),
        description: "Tells the weather of a city.".into(),
        schema: serde_json::json!({
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        }),
    };
    let request = Request {
        system: "Answer in one sentence.".into(),
        tools: [weather].into(),
        conversation: vec![Arc::new(Message::user(prompt))],
        output_tokens_max: 200,
    };
    let mut fold = Fold::default();
    let mut stream = provider.stream(request);
    while let Some(event) = stream.next().await {
        let event = event?;
        match &event {
            StreamEvent::TextDelta { text } => println!("{text:?}"),
            other => println!("{other:?}"),
        }
        fold.push(event);
    }
    println!("{:#?}", fold.finish(&[]));
    Ok(())
}
