//! What is chosen by its number: a model, another session, an earlier prompt, what goes back.

use std::{num::NonZero, sync::Arc};

use tenon_agent::{EarlierPrompt, LogError, list_sessions, session_prompts};
use tenon_model::visible;

use super::{Line, Session};
use crate::{
    past::Wish,
    resume,
    screen::forget_typed,
    setup::{self, KnownModel},
    texts::Text,
    tui::{Another, Ended, model_about},
    which_session,
};

/// Items that are listed; a name or an id behind the command reaches the others.
const LISTED_MAX: usize = 30;

/// What can go back; the conversation alone stands in the middle.
const PARTS: [(Text, Text); 3] = [
    (Text::BackBoth, Text::BackBothAbout),
    (Text::BackConversation, Text::BackConversationAbout),
    (Text::BackFiles, Text::BackFilesAbout),
];

impl Session<'_> {
    pub(super) async fn choose_model(&mut self) -> Result<(), LogError> {
        let (models, now) =
            setup::known_models_with(self.place.config, &self.began_with, &self.asked);
        let language = self.look.language;
        let named = models.iter().enumerate().map(|(place, model)| {
            format!("{}  {}", visible(&model.name), model_about(model, place == now, language))
        });
        let named: Vec<String> = named.collect();
        match self.choose(Text::PickModel, &named).await {
            Some(place) if place == now => {
                self.say_already();
                Ok(())
            }
            Some(place) => match models.into_iter().nth(place) {
                Some(model) => self.change_model(model.name).await,
                None => Ok(()),
            },
            None => Ok(()),
        }
    }

    /// Makes another model ready, and goes on with it from the next prompt on.
    pub(super) async fn change_model(&mut self, name: String) -> Result<(), LogError> {
        let config = self.place.config;
        if name == self.asked.name {
            self.say_already();
            return Ok(());
        }
        let (provider, tools) = match setup::other_model(config, &name).await {
            Ok(made) => made,
            Err(error) => {
                self.say_error(&error);
                return Ok(());
            }
        };
        // Every script has the same name, and goes on where it was.
        if provider.model() == self.asked.name && !name.starts_with("scripted:") {
            self.say_already();
            return Ok(());
        }
        self.tools = tools.specs();
        self.agent.set_model(Arc::clone(&provider), tools)?;
        self.asked = KnownModel::of(&*provider, config.settings.context_window.map(NonZero::get));
        self.pictures.set_model(&*provider);
        self.choices.model = Some(name);
        Ok(())
    }

    fn say_already(&self) {
        let model = visible(&self.asked.name);
        self.say_line(&Text::ModelAlready.say(self.look.language, &[("model", &model)]));
    }

    pub(super) async fn choose_session(&mut self) -> Option<Ended> {
        let sessions = match list_sessions(&self.place.sessions) {
            Ok(sessions) => resume::here(sessions, self.workspace.root()),
            Err(error) => {
                self.say_error(&resume::unreadable(error));
                return None;
            }
        };
        let mut others = sessions;
        others.retain(|session| session.id != self.session_id);
        if others.is_empty() {
            self.say(Text::NoOtherSession);
            return None;
        }
        let named: Vec<String> =
            others.iter().map(|session| which_session::line(session).trim_end().into()).collect();
        let place = self.choose(Text::PickSession, &named).await?;
        let id = others.into_iter().nth(place)?.id;
        self.leave_for(Another::Resumed(id))
    }

    /// Goes on with the session whose id or name is `wanted`.
    pub(super) fn resume(&mut self, wanted: &str) -> Option<Ended> {
        let found = list_sessions(&self.place.sessions)
            .map_err(resume::unreadable)
            .and_then(|sessions| Ok(which_session::find(wanted, &sessions)?.id.clone()));
        match found {
            Ok(id) if id == self.session_id => self.say(Text::NoOtherSession),
            Ok(id) => return self.leave_for(Another::Resumed(id)),
            Err(error) => self.say_error(&error),
        }
        None
    }

    pub(super) fn fork(&mut self) -> Option<Ended> {
        if self.prompts()?.is_empty() {
            self.say(Text::NothingToFork);
            return None;
        }
        self.leave_for(Another::ForkOf(self.session_id.clone()))
    }

    /// Goes back to before an earlier prompt, which the next line then begins with.
    pub(super) async fn choose_prompt(&mut self) -> Result<(), LogError> {
        let Some(mut prompts) = self.prompts() else { return Ok(()) };
        if prompts.is_empty() {
            self.say(Text::NothingToRewind);
            return Ok(());
        }
        prompts.reverse();
        let first_line = |prompt: &EarlierPrompt| {
            let lines = prompt.text.lines().map(str::trim);
            visible(lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default())
                .into_owned()
        };
        let named: Vec<String> = prompts.iter().map(first_line).collect();
        let Some(place) = self.choose(Text::PickPrompt, &named).await else { return Ok(()) };
        let Some(prompt) = prompts.get(place) else { return Ok(()) };
        let turns = u32::try_from(place + 1).unwrap_or(u32::MAX);
        let past = self.place.past.as_ref();
        let parts = match past.map_or(Ok(false), |past| past.changed_since(prompt.step)) {
            Ok(false) => return self.go_back(prompt, turns),
            Ok(true) => &PARTS[..],
            Err(error) => {
                self.say_error(&error);
                &PARTS[1..2]
            }
        };
        match self.choose_part(parts).await {
            Some(Text::BackBoth) if self.take_back(Wish::Before(prompt.step)).await => {
                self.go_back(prompt, turns)
            }
            Some(Text::BackConversation) => {
                self.go_back(prompt, turns)?;
                self.say(Text::FilesStay);
                Ok(())
            }
            Some(Text::BackFiles) => {
                self.take_back(Wish::Before(prompt.step)).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Has one of `parts` chosen that go back.
    async fn choose_part(&mut self, parts: &[(Text, Text)]) -> Option<Text> {
        let language = self.look.language;
        let said = |(name, about): &(Text, Text)| {
            format!("{}: {}", name.template(language), about.template(language))
        };
        let said: Vec<String> = parts.iter().map(said).collect();
        let place = self.choose(Text::PickBack, &said).await?;
        parts.get(place).map(|(name, _)| *name)
    }

    fn go_back(&mut self, prompt: &EarlierPrompt, turns: u32) -> Result<(), LogError> {
        if self.agent.rewind(turns)? == 0 {
            self.say(Text::NothingToRewind);
        } else {
            self.lines.set_draft(&prompt.text);
        }
        Ok(())
    }

    fn prompts(&self) -> Option<Vec<EarlierPrompt>> {
        match session_prompts(&self.place.sessions, &self.session_id) {
            Ok(prompts) => Some(prompts),
            Err(error) => {
                self.say_error(&resume::unreadable(error));
                None
            }
        }
    }

    /// Has one of `items` chosen by its number and returns its place; anything else than a number of
    /// the list chooses nothing.
    async fn choose(&mut self, title: Text, items: &[String]) -> Option<usize> {
        let language = self.look.language;
        let mut said = format!("{}:\n", title.template(language));
        for (place, item) in items.iter().take(LISTED_MAX).enumerate() {
            said.push_str(&format!("{:>3}  {item}\n", place + 1));
        }
        let more = items.len().saturating_sub(LISTED_MAX);
        if more > 0 {
            said.push_str(&format!("     {}\n", Text::MoreFiles.say(language, &[("n", &more)])));
        }
        self.front.screen.say(&said);
        forget_typed();
        let answer = match self.lines.ask(Text::ChooseNumber.template(language)).await {
            Line::Text(answer) => answer,
            Line::Interrupted | Line::End => String::new(),
        };
        let number: usize = answer.trim().parse().unwrap_or_default();
        let place = number.checked_sub(1).filter(|place| *place < items.len().min(LISTED_MAX));
        if place.is_none() {
            self.say(Text::NothingChosen);
        }
        place
    }
}
