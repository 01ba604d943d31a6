//! What the interface says, in each language: one table, one row a text.
//!
//! A row without a translation does not compile. Placeholders are names in braces, because the
//! order of words differs between languages. What a model, a file or a command says is not here.

mod sentence;

use std::fmt::Display;

pub(crate) use sentence::Sentence;

/// A language of the interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Language {
    /// English, also for every locale that has no table.
    #[default]
    English,
    /// Chinese in simplified characters.
    Chinese,
}

impl Language {
    /// Returns the language of a POSIX locale such as `zh_CN.UTF-8`.
    pub(crate) fn from_locale(locale: &str) -> Self {
        let language = locale.split(['_', '-', '.', '@']).next().unwrap_or_default();
        if language.eq_ignore_ascii_case("zh") { Self::Chinese } else { Self::English }
    }
}

macro_rules! texts {
    ($($name:ident: $english:literal, $chinese:literal;)+) => {
        /// A text of the interface.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Text {
            $(
                #[doc = concat!("`` ", $english, " ``")]
                $name,
            )+
        }

        impl Text {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns the text as it stands in the table.
            pub(crate) fn template(self, language: Language) -> &'static str {
                match (self, language) {
                    $(
                        (Self::$name, Language::English) => $english,
                        (Self::$name, Language::Chinese) => $chinese,
                    )+
                }
            }
        }
    };
}

