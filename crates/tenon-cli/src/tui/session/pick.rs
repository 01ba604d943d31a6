//! What can be chosen from a list: a model, another session, an earlier prompt.

use std::{num::NonZero, sync::Arc};

use jiff::tz::TimeZone;
use tenon_agent::{EarlierPrompt, SessionSummary, Tools, list_sessions, session_prompts};
use tenon_model::{Provider, visible};
use tokio::task::spawn_blocking;

use super::{Another, Session};
use crate::{
    masked::masked,
    past::Wish,
    render::grouped,
    resume,
    setup::{self, KnownModel},
    texts::{Language, Text, translated},
    tui::{
        front::Said,
        picker::{Back, Earlier, Item, Pick, Picker},
    },
    which_session,
};

impl<'a> Session<'a> {
    /// Does what was chosen.
    pub(super) fn picked(&mut self, pick: Pick) {
        match pick {
            Pick::Model(name) => self.change_model(name),
            Pick::Session(id) => self.leave_for(Another::Resumed(id)),
            Pick::Prompt(earlier) => self.pick_what_goes_back(earlier),
            Pick::Back(Back::Both, earlier) => {
                self.take_back(Wish::Before(earlier.step), Some(earlier));
            }
            Pick::Back(Back::Files, earlier) => self.take_back(Wish::Before(earlier.step), None),
            Pick::Back(Back::Conversation, earlier) => {
                self.rewind(&earlier);
                self.app.say(Text::FilesStay.template(self.app.language));
            }
        }
    }

    pub(super) fn pick_model(&mut self) {
        let (models, now) =
            setup::known_models_with(self.place.config, &self.began_with, &self.asked);
        let item = |(place, model)| self.model_item(model, place == now);
        let items = models.iter().enumerate().map(item).collect();
        self.open_picker(Text::PickModel, items, now);
    }

    fn model_item(&self, model: &KnownModel, is_now: bool) -> Item {
        let language = self.app.language;
        let window = grouped(model.window_tokens.into());
        let mut preview = vec![Text::ModelWindow.say(language, &[("n", &window)])];
        preview.push(match &model.price {
            Some(price) => Text::ModelPrice.say(
                language,
                &[
                    ("input", &price.input),
                    ("output", &price.output),
                    ("cached", &price.cache_read),
                ],
            ),
            None => Text::NoPrice.template(language).to_owned(),
        });
        if !model.source.is_empty() {
            preview.push(model.source.clone());
        }
        let about = model_about(model, is_now, language);
        let name = if is_now { &self.asked.name } else { &model.name };
        let pick = Pick::Model(name.clone());
        Item { name: model.name.clone(), about, preview: Some(preview), pick }
    }

    /// Makes another model ready, and goes on with it from the next prompt on.
    pub(super) fn change_model(&mut self, name: String) {
        if name == self.asked.name {
            let model = visible(&name);
            return self.app.say(&Text::ModelAlready.say(self.app.language, &[("model", &model)]));
        }
        let config = self.place.config;
        self.go_for(Text::BusyModel, async move {
            let made = setup::other_model(config, &name).await;
            Box::new(move |session: &mut Self| match made {
                Ok((provider, tools)) => session.set_model(name, provider, tools),
                Err(error) => session.say_error(&error),
            }) as _
        });
    }

    fn set_model(&mut self, name: String, provider: Arc<dyn Provider>, tools: Tools) {
        let Some(agent) = &mut self.agent else { return };
        let model = visible(provider.model()).into_owned();
        let facts = &mut self.app.transcript.facts;
        // Every script has the same name, and goes on where it was.
        if facts.model == model && !name.starts_with("scripted:") {
            self.app.say(&Text::ModelAlready.say(self.app.language, &[("model", &model)]));
            return;
        }
        let specs = tools.specs();
        if let Err(error) = agent.set_model(Arc::clone(&provider), tools) {
            self.failed = Some(error);
            return;
        }
        let now = agent.window_use();
        self.asked =
            KnownModel::of(&*provider, self.place.config.settings.context_window.map(NonZero::get));
        facts.model = model;
        facts.window_tokens = u32::try_from(now.window).unwrap_or(u32::MAX);
        if facts.context_tokens > 0 {
            facts.context_tokens = now.used();
        }
        self.app.set_tools(specs);
        if let Some(pictures) = &mut self.app.pictures {
            pictures.set_model(&*provider);
        }
        self.choices.model = Some(name);
    }

    pub(super) fn pick_session(&mut self) {
        let sessions = match list_sessions(&self.place.sessions) {
            Ok(sessions) => resume::here(sessions, self.workspace.root()),
            Err(error) => return self.say_error(&resume::unreadable(error)),
        };
        let others = sessions.iter().filter(|session| session.id != self.session_id);
        let items: Vec<Item> = others.map(session_item).collect();
        if items.is_empty() {
            return self.app.say(Text::NoOtherSession.template(self.app.language));
        }
        self.open_picker(Text::PickSession, items, 0);
    }

    /// Goes on with the session whose id or name is `wanted`.
    pub(super) fn resume(&mut self, wanted: &str) {
        let found = list_sessions(&self.place.sessions)
            .map_err(resume::unreadable)
            .and_then(|sessions| Ok(which_session::find(wanted, &sessions)?.id.clone()));
        match found {
            Ok(id) if id == self.session_id => {
                self.app.say(Text::NoOtherSession.template(self.app.language));
            }
            Ok(id) => self.leave_for(Another::Resumed(id)),
            Err(error) => self.say_error(&error),
        }
    }

