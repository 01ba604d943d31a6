//! What the interface says, in each language: one table, one row a text. What a session says
//! stands here, the rest in a file for each part of the program.
//!
//! A row without a translation does not compile. Placeholders are names in braces, because the
//! order of words differs between languages. What a model, a file or a command says is not here.

use std::fmt::Display;

pub(crate) use changes::summary;
pub(crate) use library::translated;
pub(crate) use sentence::Sentence;

macro_rules! texts {
    ($($(#[$when:meta])? $name:ident: $english:literal, $chinese:literal;)+) => {
        #[expect(non_upper_case_globals, reason = "each stands where the variant of an enum would")]
        impl Text {
            $(
                $(#[$when])?
                #[doc = concat!("`` ", $english, " ``")]
                pub(crate) const $name: Self = Self::row($english, $chinese);
            )+
        }

        #[cfg(test)]
        pub(super) const ROWS: &[Text] = &[$($(#[$when])? Text::$name),+];
    };
    // Rows that are found by their English have no name.
    ($($english:literal, $chinese:literal;)+) => {
        pub(super) const ROWS: &[Text] = &[$(Text::row($english, $chinese)),+];
    };
}

mod changes;
mod commands;
mod doctor;
mod failures;
mod library;
mod sentence;

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

/// A text of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text {
    english: &'static str,
    chinese: &'static str,
}

texts! {
    // The box of a call.
    MoreLines: "… {n} more {n:line|lines}", "… 还有 {n} 行";
    MoreLinesAtLeast: "… at least {n} more {n:line|lines}", "… 至少还有 {n} 行";
    NoOutput: "(no output)", "（没有输出）";
    Failed: "failed", "失败";
    Allowed: "you allowed it", "已由你允许";
    Refused: "refused", "已拒绝";
    Unanswered: "no result", "没有结果";
    // What is waited for.
    Waiting: "Waiting for the model …", "正在等待模型 …";
    ThinkingNow: "The model is thinking …", "模型正在思考 …";
    Running: "Running {call} …", "正在运行 {call} …";
    CallRuns: "runs", "运行中";
    CallAsks: "waits for you", "等待你";
    CallQueued: "waits for its turn to ask", "等待轮到它提问";
    RunningMany: "Running {n} calls …", "正在运行 {n} 个调用 …";
    Retrying: "retrying in {wait} (attempt {n}): {reason}", "{wait} 后重试（第 {n} 次）：{reason}";
    // What happens to the conversation.
    CutByLimit: "the reply was cut by the output limit and goes on by itself ({n} of {max})", "回复因输出上限而被截断，将自动继续（第 {n} 次，最多 {max} 次）";
    CutByFailure: "{reason}; the reply goes on from there ({n} of {max})", "{reason}；回复将从中断处继续（第 {n} 次，最多 {max} 次）";
    NotChecked: "something was changed and no check ran since; the model is asked to run {reason}", "有改动但此后未运行检查；已要求模型运行 {reason}";
    ResultsLeftOut: "the conversation was made shorter: old results left out: {results}, {before} → {after} tokens (about)", "对话已缩短：省略了 {results} 个旧结果，约 {before} → {after} 个词元";
    PromptsCut: " and {n} with the middle left out", "，{n} 条省略了中间部分";
    SummedUp: "the conversation was made shorter: a summary stands for {messages} of its messages, {prompts} of yours kept word for word{cut}, {before} → {after} tokens (about)", "对话已缩短：{messages} 条消息已归纳为摘要，其中你的 {prompts} 条逐字保留{cut}，约 {before} → {after} 个词元";
    CallsListed: "the conversation was made shorter, and no summary could be had: a list of its calls stands for {messages} of its messages, {prompts} of yours kept word for word{cut}, {before} → {after} tokens (about)", "对话已缩短，但未能得到摘要：{messages} 条消息由其中调用的列表代替，你的 {prompts} 条逐字保留{cut}，约 {before} → {after} 个词元";
    // Labels and the end of a turn.
    Note: "note:", "提示：";
    Warning: "warning:", "警告：";
    ErrorLabel: "error:", "错误：";
    Hint: "hint:", "建议：";
    Read: "read:", "已读：";
    Session: "session {id}", "会话 {id}";
    WentOn: "went on with {model}", "由 {model} 继续";
    WentBackOne: "the conversation went back 1 turn; the part that was left stays in the log", "对话已回退 1 轮；被放弃的部分仍保留在日志中";
    WentBack: "the conversation went back {n} turns; the part that was left stays in the log", "对话已回退 {n} 轮；被放弃的部分仍保留在日志中";
    FilesStay: "Files stay as they are; /undo puts them back.", "文件保持不变；用 /undo 可撤销改动。";
    ModelChanged: "from here on {model} is asked; what the cache held is lost", "此后由 {model} 回答；缓存中的内容不再可用";
    NothingToRewind: "There is no turn to go back behind.", "没有可以回退的轮次。";
    CompactionUndone: "The last compaction is undone: the conversation has again all that it replaced.", "已撤销上一次压缩：对话恢复了被替换的全部内容。";
    NoCompaction: "There is no compaction to undo.", "没有可以撤销的压缩。";
    ResumedOne: "session {id} goes on after 1 turn; this was it:", "会话 {id} 在 1 轮之后继续；这一轮是：";
    Resumed: "session {id} goes on after {turns} turns; this was the last:", "会话 {id} 在 {turns} 轮之后继续；最后一轮是：";
    BeginningOmitted: "… its beginning is left out here; tenon show {id} has all of it", "…开头部分在此省略；tenon show {id} 显示全部";
    GoOnHint: "tenon --resume {id} goes on with this session.", "用 tenon --resume {id} 继续此会话。";
    GoOnElsewhereHint: "{folder} is gone: tenon --cwd FOLDER --resume {id} goes on in another folder, in a new session.", "{folder} 已不存在：用 tenon --cwd 文件夹 --resume {id} 可在另一文件夹中以新会话继续。";
    Done: "done", "完成";
    Verified: "verified", "已验证";
    Unverified: "unverified", "未验证";
    CheckFailed: "check failed", "检查失败";
    CheckRan: "{command}: exit code {code}, {time}", "{command}：退出码 {code}，{time}";
    NoCheckRan: "no check ran since the last change", "最后一次改动之后没有运行检查";
    StaleCache: "{folder}/ may be newer than {file}, which an undo or redo put back with its old time: touch what it put back before the check", "{folder}/ 可能比 {file} 新，后者由撤销或重做恢复了旧时间：请先 touch 恢复的文件再检查";
    NoCheckKnown: "no check is known here; `verify` in config.toml names one", "这里没有已知的检查；可以在 config.toml 中用 `verify` 指定";
    TooManyEntries: "the workspace has more than {n} entries to look at", "工作区的条目超过 {n} 个，无法逐一查看";
    NotLookedAt: "the workspace's files could not be looked at", "无法查看工作区的文件";
    ChangedMeanwhile: "{file} changed while the check ran, and not by it", "{file} 在检查运行期间被其他来源改动";
    NotToldApart: "{file} changed while the check ran; whether by it is not known here", "{file} 在检查运行期间被改动；此处无法得知是否由检查所改";
    Stopped: "stopped", "已停止";
    Tokens: "{input} {input:token|tokens} in, {output} out", "输入 {input} 个词元，输出 {output} 个";
    TokensCached: "{input} {input:token|tokens} in ({cached} cached), {output} out", "输入 {input} 个词元（缓存 {cached} 个），输出 {output} 个";
    Steps: "{n} {n:step|steps}", "{n} 步";
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
    // What may be done without a question.
    ListDeny: "what destroys the machine (built-in)", "毁坏系统的操作（内置）";
    ListAsk: "what is risky (built-in)", "有风险的操作（内置）";
    ListReadOnly: "everything that is no reading (mode read-only)", "一切非读取的操作（read-only 模式）";
    ListAskMode: "every other change and command (mode ask)", "其他一切改动和命令（ask 模式）";
    ListAuto: "everything else, inside the walls (mode auto)", "其他一切，在沙箱之内（auto 模式）";
    ListAutoUnconfined: "everything else (mode auto)", "其他一切（auto 模式）";
    ListRule: "{rule} ({origin})", "{rule}（{origin}）";
    ListHost: "host {rule} ({origin})", "主机 {rule}（{origin}）";
    ListRead: "to read {rule} ({origin})", "读取 {rule}（{origin}）";
    ListFromLine: "command line", "命令行";
    AskUnconfined: "It would run outside the walls, with your rights or more; what it changes cannot be undone.", "它将在沙箱之外运行，拥有您的权限或更高的权限；它所做的更改无法撤销。";
    AskMasked: "A part of this is not shown: [masked: …] stands for a secret that the workspace's files do not hold.", "其中有一部分未显示：[masked: …] 代表工作区文件之外的机密。";
    AskFlag: "{flag} allows it without a question.", "{flag} 可免去询问。";
    AskOutsideRead: "The model wants to read this file outside the workspace:", "模型想要读取工作区之外的文件：";
    AskOutsideSearch: "The model wants to search this folder outside the workspace, with all in it:", "模型想要搜索工作区之外的文件夹及其全部内容：";
    AskOutsideWrite: "The model wants to write this file outside the workspace:", "模型想要写入工作区之外的文件：";
    AskSecretRead: "The model wants to read this file, where programs keep secrets:", "模型想要读取此文件，程序在此处存放机密：";
    AskSecretSearch: "The model wants to search this folder, where programs keep secrets, with all in it:", "模型想要搜索此文件夹及其全部内容，程序在此处存放机密：";
    AskSecretWrite: "The model wants to write this file, where programs keep secrets:", "模型想要写入此文件，程序在此处存放机密：";
    AskProtected: "The model wants to write this file, from which other programs take commands:", "模型想要写入此文件，其他程序会从中读取命令：";
    AskReach: "A command wanted to reach this host:", "一个命令想要访问此主机：";
    AskReachPrompt: "Let the next command reach it? [y = yes, n = no, n WORDS = no, and tell the model] ", "允许下一个命令访问它吗？[y = 是，n = 否，n 文字 = 否，并告诉模型] ";
    AskWritten: "A command wrote this file, from which other programs take commands, and it was put back. Keep what was written?", "一条命令写入了此文件，其他程序会从中读取命令；该文件已恢复原状。保留所写内容吗？";
    AskKeep: "This is still running:", "以下命令仍在运行：";
    AskKeepPrompt: "Keep it running in the background? [y = yes, n = end it, n WORDS = end it, and tell the model] ", "让它在后台继续运行吗？[y = 是，n = 结束它，n 文字 = 结束它，并告诉模型] ";
    // Background jobs.
    JobRunning: "1 job is running in the background: {jobs}", "1 个后台任务正在运行：{jobs}";
    JobsRunning: "{n} jobs are running in the background: {jobs}", "{n} 个后台任务正在运行：{jobs}";
    JobEnded: "1 job was still running and was ended: {jobs}", "1 个后台任务仍在运行，已被结束：{jobs}";
    JobsEnded: "{n} jobs were still running and were ended: {jobs}", "{n} 个后台任务仍在运行，已被结束：{jobs}";
    BesideJobs: "What you run is outside the walls, and what it uses can be changed by what runs in the background: {jobs}", "您运行的程序在沙箱之外，它所用的内容可能被后台任务改变：{jobs}";
    BesideCommand: "What you run is outside the walls, and what it uses can be changed by a command that runs here meanwhile.", "您运行的程序在沙箱之外，它所用的内容可能被此时在此处运行的命令改变。";
    NoJobs: "No job is running in the background.", "没有后台任务在运行。";
    JobsCommand: "lists what is running in the background", "列出在后台运行的任务";
    AskSession: "s allows this until the session ends: {rules}.", "s 在会话结束前一直允许：{rules}。";
    AskAlways: "a allows this always: it adds {rule} to {setting} in {file}.", "a 始终允许：将 {rule} 加入 {file} 的 {setting}。";
    AskKept: "{rule} stands in {file} now.", "{rule} 已写入 {file}。";
    AskNotKept: "Nothing was written and nothing is allowed yet: {error}.", "未写入任何内容，也尚未允许：{error}。";
    AskPasted: "What is pasted is no answer. ", "粘贴的内容不算回答。 ";
    AskPrompt: "Allow it this once? [y = yes, n = no, n WORDS = no, and tell the model] ", "仅这一次，允许吗？[y = 是，n = 否，n 文字 = 否，并告诉模型] ";
    AskAgain: "Please answer y or n. ", "请回答 y 或 n。 ";
    AskPromptNo: "It cannot be allowed here. [n = no, n WORDS = no, and tell the model] ", "无法在此允许。[n = 否，n 文字 = 否，并告诉模型] ";
    AskProgramSet: "From then on git runs programs, or does other than before, by the setting {setting}", "此后 git 将按此设置运行程序或改变行为：{setting}";
    AskReplacesAll: "Every place where the old text stands is replaced.", "旧文本出现的每一处都会被替换。";
    AskNotCompared: "The texts are too long to be compared: all of the old one stands before all of the new one.", "文本过长，无法比较：先列出全部旧文本，再列出全部新文本。";
    AskTooLong: "It is {n} bytes long, too long to be shown; this is its beginning.", "共 {n} 字节，过长，无法显示；以下是开头。";
    // Undo.
    UndoOf: "In session {session}, newest first:", "会话 {session} 中，从最新的开始：";
    RedoOf: "In session {session}:", "会话 {session} 中：";
    UndoDone: "Undone:", "已撤销：";
    RedoDone: "Redone:", "已重做：";
    RestoreRedoes: "In session {session}, redone, oldest first:", "会话 {session} 中重做，从最早的开始：";
    RestoreDone: "Undone and redone:", "已撤销并重做：";
    NoFileChanged: "No file was changed.", "没有改动任何文件。";
    UndoKept: "Left as they are, because of what was changed since:", "因此后的改动，以下内容保持不变：";
    UndoMoved: "Made or changed since, and moved along with their folder:", "以下内容此后新建或有改动，已随所在文件夹一起移动：";
    UndoStale: "Left out, and perhaps newer than what was put back with its old times; touch those files before a build that compares times (cargo, make):", "以下内容未撤销，可能比恢复了旧时间的文件更新；用比较时间的工具（cargo、make）构建之前，请先 touch 这些文件：";
    UndoOverwrote: "Put back although it was changed since (redo brings your version back):", "以下内容此后有改动，仍已撤销（redo 可恢复你的版本）：";
    UndoWaits: "waiting for process {process}, which undoes or makes room here (`kill -CONT {process}` if it is stopped); Ctrl-C ends the waiting", "正在等待进程 {process}，它正在此处撤销或清理空间（若已暂停：`kill -CONT {process}`）；Ctrl-C 结束等待";
    UndoWaitsHere: "Waiting for process {process}, which undoes or makes room here (`kill -CONT {process}` if it is stopped). Esc ends the waiting.", "正在等待进程 {process}，它正在此处撤销或清理空间（若已暂停：`kill -CONT {process}`）。按 Esc 结束等待。";
    WaitingEnded: "the waiting was ended, and nothing was touched", "已结束等待，未做任何改动";
    UndoHeld: "another process holds the undo store, and nothing was touched", "另一个进程占用着撤销记录，未做任何改动";
    UndoHeldBy: "process {process} holds the undo store, and nothing was touched", "进程 {process} 占用着撤销记录，未做任何改动";
    UndoRefused: "Nothing was touched: this was changed since.", "未做任何改动：以下内容此后有改动。";
    UndoAsk: "This was changed since (what is put back all the same is kept: /redo or tenon redo):", "以下内容此后有改动（仍被撤销的会保留：/redo 或 tenon redo）：";
    UndoPrompt: "[k = keep these, put the rest back; o = put these back too; n = nothing] ", "[k = 保留这些，撤销其余；o = 这些也撤销；n = 不做改动] ";
    UndoPromptKeep: "[k = keep these, put the rest back; n = nothing] ", "[k = 保留这些，撤销其余；n = 不做改动] ";
    UndoOff: "Nothing is recorded in this session (undo = false, or there is no place for it).", "本会话未作记录（undo = false，或没有存放之处）。";
    ConflictChanged: "changed since", "此后有改动";
    ConflictDeleted: "gone since", "此后已不在";
    ConflictCreated: "made since", "此后新建";
    ConflictChangedBy: "changed by {who} since", "此后被{who}改动";
    ConflictDeletedBy: "deleted by {who} since", "此后被{who}删除";
    ConflictCreatedBy: "made by {who} since", "此后由{who}新建";
    ConflictChangedByRunning: "changed by {who}, which still runs", "被仍在运行的{who}改动";
    ConflictDeletedByRunning: "deleted by {who}, which still runs", "被仍在运行的{who}删除";
    ConflictCreatedByRunning: "made by {who}, which still runs", "由仍在运行的{who}新建";
    ConflictMovedBy: "moved to {to} by {who} since", "此后被{who}移至 {to}";
    ConflictMovedByRunning: "moved to {to} by {who}, which still runs", "被仍在运行的{who}移至 {to}";
    ConflictMovedAwayBy: "moved away by {who} since", "此后被{who}移走";
    ConflictMovedAwayByRunning: "moved away by {who}, which still runs", "被仍在运行的{who}移走";
    WhoStep: "step {step}", "第 {step} 步";
    WhoSession: "session {id}", "会话 {id} ";
    WhichCall: "call {id}", "调用 {id} ";
    StillRuns: "Still running, and not undone: {calls}", "仍在运行，未撤销：{calls}";
    ConflictNotKept: "changed or gone since, and what was in it is not kept", "此后有改动或被删除，且未保留其原内容";
    ConflictNotKeptBy: "changed, moved or deleted by {who} since, and what was in it is not kept", "此后被{who}改动、移走或删除，且未保留其原内容";
    ConflictNotKeptByRunning: "changed, moved or deleted by {who}, which still runs, and what was in it is not kept", "被仍在运行的{who}改动、移走或删除，且未保留其原内容";
    ConflictNeeded: "what was made there stays: branches or the index of this repository were changed since", "其中新建的保留：此仓库的分支或索引此后有改动";
    ConflictProtected: "programs take commands from this name, and what would come there another command wrote", "程序会从这个名字读取命令，而将放回的内容是另一个命令写的";
    ConflictHeld: "not as before, because of what is kept", "因所保留的内容而未恢复原状";
    FileCreated: "created ", "新建";
    FileEdited: "edited  ", "修改";
    FileDeleted: "deleted ", "删除";
    FileRenamed: "renamed ", "改名";
    FileMode: "mode    ", "权限";
    FileReplaced: "replaced", "替换";
    FileTimes: "times   ", "时间";
    LinkOut: "link     {path} -> {target} (outside)", "链接 {path} -> {target}（在外部）";
    MoreLinksOut: "… and {n} more links to outside", "… 另有 {n} 个指向外部的链接";
    MoreFiles: "… and {n} more", "… 另有 {n} 项";
    MoreFilesWithAll: "… and {n} more (--all lists them)", "… 另有 {n} 项（--all 全部列出）";
    FileNotSaved: "not saved, cannot be undone: {path} ({why})", "未保存，无法撤销：{path}（{why}）";
    ChangesOf: "step {step} · {time} · {call} {state}", "第 {step} 步 · {time} · {call} {state}";
    StateRunning: "(running)", "（运行中）";
    StateInterrupted: "(interrupted)", "（已中断）";
    StateUndone: "(undone)", "（已撤销）";
    CutShortChanged: "a call that was cut short changed: {changes}", "被中断的调用改动了：{changes}";
    StateUndoneInPart: "(undone in part)", "（已部分撤销）";
    JobChanged: "a job changed: {changes}", "后台任务改动了：{changes}";
    UndoCommand: "puts back what the last call changed; /undo N the last N", "撤销上一个调用的改动；/undo N 撤销最近 N 个";
    RedoCommand: "takes the last undo back", "重做上一次撤销";
    // The interactive prompt.
    Welcome: "tenon {version} · {model} · {folder}", "tenon {version} · {model} · {folder}";
    WelcomeHelp: "Type what you want done. /help says more, Ctrl-D ends.", "输入你要做的事。/help 查看帮助，Ctrl-D 结束。";
    LinesLeftOut: "{n} {n:line of the log is|lines of the log are} left out: damaged, or of another version of tenon", "日志中有 {n} 行已略去：已损坏，或来自其他版本的 tenon";
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
    PasteFolded: "[paste {n}: {lines} {lines:line|lines}]", "[粘贴 {n}：{lines} 行]";
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
    StatusSilent: "no data for {time}", "已有 {time}没有数据";
    StatusContext: "context {used} ({n} %)", "上下文 {used}（{n} %）";
    StatusTokens: "↑{input} ↓{output}", "↑{input} ↓{output}";
    StatusTokensCached: "↑{input} ({cached} cached) ↓{output}", "↑{input}（缓存 {cached}）↓{output}";
    StatusConfined: "confined", "有沙箱";
    StatusTier: "tier {tier}", "沙箱 {tier} 级";
    StatusUnconfined: "no walls", "无沙箱";
    AskMoreRows: "… {n} more {n:row|rows} (Ctrl-O shows everything)", "… 还有 {n} 行（Ctrl-O 显示全部）";
    AskMoreLines: "… {n} more {n:line|lines} of it (Ctrl-O shows everything)", "… 其中还有 {n} 行（Ctrl-O 显示全部）";
    ChoicesTooLong: "What is too long to be shown cannot be allowed here. n no, w no and tell the model why", "过长而无法显示的内容不能在此允许。n 否，w 否并告诉模型原因";
    ChoicesShort: "y yes, n no, w no and tell the model why", "y 是，n 否，w 否并告诉模型原因";
    ChoicesWriting: "Esc, then a key answers: what you type goes on in your draft.", "先按 Esc，再按键回答：现在输入的内容写入草稿。";
    ChoicesUnseen: "Ctrl-O shows all of it; only then it can be allowed: page down (space) to its end. n no, w no and tell the model why", "Ctrl-O 显示全部；用空格键翻页看到结尾之后才能允许。n 否，w 否并告诉模型原因";
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
    RestoreCommand: "lists the steps; /restore STEP puts the files back as before that one", "列出各步骤；/restore 步骤号 把文件恢复到该步骤之前";
    RestoreWhich: "/restore STEP puts the files back as they were before one of these steps:", "/restore 步骤号 把文件恢复到以下某个步骤之前：";
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
    CostHead: "{n} {n:request|requests} · {cost}", "{n} 次请求 · {cost}";
    CostTokens: "in: {new} new, {cached} cached, {written} written to the cache · out: {out}", "输入：新 {new}，缓存 {cached}，写入缓存 {written} · 输出：{out}";
    CostBroken: "request {n}: {why}", "第 {n} 次请求：{why}";
    CostMissed: "the cache was missed ({tokens} {tokens:token|tokens})", "缓存未命中（{tokens} 个词元）";
    CostRebilled: "{why} ({tokens} {tokens:token|tokens} billed again)", "{why}（{tokens} 个词元重新计费）";
    NoRequests: "Nothing was asked of a model yet.", "尚未向模型发出请求。";
    RuleForSession: "allow  {rule} (this session)", "allow  {rule}（本会话）";
    RuleWritten: "allow  {rule} (written by you in this session)", "allow  {rule}（由你在本会话中写入）";
    AfterTheTurn: "This needs the end of the turn; Ctrl-C ends it now.", "需等本轮结束；按 Ctrl-C 可立即结束。";
    NoOtherSession: "There is no other session in this folder.", "此文件夹中没有其他会话。";
    NothingToFork: "Nothing was said yet that could be forked.", "尚无内容可以分叉。";
    CannotGoOn: "That session cannot be gone on with; this is the one from before:", "无法继续该会话；以下仍是之前的会话：";
    MaskedPerhapsCommand: "{label} has other characters than a key has and may be a command: look at the file itself", "{label} 含有密钥通常没有的字符，可能是命令：请查看文件本身";
    DiffUnreadable: "changed; no text, too long or not kept", "有改动；不是文本、过长或未保存";
    BusyWaiting: "Waiting for process {process} …", "正在等待进程 {process} …";
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
    EditorInside: "{name} is on PATH in a folder of the session, where no editor is looked for; named as {path} it would start", "{name} 在 PATH 中，但位于会话的文件夹内，不会在那里查找编辑器；写成 {path} 则可启动";
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
    PanicCaught: "Something failed inside tenon; the session goes on: {panic}", "tenon 内部出错；会话继续：{panic}";
    AfterPanic: "The session is kept: tenon show {id}", "会话已保存：tenon show {id}";
    HelpComposer: "Enter sends; while the model works, with its next step (Alt-Enter: after the turn).\nUp takes back what waits.\nCtrl-J, Shift-Enter or a backslash before Enter: a new line.\n@ completes a file and shows the model an image; !command runs a command of your own and shows it to the model.\nUp and Down: earlier prompts; Ctrl-R searches them. Ctrl-G: your editor.\nCtrl-O: the whole transcript. Ctrl-C: cancels, clears, then leaves. Ctrl-Z suspends.\nA prompt that begins with / or !: put a space in front.", "Enter 发送；模型工作时随下一步送达（Alt-Enter：本轮之后）。\n按向上键取回等待中的消息。\nCtrl-J、Shift-Enter 或在 Enter 前加反斜杠：换行。\n@ 补全文件，图片会给模型看；!命令 运行你自己的命令并把结果给模型看。\n向上和向下：以前的提示；Ctrl-R 搜索。Ctrl-G：你的编辑器。\nCtrl-O：完整记录。Ctrl-C：取消、清空，再按退出。Ctrl-Z 挂起。\n以 / 或 ! 开头的提示：请在前面加一个空格。";
    HistoryFailed: "The history is not kept: {error}.", "无法保存历史记录：{error}。";
    // What cannot be done in a session, and what to do about it.
    NoSessionYet: "there is no session yet", "还没有会话";
    NoSuchSession: "there is no session `{wanted}`", "没有会话 `{wanted}`";
    SessionsBegin: "{n} sessions begin with `{wanted}`", "有 {n} 个会话的编号以 `{wanted}` 开头";
    SessionsNamed: "{n} sessions are named `{wanted}`", "有 {n} 个会话名为 `{wanted}`";
    SessionsUnread: "{n} {n:session|sessions} could not be read: {why}", "有 {n} 个会话无法读取：{why}";
    HintSessionIds: "`tenon sessions` lists the ids", "`tenon sessions` 列出会话编号";
    SessionInUse: "another tenon is at work on this session", "另一个 tenon 正在使用此会话";
    HintSessionInUse: "wait for its end, or leave it as it is with --fork", "等它结束，或用 --fork 让它保持原样";
    SessionUnreadable: "the session cannot be read", "无法读取会话";
    SessionElsewhere: "the session {id} works in {folder}", "会话 {id} 的工作文件夹是 {folder}";
    HintCwd: "name it: --cwd {folder}", "请指明它：--cwd {folder}";
    HintFolderGone: "this folder is not there any more; nothing of it can be put back", "该文件夹已不存在，其中的内容无法恢复";
    HintMoveSession: "--cwd with this folder goes on here in a new session", "用 --cwd 指定当前文件夹，可在这里以新会话继续";
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
    NothingToUndoYet: "there is nothing to undo yet in {folder}", "{folder} 中尚无可以撤销的改动";
    HintOnceOver: "still running: {calls}; what it changes can be undone once it is over", "仍在运行：{calls}；其改动在它结束后可以撤销";
    AsBefore: "the files are as they were before {to} already", "文件已是{to}之前的状态";
    NotYetBefore: "nothing can be put back as it was before {to} yet", "尚无可恢复到{to}之前状态的内容";
    RunningChanged: "what still runs changed {files}", "仍在运行的命令改动了 {files}";
    NothingChanged: "no call changed anything in {folder}", "{folder} 中没有调用改动过任何内容";
    HintSessions: "`tenon sessions` lists the sessions", "`tenon sessions` 列出会话";
    HintNothingToUndo: "`tenon changes` lists what calls changed; `tenon sessions` lists the sessions", "`tenon changes` 列出各个调用的改动；`tenon sessions` 列出会话";
    UndoneWithGone: "the files cannot be put back as they were before {to}: call {n} was undone together with earlier calls that are to be redone, and what it changed is not kept any more", "无法将文件恢复到{to}之前的状态：调用 {n} 曾与需要重做的更早调用一起撤销，而它的改动已不再保留";
    HintUndoOther: "another session has changes left: tenon undo --session {id}", "另一个会话还有可撤销的改动：tenon undo --session {id}";
    NotBackTo: "the files cannot be put back as they were before {to}", "无法将文件恢复到{to}之前的状态";
    HintBackTo: "`tenon restore {id} --to {step}` goes back as far as can be", "`tenon restore {id} --to {step}` 可恢复到最早还能恢复的状态";
    NothingToRedo: "there is nothing to redo", "没有可以重做的撤销";
    HintNothingToRedo: "an undo that went to make room (undo_bytes_max) cannot be taken back", "为腾出空间而清除的撤销（undo_bytes_max）无法重做";
    WorkspaceUnopened: "the workspace cannot be opened", "无法打开工作区";
    LinkOfSession: "{path} leads through the symbolic link {link}, which a command of a session may have made", "{path} 经过符号链接 {link}，它可能是某个会话的命令建立的";
    HintLinkOfSession: "name the folder that it leads to", "请写出它指向的文件夹";
    UndoFailed: "undo cannot do this", "无法这样撤销";
    HintUndoHeld: "try again once it is done; where it is a command or job of a session, end that", "等它完成后重试；若它是某个会话的命令或后台任务，请结束它";
    HintUndoRunning: "wait for its end, or end that session", "等它结束，或结束那个会话";
    HintNotRestored: "everything is as it was before; `tenon changes` lists the calls", "一切保持原样；`tenon changes` 列出各个调用";
    HintNotRestoredKeep: "--keep-mine leaves what was changed since as it is and puts the rest back", "--keep-mine 会保留此后的改动并恢复其余内容";
    FileIsLink: "{path} is a symbolic link to {target}", "{path} 是指向 {target} 的符号链接";
    HintFileIsLink: "name the file that it leads to, or another one", "请写出它指向的文件，或另一个文件";
    FileUnwritten: "{path} cannot be written", "无法写入 {path}";
}

impl Text {
    const fn row(english: &'static str, chinese: &'static str) -> Self {
        Self { english, chinese }
    }

    /// Returns the text as it stands in the table.
    pub(crate) fn template(self, language: Language) -> &'static str {
        match language {
            Language::English => self.english,
            Language::Chinese => self.chinese,
        }
    }

    /// Returns the text with each `{name}` replaced by its value, and each `{name:one|many}` by the word that
    /// goes with that.
    pub(crate) fn say(self, language: Language, values: &[(&str, &dyn Display)]) -> String {
        let mut said = String::new();
        let mut rest = self.template(language);
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, later)) = after.split_once('}') else { break };
            said.push_str(before);
            let (name, words) = name.split_once(':').unwrap_or((name, ""));
            if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
                let value = value.to_string();
                said.push_str(match words.split_once('|') {
                    None => &value,
                    Some((one, _)) if value == "1" => one,
                    Some((_, many)) => many,
                });
            }
            rest = later;
        }
        said.push_str(rest);
        said
    }

    /// The same with values of one kind.
    fn say_with<V: Display>(self, language: Language, values: &[(&str, V)]) -> String {
        let values: Vec<(&str, &dyn Display)> =
            values.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
        self.say(language, &values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders(template: &str) -> Vec<&str> {
        let mut names: Vec<&str> =
            template.split('{').skip(1).filter_map(|part| part.split('}').next()).collect();
        // Words that go with a number are English alone.
        names.retain(|name| !name.contains(':'));
        names.sort_unstable();
        names
    }

    #[test]
    fn a_word_goes_with_its_number() {
        let said = |text: Text, name, number: u32| text.say(Language::English, &[(name, &number)]);
        let lines = [0, 1, 2, 11].map(|number| said(Text::MoreLines, "n", number));
        assert_eq!(lines, ["… 0 more lines", "… 1 more line", "… 2 more lines", "… 11 more lines"]);
        assert_eq!(
            said(Text::LinesLeftOut, "n", 1),
            "1 line of the log is left out: damaged, or of another version of tenon"
        );
        for text in [changes::ROWS, commands::ROWS, doctor::ROWS, failures::ROWS, ROWS].concat() {
            let english = text.template(Language::English);
            let words =
                english.split('}').filter_map(|part| part.split_once('{')?.1.split_once(':'));
            assert!(words.clone().all(|(_, words)| words.contains('|')), "{english}");
            let values = placeholders(english);
            assert!(words.into_iter().all(|(name, _)| values.contains(&name)), "{english}");
        }
    }

    #[test]
    fn every_text_is_there_in_both_languages_with_the_same_values() {
        let files =
            [changes::ROWS, commands::ROWS, doctor::ROWS, failures::ROWS, library::ROWS, ROWS];
        for text in files.concat() {
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