texts! {
    // The box of a call.
    MoreLine: "… 1 more line", "… 还有 1 行";
    MoreLines: "… {n} more lines", "… 还有 {n} 行";
    MoreLinesAtLeast: "… at least {n} more lines", "… 至少还有 {n} 行";
    NoOutput: "(no output)", "（没有输出）";
    Failed: "failed", "失败";
    Allowed: "you allowed it", "已由你允许";
    Refused: "refused", "已拒绝";
    Unanswered: "no result", "没有结果";
    // What is waited for.
    Waiting: "Waiting for the model …", "正在等待模型 …";
    ThinkingNow: "The model is thinking …", "模型正在思考 …";
    Running: "Running {call} …", "正在运行 {call} …";
    CallWaits: "waits", "等待";
    RunningMany: "Running {n} calls …", "正在运行 {n} 个调用 …";
    Retrying: "retrying in {wait} (attempt {n}): {reason}", "{wait} 后重试（第 {n} 次）：{reason}";
    // What happens to the conversation.
    CutByLimit: "the reply was cut by the output limit and goes on by itself ({n} of {max})", "回复因输出上限而被截断，将自动继续（第 {n} 次，最多 {max} 次）";
    CutByFailure: "{reason}; the reply goes on from there ({n} of {max})", "{reason}；回复将从中断处继续（第 {n} 次，最多 {max} 次）";
    NotChecked: "something was changed and no check ran since; the model is asked to run {reason}", "有改动但此后未运行检查；已要求模型运行 {reason}";
    ResultsLeftOut: "the conversation was made shorter: {results} old results were left out, {before} → {after} tokens (about)", "对话已缩短：省略了 {results} 个旧结果，约 {before} → {after} 个词元";
    SummedUp: "the conversation was made shorter: {messages} messages were summed up, {prompts} of yours kept word for word, {before} → {after} tokens (about)", "对话已缩短：{messages} 条消息已归纳为摘要，其中你的 {prompts} 条逐字保留，约 {before} → {after} 个词元";
    // Labels and the end of a turn.
    Note: "note:", "提示：";
    Warning: "warning:", "警告：";
    ErrorLabel: "error:", "错误：";
    Hint: "hint:", "建议：";
    Read: "read:", "已读：";
    Session: "session {id}", "会话 {id}";
    WentOn: "went on with {model}", "由 {model} 继续";
    WentBack: "went back {n} turns; what they said is left", "已回退 {n} 轮；其内容不再计入";
    FilesStay: "Files stay as they are; /undo puts them back.", "文件保持不变；用 /undo 可撤销改动。";
    ModelChanged: "from here on {model} is asked; what the cache held is lost", "此后由 {model} 回答；缓存中的内容不再可用";
    NothingToRewind: "There is no turn to go back behind.", "没有可以回退的轮次。";
    CompactionUndone: "The last compaction is undone: the conversation has again all that it replaced.", "已撤销上一次压缩：对话恢复了被替换的全部内容。";
    NothingToCompact: "there is nothing to make shorter yet", "目前没有可以缩短的内容";
    NoCompaction: "There is no compaction to undo.", "没有可以撤销的压缩。";
    Resumed: "session {id} goes on after {turns} turns; this was the last:", "会话 {id} 在 {turns} 轮之后继续；最后一轮是：";
    BeginningOmitted: "… its beginning is left out here; tenon show {id} has all of it", "…开头部分在此省略；tenon show {id} 显示全部";
    GoOnHint: "tenon --resume {id} goes on with this session.", "用 tenon --resume {id} 继续此会话。";
    Done: "done", "完成";
    Verified: "verified", "已验证";
    Unverified: "unverified", "未验证";
    CheckFailed: "check failed", "检查失败";
    CheckRan: "{command}: exit code {code}, {time}", "{command}：退出码 {code}，{time}";
    NoCheckRan: "no check ran since the last change", "最后一次改动之后没有运行检查";
    Stopped: "stopped", "已停止";
    Tokens: "{input} tokens in, {output} out", "输入 {input} 个词元，输出 {output} 个";
    TokensCached: "{input} tokens in ({cached} cached), {output} out", "输入 {input} 个词元（缓存 {cached} 个），输出 {output} 个";
    Step: "1 step", "1 步";
    Steps: "{n} steps", "{n} 步";
    Minutes: "{m} min {s} s", "{m} 分 {s} 秒";
    Seconds: "{s} s", "{s} 秒";
    EndOutputLimit: "The reply was cut by the output limit.", "回复因输出上限而被截断。";
    EndRefusal: "The model refused to go on.", "模型拒绝继续。";
    EndStepLimit: "The limit of steps was reached.", "已达到步数上限。";
    EndCostLimit: "The limit of money was reached.", "已达到费用上限。";
    EndTimeLimit: "The time was over.", "时间已用完。";
    EndTokenLimit: "The limit of tokens was reached.", "已达到词元上限。";
    EndCancelled: "The turn was cancelled.", "本轮已取消。";
    EndLoopGuard: "The model repeated the same calls without getting anywhere.", "模型一直重复相同的调用，没有进展。";
    HintOutputLimit: "ask it to go on, or to work in smaller pieces", "让它继续，或分成更小的步骤";
    HintStepLimit:
        "a further prompt goes on (tenon --continue \"go on\"); --max-steps N sets the limit",
        "再输入一句即可继续（tenon --continue \"继续\"）；用 --max-steps N 设置上限";
    HintCostLimit:
        "a further prompt goes on (tenon --continue \"go on\"); --max-cost USD sets the limit",
        "再输入一句即可继续（tenon --continue \"继续\"）；用 --max-cost USD 设置上限";
    HintTimeLimit:
        "a further prompt goes on (tenon --continue \"go on\"); --max-time TIME sets the limit",
        "再输入一句即可继续（tenon --continue \"继续\"）；用 --max-time TIME 设置上限";
    HintTokenLimit:
        "a further prompt goes on (tenon --continue \"go on\"); --max-tokens N sets the limit",
        "再输入一句即可继续（tenon --continue \"继续\"）；用 --max-tokens N 设置上限";
    HintLoopGuard: "say it in other words, or name the file or command that is meant", "换一种说法，或指明文件或命令";
    Stopping: "Stopping. Ctrl-C again leaves at once.", "正在停止。再按一次 Ctrl-C 立即退出。";
    // A session as a document.
    ExportYou: "You", "你";
    ExportThinking: "Thinking", "思考";
    // Questions.
    AskRun: "The model wants to run this:", "模型想要运行：";
    AskUse: "The model wants to use {tool} on this:", "模型想要使用 {tool}：";
    AskParts: "In parts; ! marks what the question is about:", "逐个部分；! 标出询问所针对的部分：";
    AskWhy: "Why it is asked: {reason} (rule: {rule}).", "询问原因：{reason}（规则：{rule}）。";
    ReasonForcedGit: "{reason}", "会丢弃改动或改写历史（{reason}）";
    ReasonPrivileges: "{reason}", "会以其他用户的权限运行命令（{reason}）";
    ReasonHidden: "{reason}", "实际运行什么要到运行时才能知道（{reason}）";
    ReasonDownload: "{reason}", "会运行刚下载的内容（{reason}）";
    ReasonRemovesAll: "{reason}", "会删除整个工作区（{reason}）";
    ReasonRemovesTemporary: "{reason}", "会删除所有临时文件（{reason}）";
    ReasonRemovesUnknown: "{reason}", "会删除运行时才能确定的位置（{reason}）";
    ReasonDoubtful: "{reason}", "无法确定将运行什么（{reason}）";
    ReasonAskMode: "{reason}", "ask 模式下每个改动和命令都会询问（{reason}）";
    ReasonOutside: "{reason}", "该路径在工作区之外（{reason}）";
    ReasonProtected: "{reason}", "其他程序会从该文件读取命令（{reason}）";
    ReasonNetwork: "{reason}", "命令试图访问未获允许的主机（{reason}）";
    ReasonOvertime: "{reason}", "命令未在时限内结束（{reason}）";
    ReasonRule: "{reason}", "有一条规则要求询问（{reason}）";
    // What may be done without a question.
    ListDeny: "what destroys the machine (built-in)", "毁坏系统的操作（内置）";
    ListAsk: "what is risky (built-in)", "有风险的操作（内置）";
    ListReadOnly: "everything that is no reading (mode read-only)", "一切非读取的操作（read-only 模式）";
    ListAskMode: "every other change and command (mode ask)", "其他一切改动和命令（ask 模式）";
    ListAuto: "everything else, inside the walls (mode auto)", "其他一切，在沙箱之内（auto 模式）";
    ListRule: "{rule} ({origin})", "{rule}（{origin}）";
    ListHost: "host {rule} ({origin})", "主机 {rule}（{origin}）";
    ListRead: "to read {rule} ({origin})", "读取 {rule}（{origin}）";
    ListFromConfig: "configuration", "配置文件";
    ListFromLine: "command line", "命令行";
    AskUnconfined: "It would run outside the walls, with your rights or more; what it changes cannot be undone.", "它将在沙箱之外运行，拥有您的权限或更高的权限；它所做的更改无法撤销。";
    AskFlag: "{flag} allows it without a question.", "{flag} 可免去询问。";
    AskOutsideRead: "The model wants to read this file outside the workspace:", "模型想要读取工作区之外的文件：";
    AskOutsideSearch: "The model wants to search this folder outside the workspace, with all in it:", "模型想要搜索工作区之外的文件夹及其全部内容：";
    AskOutsideWrite: "The model wants to write this file outside the workspace:", "模型想要写入工作区之外的文件：";
    AskProtected: "The model wants to write this file, from which other programs take commands:", "模型想要写入此文件，其他程序会从中读取命令：";
    AskReach: "A command wanted to reach this host:", "一个命令想要访问此主机：";
    AskReachPrompt: "Let the next command reach it? [y = yes, n = no, n WORDS = no, and tell the model] ", "允许下一个命令访问它吗？[y = 是，n = 否，n 文字 = 否，并告诉模型] ";
    AskKeep: "This is still running:", "以下命令仍在运行：";
    AskKeepPrompt: "Keep it running in the background? [y = yes, n = end it, n WORDS = end it, and tell the model] ", "让它在后台继续运行吗？[y = 是，n = 结束它，n 文字 = 结束它，并告诉模型] ";
    // Background jobs.
    JobRunning: "1 job is running in the background: {jobs}", "1 个后台任务正在运行：{jobs}";
    JobsRunning: "{n} jobs are running in the background: {jobs}", "{n} 个后台任务正在运行：{jobs}";
    JobEnded: "1 job was still running and was ended: {jobs}", "1 个后台任务仍在运行，已被结束：{jobs}";
    JobsEnded: "{n} jobs were still running and were ended: {jobs}", "{n} 个后台任务仍在运行，已被结束：{jobs}";
    NoJobs: "No job is running in the background.", "没有后台任务在运行。";
    JobsCommand: "lists what is running in the background", "列出在后台运行的任务";
    AskSession: "s allows this until the session ends: {rules}.", "s 在会话结束前一直允许：{rules}。";
    AskAlways: "a allows this always: it adds {rule} to {setting} in {file}.", "a 始终允许：将 {rule} 加入 {file} 的 {setting}。";
    AskKept: "{rule} stands in {file} now.", "{rule} 已写入 {file}。";
    AskNotKept: "Nothing was written and nothing is allowed yet: {error}.", "未写入任何内容，也尚未允许：{error}。";
    AskPasted: "What is pasted is no answer. ", "粘贴的内容不算回答。 ";
    AskPrompt: "Allow it this once? [y = yes, n = no, n WORDS = no, and tell the model] ", "仅这一次，允许吗？[y = 是，n = 否，n 文字 = 否，并告诉模型] ";
    AskAgain: "Please answer y or n. ", "请回答 y 或 n。 ";
    // Undo.
    UndoOf: "In session {session}, newest first:", "会话 {session} 中，从最新的开始：";
    UndoDone: "Undone:", "已撤销：";
    RedoDone: "Redone:", "已重做：";
    UndoKept: "Left as they are, because they were changed since:", "以下内容此后有改动，保持不变：";
    UndoRefused: "Nothing was touched: this was changed since.", "未做任何改动：以下内容此后有改动。";
    UndoAsk: "This was changed since (what is put back all the same is kept: /redo or tenon redo):", "以下内容此后有改动（仍被撤销的会保留：/redo 或 tenon redo）：";
    UndoPrompt: "[k = keep these, put the rest back; o = put these back too; n = nothing] ", "[k = 保留这些，撤销其余；o = 这些也撤销；n = 不做改动] ";
    UndoOff: "Nothing is recorded in this session (undo = false, or there is no place for it).", "本会话未作记录（undo = false，或没有存放之处）。";
    ConflictChanged: "changed since", "此后有改动";
    ConflictDeleted: "deleted since", "此后被删除";
    ConflictCreated: "made since", "此后新建";
    FileCreated: "created ", "新建";
    FileEdited: "edited  ", "修改";
    FileDeleted: "deleted ", "删除";
    FileRenamed: "renamed ", "改名";
    FileMode: "mode    ", "权限";
    FileTimes: "times   ", "时间";
    MoreFiles: "… and {n} more", "… 另有 {n} 项";
    FileNotSaved: "not saved, cannot be undone: {path} ({why})", "未保存，无法撤销：{path}（{why}）";
    ChangesOf: "step {step} · {time} · {call} {state}", "第 {step} 步 · {time} · {call} {state}";
    StateRunning: "(running)", "（运行中）";
    StateInterrupted: "(interrupted)", "（已中断）";
    StateUndone: "(undone)", "（已撤销）";
    JobChanged: "a job changed: {changes}", "后台任务改动了：{changes}";
    UndoCommand: "puts back what the last call changed; /undo N the last N", "撤销上一个调用的改动；/undo N 撤销最近 N 个";
    RedoCommand: "takes the last undo back", "重做上一次撤销";
    // The interactive prompt.
    Welcome: "tenon {version} · {model} · {folder}", "tenon {version} · {model} · {folder}";
    WelcomeHelp: "Type what you want done. /help says more, Ctrl-D ends.", "输入你要做的事。/help 查看帮助，Ctrl-D 结束。";
    Unconfined: "Commands run without walls (--sandbox off).", "命令在没有沙箱的情况下运行（--sandbox off）。";
    LeaveHint: "Ctrl-C again leaves, Ctrl-D too.", "再按一次 Ctrl-C 退出，Ctrl-D 亦可。";
    UnknownCommand: "There is no command {name}. /help lists them.", "没有命令 {name}。/help 列出所有命令。";
    HelpCommand: "shows this list", "显示此列表";
    CompactCommand: "makes the conversation shorter; /compact WORDS says what to keep to, /compact undo undoes the last", "缩短对话；/compact 文字 指明应保留的重点，/compact undo 撤销上一次";
    ToolsCommand: "lists what the model can call", "列出模型可调用的工具";
    QuitCommand: "ends the session", "结束会话";
    HelpKeys: "A backslash at the end of a line goes on in the next; pasted lines stay one prompt.\nCtrl-C cancels what is running, and clears the line at the prompt.\n@ and the path of an image shows it to the model; !command runs a command of your own and shows its output to the model.\nA list is chosen from by number.\nA prompt that begins with / or !: put a space in front.", "行末的反斜杠表示下一行继续；粘贴的多行视为一个提示。\nCtrl-C 取消正在运行的内容，在输入时清空该行。\n@ 加图片路径可给模型看图；!命令 运行你自己的命令并把输出给模型看。\n列表按编号选择。\n以 / 或 ! 开头的提示：请在前面加一个空格。";
    // The interactive session on a terminal.
    WelcomeKeys: "Enter sends, Ctrl-J begins a new line, /help says more, Ctrl-D ends.", "Enter 发送，Ctrl-J 换行，/help 查看帮助，Ctrl-D 结束。";
    PasteFolded: "[paste {n}: {lines} lines]", "[粘贴 {n}：{lines} 行]";
    SearchHistory: "(search)", "（搜索）";
    ImageNotSeen: "{model} sees no images: choose another model, or leave the image out.", "{model} 看不到图片：请换一个模型，或去掉图片。";
    ImageNotOpened: "{path} cannot be opened as a file.", "无法打开文件 {path}。";
    TooManyImages: "A prompt may have {n} images at most.", "一条提示最多可带 {n} 张图片。";
    QueuedForStep: "next step:", "下一步：";
    QueuedForLater: "after the turn:", "本轮之后：";
    QueuedMore: "… and {n} more", "… 还有 {n} 条";
    QueuedTakeBack: "Up takes the last one back.", "按向上键取回最后一条。";
    WritingNow: "The model is writing …", "模型正在书写 …";
    WaitsForYou: "waiting for your answer", "等待你的回答";
    StoppingNow: "Stopping …", "正在停止 …";
    RetryIn: "Trying again in {s} s …", "{s} 秒后重试 …";
    StatusContext: "context {used} ({n} %)", "上下文 {used}（{n} %）";
    StatusTokens: "↑{input} ↓{output}", "↑{input} ↓{output}";
    StatusTokensCached: "↑{input} ({cached} cached) ↓{output}", "↑{input}（缓存 {cached}）↓{output}";
    StatusConfined: "confined", "有沙箱";
    StatusUnconfined: "no walls", "无沙箱";
    AskMoreRows: "… {n} more rows (Ctrl-O shows everything)", "… 还有 {n} 行（Ctrl-O 显示全部）";
    ChoicesShort: "y yes, n no, w no and tell the model why", "y 是，n 否，w 否并告诉模型原因";
    ChoiceOnce: "yes, this once", "是，仅这一次";
    ChoiceReach: "yes, for the next command", "是，仅下一个命令";
    ChoiceKeep: "yes, it goes on in the background", "是，在后台继续运行";
    ChoiceAlways: "yes, always: {rule} is added to {setting} in {file}", "是，始终：将 {rule} 加入 {file} 的 {setting}";
    ChoiceSession: "yes, until the session ends: {rules}", "是，直到会话结束：{rules}";
    ChoiceDeny: "no", "否";
    ChoiceWords: "no, and tell the model why", "否，并告诉模型原因";
    WordsPrompt: "tell the model: ", "告诉模型：";
    ContextCommand: "draws what fills the model's window", "显示模型上下文由什么占用";
    CostCommand: "shows what the session used", "显示本会话的用量";
    DiffCommand: "shows what was changed in this session", "显示本会话的改动";
    TranscriptCommand: "shows the whole transcript (Ctrl-O)", "显示完整记录（Ctrl-O）";
    TranscriptLinesCommand: "prints the whole transcript", "显示完整记录";
    CopyCommand: "copies the last answer", "复制最后一个回答";
    InitCommand: "has the model write AGENTS.md", "让模型编写 AGENTS.md";
    NewCommand: "begins a new session", "开始新会话";
    ModelCommand: "chooses another model; /model NAME takes one by name", "选择其他模型；/model 名称 直接指定";
    ResumeCommand: "goes on with an earlier session; /resume ID by its id or name", "继续以前的会话；/resume ID 按编号或名称";
    ForkCommand: "goes on in a new session and leaves this one as it is", "在新会话中继续，本会话保持不变";
    RewindPickCommand: "goes back to an earlier prompt: files, conversation or both", "回到以前的提示：文件、对话或两者";
    ChangesDiffCommand: "lists what each call changed; /changes diff shows the lines", "列出每个调用的改动；/changes diff 显示改动的行";
    PermissionsCommand: "lists what may be done without a question", "列出无需询问即可执行的操作";
    DoctorCommand: "shows what is configured and what is missing", "显示配置情况和缺少的内容";
    ContextHead: "{used} of {window} tokens ({n} %)", "已用 {window} 个词元中的 {used} 个（{n} %）";
    PartSystem: "system", "系统提示";
    PartTools: "tools", "工具";
    PartInstructions: "instructions", "说明";
    PartPrompts: "prompts", "提示";
    PartReplies: "replies", "回复";
    PartResults: "results", "结果";
    PartFree: "free", "剩余";
    CostHead: "{n} requests · {cost}", "{n} 次请求 · {cost}";
    CostTokens: "in: {new} new, {cached} cached, {written} written to the cache · out: {out}", "输入：新 {new}，缓存 {cached}，写入缓存 {written} · 输出：{out}";
    CostBroken: "request {n}: {why}", "第 {n} 次请求：{why}";
    CostMissed: "the cache was missed ({tokens} tokens)", "缓存未命中（{tokens} 个词元）";
    NoRequests: "Nothing was asked of a model yet.", "尚未向模型发出请求。";
    RuleForSession: "allow  {rule} (this session)", "allow  {rule}（本会话）";
    RuleWritten: "allow  {rule} (written by you in this session)", "allow  {rule}（由你在本会话中写入）";
    AfterTheTurn: "This needs the end of the turn; Ctrl-C ends it now.", "需等本轮结束；按 Ctrl-C 可立即结束。";
    NoOtherSession: "There is no other session in this folder.", "此文件夹中没有其他会话。";
    NothingToFork: "Nothing was said yet that could be forked.", "尚无内容可以分叉。";
    CannotGoOn: "That session cannot be gone on with; this is the one from before:", "无法继续该会话；以下仍是之前的会话：";
    DiffUnreadable: "changed; no text, too long or not kept", "有改动；不是文本、过长或未保存";
    BusyUndo: "Putting files back …", "正在恢复文件 …";
    BusyModel: "Changing the model …", "正在切换模型 …";
    BusyDoctor: "Looking around …", "正在检查 …";
    BusyDiff: "Comparing files …", "正在比较文件 …";
    ChoiceKeepMine: "keep these as they are, put the rest back", "保留这些，撤销其余";
    ChoiceOverwrite: "put these back too; /redo brings your version back", "这些也撤销；/redo 可恢复你的版本";
    ChoiceNothing: "change nothing", "不做改动";
    ConflictHead: "This was changed since:", "以下内容此后有改动：";
    PickModel: "Model", "模型";
    PickSession: "Go on with", "继续会话";
    PickPrompt: "Back to before", "回到此提示之前";
    PickBack: "What goes back", "回退哪些内容";
    PickKeys: "Enter takes, Esc leaves, letters search", "Enter 选定，Esc 离开，输入文字搜索";
    PickNone: "nothing fits", "没有匹配项";
    BackBoth: "files and conversation", "文件和对话";
    BackConversation: "conversation", "对话";
    BackFiles: "files", "文件";
    BackBothAbout: "as before this prompt; it goes into the draft", "恢复到此提示之前；提示放入草稿";
    BackConversationAbout: "what was said since is left; files stay", "不再计入此后的内容；文件不变";
    BackFilesAbout: "what calls changed since is put back; /redo takes it back", "撤销此后的改动；/redo 可重做";
    ModelAlready: "{model} is asked already.", "当前模型已是 {model}。";
    NothingTouched: "Nothing was touched.", "未做任何改动。";
    PreviewPrompts: "prompts ({n}), the newest first:", "提示（{n} 条），最新的在前：";
    ModelNow: "now", "当前";
    ModelWindow: "window: {n} tokens", "上下文窗口：{n} 个词元";
    ModelPrice: "US dollars per million tokens: in {input}, out {output}, cached {cached}", "每百万词元（美元）：输入 {input}，输出 {output}，缓存 {cached}";
    ModelPriceShort: "${input} in, ${output} out", "输入 ${input}，输出 ${output}";
    ChooseNumber: "Which one? [number, Enter for none] ", "选择哪一项？[编号，直接回车则不选] ";
    NothingChosen: "Nothing was chosen.", "未选择任何项。";
    CopyNeedsMore: "This terminal can only print, so it has no clipboard to copy to.", "此终端只能显示文字，没有可用的剪贴板。";
    NoChanges: "Nothing was changed in this session.", "本会话没有改动。";
    NothingToCopy: "There is no answer yet.", "还没有回答。";
    ExportCommand: "writes the session as a document: /export markdown or html", "把会话写成文档：/export markdown 或 html";
    Exported: "Written: {file}", "已写入：{file}";
    Copied: "The last answer was given to the terminal's clipboard.", "最后一个回答已交给终端的剪贴板。";
    NoPrice: "the price of this model is not known", "此模型的价格未知";
    EditorFailed: "The editor ({editor}) failed: {error}. The draft is as it was.", "编辑器（{editor}）出错：{error}。草稿未变。";
    PagerKeys: "· / searches, n and N go on, q closes", "· / 搜索，n 和 N 继续，q 关闭";
    PagerNotFound: "{words} is not in it", "没有找到 {words}";
    ThoughtFor: "thought for {time} (Ctrl-O shows it)", "思考了 {time}（按 Ctrl-O 查看）";
    Thought: "thought (Ctrl-O shows it)", "思考过（按 Ctrl-O 查看）";
    ThinkingLabel: "thinking:", "思考：";
    NotifyEnded: "the turn has ended", "本轮已结束";
    NotifyAsks: "a question waits for you", "有问题等你回答";
    ThemeCommand: "chooses the colours: /theme auto, light, dark or terminal", "选择颜色：/theme auto、light、dark 或 terminal";
    ThemeIs: "The colours are now: {theme}. That stands in {file}, for later sessions.", "现在的颜色：{theme}。已写入 {file}，以后的会话也使用。";
    ThemeNotKept: "The colours are now: {theme}, for this session alone. It was not written down: {error}.", "现在的颜色：{theme}，仅限本会话。未能写入：{error}。";
    ThereAre: "There are these: {names}.", "可选：{names}。";
    AfterPanic: "The session is kept: tenon show {id}", "会话已保存：tenon show {id}";
    HelpComposer: "Enter sends; while the model works, with its next step (Alt-Enter: after the turn).\nUp takes back what waits.\nCtrl-J, Shift-Enter or a backslash before Enter: a new line.\n@ completes a file and shows the model an image; !command runs a command of your own and shows it to the model.\nUp and Down: earlier prompts; Ctrl-R searches them. Ctrl-G: your editor.\nCtrl-O: the whole transcript. Ctrl-C: cancels, clears, then leaves. Ctrl-Z suspends.\nA prompt that begins with / or !: put a space in front.", "Enter 发送；模型工作时随下一步送达（Alt-Enter：本轮之后）。\n按向上键取回等待中的消息。\nCtrl-J、Shift-Enter 或在 Enter 前加反斜杠：换行。\n@ 补全文件，图片会给模型看；!命令 运行你自己的命令并把结果给模型看。\n向上和向下：以前的提示；Ctrl-R 搜索。Ctrl-G：你的编辑器。\nCtrl-O：完整记录。Ctrl-C：取消、清空，再按退出。Ctrl-Z 挂起。\n以 / 或 ! 开头的提示：请在前面加一个空格。";
    HistoryFailed: "The history is not kept: {error}.", "无法保存历史记录：{error}。";
    // What the doctor finds.
    DoctorModel: "Model", "模型";
    DoctorConfiguration: "Configuration", "配置";
    DoctorNetwork: "Network", "网络";
    DoctorCommands: "Commands", "命令";
    DoctorUndo: "Undo", "撤销";
    DoctorKernel: "Kernel {release}", "内核 {release}";
    DoctorPrograms: "Programs", "程序";
    ChosenBecause: "{model}, because of {source}", "{model}，依据：{source}";
    BecauseOfKey: "the key in {source}", "{source} 中的密钥";
    BecauseOfAddress: "the address in {source}", "{source} 中的地址";
    SourceEnvironment: "environment", "环境变量";
    NoKeyOf: "{provider} has no key", "{provider} 没有密钥";
    MendKey: "set its key", "设置它的密钥";
    NoModel: "no model is configured", "未配置模型";
    MendNoModel: "set ANTHROPIC_API_KEY or OPENAI_API_KEY", "设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY";
    MendNoModelLocal: "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or use --model local", "设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY，或使用 --model local";
    MendModel: "mend --model or the setting", "改正 --model 或相应的设置";
    BuiltInNever: "the built-in model is not built in", "此程序不含内置模型";
    BuiltInWhole: "the built-in model is here", "内置模型已下载";
    BuiltInPartial: "{n} MB of the built-in model are here", "内置模型已下载 {n} MB";
    BuiltInFetchRest: "`tenon models pull` fetches the rest", "用 `tenon models pull` 下载其余部分";
    BuiltInAbsent: "the built-in model is not here; `tenon models pull`", "内置模型尚未下载；可用 `tenon models pull` 下载";
    ProviderIs: "provider {name}: {key}, {address} ({source})", "提供方 {name}：{key}，{address}（{source}）";
    KeyNone: "no key", "没有密钥";
    KeyFrom: "a key from {source}", "密钥来自 {source}";
    OwnService: "its own service", "其官方服务";
    NoFileRead: "no file is read; {file} would be", "未读取任何文件；{file} 存在时会读取";
    FileRead: "read: {file}", "已读取：{file}";
    MendSetting: "mend the setting", "改正该设置";
    MendNotice: "docs/configuration.md lists the settings", "docs/configuration.md 列出所有设置";
    InstructionsFrom: "instructions: {source}", "说明：{source}";
    MendInstructions: "make it a regular text file within the repository", "改成仓库内的普通文本文件";
    SessionsIn: "sessions: {folder}", "会话：{folder}";
    NoProxy: "no proxy", "没有代理";
    TrustedToo: "trusted too: {file}", "另外信任：{file}";
    MendTrusted: "mend ca_file in the configuration", "改正配置中的 ca_file";
    HasOpenat2: "openat2: files cannot lead out of the workspace", "openat2：文件不会把访问引到工作区之外";
    NoOpenat2: "no openat2: no file can be opened", "没有 openat2：无法打开任何文件";
    HasPidfd: "pidfd: commands end with all their processes", "pidfd：命令结束时，它的所有进程一并结束";
    NoPidfd: "no pidfd", "没有 pidfd";
    MendKernel: "Linux {version} or newer is needed", "需要 Linux {version} 或更新的版本";
    KernelGives:
        "Landlock {landlock}, seccomp {seccomp}, user namespaces {namespaces}, mounts changed as a tree {mounts}, processes counted for each namespace {processes}, cgroup v2 delegated {cgroup}, overlayfs {overlayfs}",
        "Landlock：{landlock}，seccomp：{seccomp}，用户命名空间：{namespaces}，整树更改挂载：{mounts}，按命名空间计进程数：{processes}，cgroup v2 委派：{cgroup}，overlayfs：{overlayfs}";
    KernelYes: "yes", "有";
    KernelNo: "no", "无";
    KernelVersion: "version {n}", "版本 {n}";
    Wsl1: "WSL 1 has no Linux kernel: commands cannot be confined", "WSL 1 没有 Linux 内核：无法把命令放入沙箱";
    MendWsl1: "in Windows: wsl --set-version DISTRIBUTION 2", "在 Windows 中运行：wsl --set-version 发行版名称 2";
    Wsl2: "this WSL 2 has no Landlock", "此 WSL 2 没有 Landlock";
    MendWsl2:
        "in Windows: wsl --update; if that is not enough, add kernelCommandLine=lsm=landlock to [wsl2] in .wslconfig and run wsl --shutdown",
        "在 Windows 中运行：wsl --update；如果还不行，在 .wslconfig 的 [wsl2] 中加入 kernelCommandLine=lsm=landlock，然后运行 wsl --shutdown";
    NotConfined: "not confined: --sandbox off", "没有沙箱：--sandbox off";
    MendNotConfined: "leave --sandbox off out", "去掉 --sandbox off";
    MendNoTier: "--sandbox off runs commands without walls", "--sandbox off 在没有沙箱的情况下运行命令";
    NoMend: "no way to mend it is known", "没有已知的解决办法";
    CanWrite: "written: {paths}", "可写入：{paths}";
    CanWriteScratch: "written and thrown away: {paths}", "可写入，用后丢弃：{paths}";
    CanRead: "read: {paths}", "可读取：{paths}";
    NotThere: "not there: {paths}", "不存在（已隐藏）：{paths}";
    ReachesAll: "reached: everything, because of --net on", "可访问：整个网络，因为有 --net on";
    ReachesNeverHosts: "reached: nothing; only --net on opens anything", "可访问：无；只有 --net on 能开放网络";
    ReachesNothing: "reached: nothing; --net HOST opens a host", "可访问：无；--net 主机名 可开放一台主机";
    ReachesHosts: "reached: {hosts}", "可访问：{hosts}";
    NoLoopback: "no server and client on loopback in one command (--net on would let them)", "同一个命令里的服务器和客户端无法通过 loopback 相连（--net on 可放行）";
    UndoSwitchedOff: "switched off", "已关闭";
    MendUndoSwitchedOff: "leave `undo = false` out of the configuration", "从配置中去掉 `undo = false`";
    MendJournal: "make the workspace writable", "让工作区可写";
    RecordsCommands: "what file tools and commands change is recorded", "文件工具和命令的改动都会被记录";
    ComparesAsChosen: "the workspace is compared before and after each command, as you chose", "按你的选择，在每个命令前后比较工作区";
    Compares: "the workspace is compared before and after each command, within bounds", "在每个命令前后比较工作区，范围有限";
    MendCompares: "Linux 5.19 or newer without another program's filter is faster and sees more", "使用 Linux 5.19 或更新的版本，且没有其他程序的系统调用过滤器，会更快、更完整";
    UndoUsage: "undo: {n} checkpoints hold {bytes} of at most {bytes_max}", "撤销：{n} 个检查点，占用 {bytes}，上限 {bytes_max}";
    MendUsage: "look at the folder", "检查该文件夹";
    KeptIn: "kept in: {paths}", "保存在：{paths}";
    NotInPath: "{name} is not in PATH", "PATH 中没有 {name}";
    MendBash: "the bash tool cannot run without it: install bash", "没有它，bash 工具无法运行：请安装 bash";
    MendGit: "models use it for history and diffs: install git", "模型用它查看历史和差异：请安装 git";
    MendPython: "the built-in model may have to come by pip: install python3 and pip", "内置模型可能需要通过 pip 下载：请安装 python3 和 pip";
    PathsAndMore: "{paths} and {n} more", "{paths}，另有 {n} 项";
    // Which walls stand, and why others cannot be had.
    TierA: "tier A (own namespaces, Landlock, seccomp)", "tier A（独立的命名空间、Landlock、seccomp）";
    TierB: "tier B (namespaces by bubblewrap, Landlock, seccomp)", "tier B（由 bubblewrap 创建的命名空间、Landlock、seccomp）";
    TierC: "tier C (Landlock, seccomp)", "tier C（Landlock、seccomp）";
    TierD: "tier D (no walls)", "tier D（没有沙箱）";
    TierMissing: "{tier} cannot be had: {why}", "无法使用 {tier}：{why}";
    LacksCount: "no more user namespaces are allowed", "不允许再创建用户命名空间";
    LacksAppArmor: "AppArmor takes the rights in user namespaces away", "AppArmor 收回了用户命名空间中的权限";
    LacksSetting: "user namespaces are switched off for ordinary users", "普通用户的用户命名空间已被关闭";
    LacksNamespaces: "this kernel or container refuses namespaces", "此内核或容器拒绝创建命名空间";
    LacksProc: "no new /proc may be mounted in this container", "此容器中不能挂载新的 /proc";
    LacksMounts: "Linux {release} cannot make a tree of mounts read-only", "Linux {release} 无法把整棵挂载树设为只读";
    LacksLandlock: "Landlock is not there or switched off", "没有 Landlock，或已被关闭";
    LacksLandlockVersion: "Landlock has version {n} and must have 3", "Landlock 的版本是 {n}，至少需要 3";
    LacksSeccomp: "system calls cannot be filtered", "无法过滤系统调用";
    LacksFolder: "the workspace is the whole file system", "工作区是整个文件系统";
    LacksHosts: "single hosts cannot be let through", "无法只放行个别主机";
    LacksBubblewrap: "/usr/bin/bwrap is not there", "没有 /usr/bin/bwrap";
    LacksOwnBubblewrap: "/usr/bin/bwrap can be changed by others than root", "root 以外的用户可以更改 /usr/bin/bwrap";
    LacksBubblewrapRun: "bubblewrap ended: {said}", "bubblewrap 已结束：{said}";
    LacksPath: "{path} is not there", "{path} 不存在";
    LacksHelper: "its helper process ended or did not answer", "其辅助进程已结束或没有响应";
    MendBubblewrap: "install the package bubblewrap", "安装软件包 bubblewrap";
    MendOwnBubblewrap: "install the package bubblewrap anew, so that /usr/bin/bwrap belongs to root and nobody else can write it", "重新安装软件包 bubblewrap，使 /usr/bin/bwrap 属于 root，且其他用户不能写入";
    MendOldBubblewrap: "install bubblewrap 0.8.0 or newer with `--bind-fd`", "安装支持 `--bind-fd` 的 bubblewrap 0.8.0 或更新的版本";
    MendBubblewrapRun:
        "see that `bwrap --unshare-all --ro-bind / / true` works: on Ubuntu, load the AppArmor profile bwrap-userns-restrict of the package apparmor-profiles",
        "确认 `bwrap --unshare-all --ro-bind / / true` 能够运行：在 Ubuntu 上，请加载软件包 apparmor-profiles 中的 AppArmor 配置 bwrap-userns-restrict";
    MendCount: "set `sysctl user.max_user_namespaces=15000` as root, and in /etc/sysctl.d to keep it", "以 root 设置 `sysctl user.max_user_namespaces=15000`，并写入 /etc/sysctl.d 以长期生效";
    MendAppArmor:
        "install the package bubblewrap for tier B, give tenon an AppArmor profile with `userns,`, or set `sysctl kernel.apparmor_restrict_unprivileged_userns=0` as root",
        "安装软件包 bubblewrap 以使用 tier B，或给 tenon 一份含 `userns,` 的 AppArmor 配置，或以 root 设置 `sysctl kernel.apparmor_restrict_unprivileged_userns=0`";
    MendCloning: "set `sysctl kernel.unprivileged_userns_clone=1` as root", "以 root 设置 `sysctl kernel.unprivileged_userns_clone=1`";
    MendNamespaces:
        "in a container, allow user namespaces (docker: `--security-opt seccomp=…` with unshare and mount, or podman)",
        "在容器中，请允许用户命名空间（docker：`--security-opt seccomp=…` 并允许 unshare 和 mount，或使用 podman）";
    MendProc: "start the container so that /proc is whole (docker: `--security-opt systempaths=unconfined`)", "启动容器时保持 /proc 完整（docker：`--security-opt systempaths=unconfined`）";
    MendMounts: "use Linux 5.12 or newer", "使用 Linux 5.12 或更新的版本";
    MendLandlock: "use Linux 6.2 or newer with `landlock` in the kernel's `lsm=` list", "使用 Linux 6.2 或更新的版本，并在内核的 `lsm=` 列表中加入 `landlock`";
    MendSeccomp: "use a kernel with CONFIG_SECCOMP_FILTER", "使用带 CONFIG_SECCOMP_FILTER 的内核";
    MendFolder: "start in a folder below /", "在 / 之下的某个文件夹中启动";
    MendHosts: "use tier A or B, or open the whole network for the session", "使用 tier A 或 B，或为本会话开放整个网络";
    // What broke the cache, in the agent's words.
    BrokeShorter: "the conversation was made shorter", "对话已缩短";
    BrokeSystem: "the system prompt changed", "系统提示有变化";
    BrokeTools: "the tools changed", "工具有变化";
    BrokeRewind: "the conversation was rewound", "对话已回退";
    BrokeCompactionUndone: "a compaction was undone", "撤销了一次压缩";
    BrokeMessages: "earlier messages changed", "之前的消息有变化";
    BrokeOtherwise: "the conversation was sent otherwise", "对话的发送方式有变化";
    BrokeModel: "the model changed from {before} to {now}", "模型由 {before} 换为 {now}";
    // What cannot be done in a session, and what to do about it.
    NoSessionYet: "there is no session yet", "还没有会话";
    NoSuchSession: "there is no session `{wanted}`", "没有会话 `{wanted}`";
    SessionsBegin: "{n} sessions begin with `{wanted}`", "有 {n} 个会话的编号以 `{wanted}` 开头";
    SessionsNamed: "{n} sessions are named `{wanted}`", "有 {n} 个会话名为 `{wanted}`";
    HintSessionIds: "`tenon sessions` lists the ids", "`tenon sessions` 列出会话编号";
    SessionInUse: "another tenon is at work on this session", "另一个 tenon 正在使用此会话";
    HintSessionInUse: "wait for its end, or leave it as it is with --fork", "等它结束，或用 --fork 让它保持原样";
    SessionUnreadable: "the session cannot be read", "无法读取会话";
    SessionElsewhere: "the session {id} works in {folder}", "会话 {id} 的工作文件夹是 {folder}";
    HintMoveSession: "--cwd with this folder moves the session here", "用 --cwd 指定当前文件夹，可把会话移到这里";
    NoSuchModel: "there is no model `{model}`", "没有模型 `{model}`";
    HintModelForms:
        "--model takes PROVIDER/NAME, local, or scripted:FILE; providers: {providers}",
        "--model 接受 提供方/名称、local 或 scripted:文件；提供方：{providers}";
    HintOtherModel: "set its key and begin anew, or choose another model", "设置它的密钥后重新开始，或选择其他模型";
    BuiltInMissing: "the built-in model is not here", "内置模型尚未下载";
    HintFetchBuiltIn: "`tenon models pull` fetches it (1.1 GB)", "用 `tenon models pull` 下载（1.1 GB）";
    PriceUnknown: "the price of {model} is not known", "{model} 的价格未知";
    HintNoMaxCost: "leave --max-cost out; --max-tokens and --max-time hold for every model", "去掉 --max-cost；--max-tokens 和 --max-time 对所有模型都有效";
    NothingToUndo: "there is nothing to undo in {folder}", "{folder} 中没有可以撤销的改动";
    HintNothingToUndo: "`tenon changes` lists what calls changed; `tenon sessions` lists the sessions", "`tenon changes` 列出各个调用的改动；`tenon sessions` 列出会话";
    NothingToRedo: "there is nothing to redo", "没有可以重做的撤销";
    HintNothingToRedo: "an undo that went to make room (undo_bytes_max) cannot be taken back", "为腾出空间而清除的撤销（undo_bytes_max）无法重做";
    WorkspaceUnopened: "the workspace cannot be opened", "无法打开工作区";
    UndoFailed: "undo cannot do this", "无法这样撤销";
    HintUndoRunning: "wait for its end, or end that session", "等它结束，或结束那个会话";
    HintNotRestored: "everything is as it was before; `tenon changes` lists the calls", "一切保持原样；`tenon changes` 列出各个调用";
    FileUnwritten: "{path} cannot be written", "无法写入 {path}";
}