    pub(super) fn fork(&mut self) {
        match self.prompts() {
            Some(prompts) if prompts.is_empty() => {
                self.app.say(Text::NothingToFork.template(self.app.language));
            }
            Some(_) => self.leave_for(Another::ForkOf(self.session_id.clone())),
            None => {}
        }
    }

    pub(super) fn pick_prompt(&mut self) {
        let Some(prompts) = self.prompts() else { return };
        if prompts.is_empty() {
            return self.app.say(Text::NothingToRewind.template(self.app.language));
        }
        let newest_first = (1..).zip(prompts.iter().rev());
        let items = newest_first.map(|(turns, prompt)| prompt_item(turns, prompt)).collect();
        self.open_picker(Text::PickPrompt, items, 0);
    }

    /// Asks what goes back, if there is anything but the conversation.
    fn pick_what_goes_back(&mut self, earlier: Earlier) {
        let changed = self.past.as_ref().map_or(Ok(false), |past| past.changed_since(earlier.step));
        let has_way_back = match changed {
            Ok(false) => return self.rewind(&earlier),
            Ok(true) => true,
            Err(error) => {
                self.say_error(&error);
                false
            }
        };
        let language = self.app.language;
        let item = |back, name: Text, about: Text| Item {
            name: name.template(language).to_owned(),
            about: String::new(),
            preview: Some(vec![about.template(language).to_owned()]),
            pick: Pick::Back(back, earlier.clone()),
        };
        let mut items = vec![
            item(Back::Both, Text::BackBoth, Text::BackBothAbout),
            item(Back::Conversation, Text::BackConversation, Text::BackConversationAbout),
            item(Back::Files, Text::BackFiles, Text::BackFilesAbout),
        ];
        items.retain(|item| has_way_back || matches!(item.pick, Pick::Back(Back::Conversation, _)));
        self.open_picker(Text::PickBack, items, 0);
    }

    fn prompts(&mut self) -> Option<Vec<EarlierPrompt>> {
        match session_prompts(&self.place.sessions, &self.session_id) {
            Ok(prompts) => Some(prompts),
            Err(error) => {
                self.say_error(&resume::unreadable(error));
                None
            }
        }
    }

    fn open_picker(&mut self, title: Text, items: Vec<Item>, chosen: usize) {
        self.app.picker = Some(Picker::new(title, items, chosen));
        self.previewing = None;
        self.ask_for_preview();
    }

    /// Has the prompts of the chosen session read, beside everything else.
    pub(super) fn ask_for_preview(&mut self) {
        let wanted = self.app.picker.as_ref().and_then(Picker::wants_preview);
        let Some(id) = wanted.filter(|id| self.previewing.as_deref() != Some(*id)) else { return };
        let (id, folder) = (id.to_owned(), self.place.sessions.clone());
        self.previewing = Some(id.clone());
        let (sender, language) = (self.sender.clone(), self.app.language);
        spawn_blocking(move || {
            let lines = match session_prompts(&folder, &id) {
                Ok(prompts) => preview(&prompts, language),
                Err(error) => vec![translated(&error.to_string(), language).into_owned()],
            };
            // The loop ends with the session.
            let _ = sender.send(Said::Previewed(id, lines));
        });
    }
}

/// Returns what is said beside the name of a model: its window, its price, whether it is asked now.
pub(crate) fn model_about(model: &KnownModel, is_now: bool, language: Language) -> String {
    let mut about = grouped(model.window_tokens.into());
    if let Some(price) = &model.price {
        let values: [(&str, &dyn std::fmt::Display); 2] =
            [("input", &price.input), ("output", &price.output)];
        about.push_str(&format!(" · {}", Text::ModelPriceShort.say(language, &values)));
    }
    if is_now {
        about.push_str(&format!(" · {}", Text::ModelNow.template(language)));
    }
    about
}

/// Returns what a session's prompts look like beneath the list, the newest first.
fn preview(prompts: &[EarlierPrompt], language: Language) -> Vec<String> {
    let count = Text::PreviewPrompts.say(language, &[("n", &prompts.len())]);
    let prompts = prompts.iter().rev().map(|prompt| format!("> {}", first_line(&prompt.text)));
    [count].into_iter().chain(prompts).collect()
}

fn session_item(session: &SessionSummary) -> Item {
    let used = which_session::timestamp(session.used_ms).to_zoned(TimeZone::system());
    let name = session.name.as_ref().map(|name| format!("[{name}] ")).unwrap_or_default();
    Item {
        name: used.strftime("%Y-%m-%d %H:%M").to_string(),
        about: masked(format!("{name}{}", first_line(&session.prompt))),
        preview: None,
        pick: Pick::Session(session.id.clone()),
    }
}

fn prompt_item(turns: u32, prompt: &EarlierPrompt) -> Item {
    let said = which_session::timestamp(prompt.time_ms).to_zoned(TimeZone::system());
    let text = prompt.text.clone();
    Item {
        name: said.strftime("%H:%M").to_string(),
        about: first_line(&text),
        preview: Some(text.lines().map(str::to_owned).collect()),
        pick: Pick::Prompt(Earlier { text, turns, step: prompt.step }),
    }
}

fn first_line(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}
