//! What the subcommands print.

use super::Text;

texts! {
    // permissions
    ByRule: "rule: {rule}", "规则：{rule}";
    WouldLeave: "outside the walls if it is allowed", "如果允许，将在沙箱之外运行";
    WouldReadOutside: "reads outside the workspace", "读取工作区之外的内容";
    WouldWriteOutside: "writes outside the workspace", "写入工作区之外";
    WouldWriteProtected: "writes what other programs take commands from", "写入其他程序会从中读取命令的文件";
    WallsHold: "inside the walls: nothing outside of the workspace changes for good, only allowed hosts are reached, and what it writes to protected files is put back unless a rule or you let it stay", "在沙箱内：工作区之外没有任何持久的更改，只能访问已允许的主机，写入受保护文件的内容会被还原，除非规则或您允许保留";
    WouldAllow: "{flag} would allow it", "{flag} 可以允许它";
    WouldAllowAlways: "so would {rule} in `{setting}` of {file}, which the answer \"always\" writes there", "在 {file} 的 `{setting}` 中写入 {rule} 也可以；回答“始终”就会写入";
    NoSuchTool: "there is no tool {name}", "没有工具 {name}";
    HintTools: "`tenon tools` lists them", "`tenon tools` 列出所有工具";
    // cost
    CostTime: "time", "时间";
    CostNew: "new", "新";
    CostCached: "cached", "缓存";
    CostWritten: "written", "写入";
    CostOut: "out", "输出";
    CostAll: "all", "合计";
    CostNoReply: "no reply", "没有回复";
    CostMissedAfter: "the provider's cache was missed: {tokens} {tokens:token|tokens}, after {s} s", "提供方的缓存未命中：{tokens} 个词元，间隔 {s} 秒";
    // models
    ListAbsent: "not here: `tenon models pull` fetches it", "尚未下载：用 `tenon models pull` 下载";
    ListPartial: "{n} of {all} MB: `tenon models pull` goes on", "已有 {n} MB，共 {all} MB：用 `tenon models pull` 接着下载";
    ListWhole: "verified, {path}", "已验证，{path}";
    ListKey: "key from {source}", "密钥来自 {source}";
    ListNoKey: "no key: not configured", "没有密钥：未配置";
    // sessions, show, export
    SessionGoing: "1 session, {bytes} kB", "1 个会话，{bytes} kB";
    SessionsGoing: "{n} sessions, {bytes} kB", "{n} 个会话，{bytes} kB";
    RemoveAsk: "Remove them for good? [y/N] ", "永久删除它们吗？[y/N] ";
    NotRemoved: "nothing is removed without --yes", "没有 --yes 不会删除任何内容";
    SessionChanged: "the session {id} was used since it was listed: it is kept", "会话 {id} 在列出之后又被使用：予以保留";
    SessionNotRemoved: "the session {id} is not removed", "未删除会话 {id}";
    FoundName: "name", "名称";
    FoundPrompt: "prompt", "提示";
    FoundAnswer: "answer", "回答";
    FoundThinking: "thinking", "思考";
    FoundCall: "call", "调用";
    FoundResult: "result", "结果";
    EventsNotShown: "{n} {n:event is|events are} not shown: damaged, or of another version of tenon", "有 {n} 个事件未显示：已损坏，或来自其他版本的 tenon";
    LeftOut: "left out", "已省略";
    // changes and undo
    FileOver: "replaces: {old}", "取代：{old}";
    OldToNew: "{old} → {new}", "{old} → {new}";
    ModeToNew: "mode {old} → {new}", "权限 {old} → {new}";
    OwnerToNew: "owner {old} → {new}", "所有者 {old} → {new}";
    EntryFile: "file", "文件";
    EntryFolder: "folder", "文件夹";
    EntryLink: "link", "链接";
    EntryOther: "other", "其他";
    OnlyTimes: "only times", "仅时间";
    WhyCache: "a cache", "缓存";
    WhyTooLarge: "too large", "太大";
    WhyOutside: "outside the workspace", "在工作区之外";
    WhyTooMany: "too many files", "文件太多";
    WhyNotCopied: "no copy of it", "没有副本";
    WhyTooLong: "paths beneath it are too long", "其中的路径过长";
    OnlyOneToUndo: "Only 1 call can be undone.", "只有 1 个调用可以撤销。";
    OnlySoManyToUndo: "Only {n} calls can be undone.", "只有 {n} 个调用可以撤销。";
    GoneStep: "what step {steps} changed is not kept any more, to make room (undo_bytes_max)", "为腾出空间（undo_bytes_max），第 {steps} 步的改动已不再保留";
    GoneSteps: "what steps {steps} changed is not kept any more, to make room (undo_bytes_max)", "为腾出空间（undo_bytes_max），第 {steps} 步的改动已不再保留";
    GoneUndone: "an undo of it stands: `tenon redo` takes it back", "对其的撤销仍然有效：`tenon redo` 可以重做";
    Unopened: "what was changed in a folder that cannot be opened is not undone, nor shown line by line", "无法打开的文件夹中的改动不会被撤销，也不会逐行显示";
    // replay
    NotRun: "not run, because it left the walls or was cut short, and answered as recorded: {calls}", "以下调用离开了沙箱或被中断，因此没有运行，按记录作答：{calls}";
    EndsBehind: "the replay ends behind step {step}: {reason}", "重放在第 {step} 步之后结束：{reason}";
    Replayed: "replayed {steps} and {calls}: nothing differs from the recording", "已重放 {steps}、{calls}：与记录没有差异";
    Calls: "{n} {n:call|calls}", "{n} 个调用";
    DiffersAt: "step {step}: {what}", "第 {step} 步：{what}";
    DiffersSystem: "the request has another system prompt", "请求的系统提示不同";
    DiffersTools: "the request has other tools", "请求的工具不同";
    DiffersMessages: "the request has other messages", "请求的消息不同";
    DiffersReplyLimit: "the request asks for a reply of another length", "请求所允许的回复长度不同";
    DiffersBody: "the request is sent in other bytes", "请求发送的字节不同";
    DiffersRequest: "the turn goes on otherwise", "这一轮以不同的方式继续";
    DiffersResult: "the result of `{call}` is another", "`{call}` 的结果不同";
    DiffersFiles: "files are others", "文件不同";
    DiffersFilesOf: "`{call}` changed files otherwise", "`{call}` 对文件的改动不同";
    DiffLegend: "- recorded, + replayed", "- 记录，+ 重放";
}