impl Text {
    /// Returns the text with each `{name}` replaced by its value.
    pub(crate) fn say(self, language: Language, values: &[(&str, &dyn Display)]) -> String {
        let mut said = String::new();
        let mut rest = self.template(language);
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, later)) = after.split_once('}') else { break };
            said.push_str(before);
            if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
                said.push_str(&value.to_string());
            }
            rest = later;
        }
        said.push_str(rest);
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders(template: &str) -> Vec<&str> {
        let mut names: Vec<&str> =
            template.split('{').skip(1).filter_map(|part| part.split('}').next()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn every_text_is_there_in_both_languages_with_the_same_values() {
        for text in Text::ALL {
            let english = text.template(Language::English);
            let chinese = text.template(Language::Chinese);
            assert!(!english.is_empty() && !chinese.is_empty(), "{text:?}");
            assert_eq!(placeholders(english), placeholders(chinese), "{text:?}");
        }
    }

    #[test]
    fn the_language_follows_the_locale() {
        let check = |locale, language| assert_eq!(Language::from_locale(locale), language);
        check("zh_CN.UTF-8", Language::Chinese);
        check("zh-Hans", Language::Chinese);
        check("ZH", Language::Chinese);
        check("en_US.UTF-8", Language::English);
        check("C", Language::English);
        check("", Language::English);
        check("zhx", Language::English);
    }

    #[test]
    fn values_are_text_and_never_templates() {
        let said = Text::Running.say(Language::English, &[("call", &"{call} {x")]);
        assert_eq!(said, "Running {call} {x …");
    }
}
