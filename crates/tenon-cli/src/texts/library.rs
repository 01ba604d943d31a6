//! What the libraries of tenon say, which have English alone, for whoever uses them: errors, the
//! reasons of decisions, what became of files. A sentence is found here by its English, with its
//! values, which may be sentences themselves; one that has no row is said as it is.
//! Rows that are found by their end come first: what stands before it is looked up again.

use std::borrow::Cow;

use super::{Language, Text};

texts! {
    "{reason} (after {n} attempts)", "{reason}（共尝试 {n} 次）";
    // Decisions of the policy.
    "{reason}; no rule can allow it: only lines of plain commands, each of which a rule names, leave the walls without a question", "{reason}；没有规则能允许它：只有由简单命令组成、且每个命令都有规则指明的命令行，才能不经询问离开沙箱";
    "{reason}; no narrower rule can allow it: {why}", "{reason}；没有更窄的规则能允许它：{why}";
    "it sets {name}, which may choose what runs", "它设置了 {name}，而这可能决定运行什么";
    "it sets a variable that may choose what runs", "它设置的变量可能决定运行什么";
    "it writes outside of the workspace, or where is only known when it runs", "它写入工作区之外，或者要到运行时才能知道写到哪里";
    "{reason}; no rule can say its name", "{reason}；没有规则能写出它的名称";
    "{reason}; no rule can allow that", "{reason}；任何规则都不能允许";
    "{reason}; the model named it `{path}`", "{reason}；模型写的是 `{path}`";
    "{reason}, and writing it can make other programs run code later", "{reason}，而且写入它可能使其他程序以后运行代码";
    "`{path}` lies outside the workspace", "`{path}` 在工作区之外";
    "nobody is asked about that place: {reason}", "此处不会询问任何人：{reason}";
    "its name does not show as it is", "它的名称无法如实显示";
    "it is the kernel's", "它属于内核";
    "tenon's own settings and sessions lie there", "tenon 自己的设置和会话在那里";
    "the workspace lies in it; name a folder beside the workspace", "工作区就在其中；请指明工作区旁边的文件夹";
    "it is no regular file", "它不是普通文件";
    "it is a folder", "它是文件夹";
    "its name is not UTF-8", "它的名称不是 UTF-8";
    "nothing is changed in read-only mode", "read-only 模式下不做任何改动";
    "only commands that surely read are run in read-only mode", "read-only 模式下只运行确定只读取的命令";
    "`{path}` is protected, and no rule opens it to commands: they cannot write it, or what they write is put back", "`{path}` 受保护，没有规则向命令开放它：命令无法写入，或写入的内容会被还原";
    "`{path}` is protected: the command cannot write it, or what it writes is put back and you are asked whether it stays", "`{path}` 受保护：命令无法写入，或写入的内容会被还原并询问您是否保留";
    "`{path}` is protected: what the command writes there is put back, and you are asked whether it stays", "`{path}` 受保护：命令写入的内容会被还原，并询问您是否保留";
    "writing `{path}` can make other programs run code later", "写入 `{path}` 可能使其他程序以后运行代码";
    "every change is asked about in ask mode", "ask 模式下每个改动都会询问";
    "every command is asked about in ask mode: {command}", "ask 模式下每个命令都会询问：{command}";
    "every write is asked about in ask mode: {path}", "ask 模式下每次写入都会询问：{path}";
    "nothing in it needs a question", "其中没有需要询问的内容";
    "the rule {rule} allows it", "规则 {rule} 允许它";
    "the rule {rule} asks about it", "规则 {rule} 要求询问";
    "the rule {rule} may forbid it: not all of its words are known", "规则 {rule} 可能禁止它：其中有些词要到运行时才能知道";
    "the rule {rule} may ask about it: not all of its words are known", "规则 {rule} 可能要求询问：其中有些词要到运行时才能知道";
    "--deny {rule} forbids it", "--deny {rule} 禁止它";
    "the rule {rule} forbids it", "规则 {rule} 禁止它";
    "all of the line would run outside the walls, not only what a rule names", "整行都会在沙箱之外运行，而不只是规则所指的部分";
    "a command tried to reach it, and no rule allows it", "一个命令试图访问它，而没有规则允许";
    "a command tried to reach {host}, and no rule allows it", "一个命令试图访问 {host}，而没有规则允许";
    "{name} leads to it, which is no address of the internet", "{name} 指向它，而它不是互联网地址";
    "it did not end within {n} s", "它没有在 {n} 秒内结束";
    "{name} runs the command with the rights of another user", "{name} 会以其他用户的权限运行命令";
    "what `{name}` runs is only known when it runs", "`{name}` 运行什么，要到运行时才能知道";
    "which program `{name}` is, is only known when it runs", "`{name}` 是哪个程序，要到运行时才能知道";
    "it would write to the device `{path}`", "它会写入设备 `{path}`";
    "{name} would run what comes from the network, unseen", "{name} 会直接运行来自网络、未经查看的内容";
    "{name} would run what is decoded on the way, unseen", "{name} 会直接运行途中解码、未经查看的内容";
    "{name} would stop the machine", "{name} 会使机器停机";
    "{name} would erase what is on the disk", "{name} 会清除磁盘上的内容";
    "the function {name} starts itself without end", "函数 {name} 会无止境地启动自己";
    "it would remove `{path}`, which the machine or the account lives on", "它会删除 `{path}`，系统或账户离不开它";
    "it would remove `{path}`, which lies outside the workspace", "它会删除 `{path}`，而它在工作区之外";
    "`{path}` is the whole workspace", "`{path}` 是整个工作区";
    "`{path}` is what every program keeps there", "`{path}` 是所有程序存放在那里的内容";
    "what `{path}` is, is only known when it runs, and it would be removed", "`{path}` 是什么，要到运行时才能知道，而它会被删除";
    "it would change the rights of everything in `{path}`", "它会改变 `{path}` 中所有内容的权限";
    "it would overwrite or remove history on the server: {command}", "它会覆盖或删除服务器上的历史：{command}";
    "it would throw away uncommitted changes: {command}", "它会丢弃尚未提交的改动：{command}";
    "it would remove files that git does not know: {command}", "它会删除 git 未跟踪的文件：{command}";
    "it would throw away changes or move a branch: {command}", "它会丢弃改动或移动分支：{command}";
    "it would remove or move a branch with commits that may be nowhere else: {command}", "它会删除或移动分支，其中的提交可能别处没有：{command}";
    "it would rewrite the whole history: {command}", "它会改写全部历史：{command}";
    "it would remove the way back to lost commits: {command}", "它会使丢失的提交无法找回：{command}";
    "it would throw away stashed changes: {command}", "它会丢弃已储藏的改动：{command}";
    "interactive commands are not supported: `{command}`. Instead: {hint}", "不支持交互式命令：`{command}`。可以改用：{hint}";
    "command is required", "没有给出命令";
    "use write_file or edit_file", "write_file 或 edit_file";
    "use read_file, cat or head", "read_file、cat 或 head";
    "take one sample: ps, top -b -n 1, or the command with a time limit (timeout 10 …)", "只取一次样：ps、top -b -n 1，或带时限的命令（timeout 10 …）";
    "give it a time limit (timeout 10 …) or read the end once (tail -n 50)", "加上时限（timeout 10 …），或只读一次末尾（tail -n 50）";
    "give it a program: -c 'code', a file, or standard input", "给它程序：-c 'code'、文件或标准输入";
    "use the options that answer its questions beforehand", "用选项预先回答它的提问";
    "give ssh a command to run: ssh HOST 'command'", "给 ssh 一个要运行的命令：ssh HOST 'command'";
    "run the debugger in batch mode with its commands as options", "用批处理模式运行调试器，命令写成选项";
    "use fzf --filter, or grep", "fzf --filter 或 grep";
    "write the table to a file and load it: crontab FILE", "把表写入文件再载入：crontab FILE";
    "start it as an ordinary command", "作为普通命令启动";
    "leave out -it; there is no terminal", "去掉 -it；这里没有终端";
    "name the files, or apply a patch: git apply --cached", "指明文件，或应用补丁：git apply --cached";
    "set GIT_SEQUENCE_EDITOR to a command that edits the list, such as sed", "把 GIT_SEQUENCE_EDITOR 设为编辑该列表的命令，例如 sed";
    "give the message: git tag -a NAME -m 'message'", "给出说明：git tag -a NAME -m 'message'";
    "edit the conflicting files", "编辑有冲突的文件";
    "use git diff", "git diff";
    "give the message: git commit -m 'message'", "给出说明：git commit -m 'message'";
    "what it would run is not sure: {doubt}", "无法确定它会运行什么：{doubt}";
    "it has too many braces", "花括号太多";
    "the values in it are too long", "其中的值太长";
    "it is too long or has too many scripts within scripts", "它太长，或脚本嵌套太多";
    "it has a NUL character, where bash stops reading", "其中有 NUL 字符，bash 读到那里为止";
    "it is nested too deeply or has too many commands", "嵌套太深，或命令太多";
    "it is nested too deeply", "嵌套太深";
    "it has too many commands", "命令太多";
    "it has too many words", "词太多";
    "it is too tangled", "结构过于复杂";
    "an option of the shell changes how it reads", "shell 的一个选项改变了它的读法";
    "a text in it is expanded twice, and what that runs is not sure", "其中有文字会被展开两次，无法确定会运行什么";
    "a name in it stands for another that is not known", "其中有名称代表另一个未知的名称";
    "an alias in it may stand for another command", "其中的别名可能代表另一个命令";
    "it gives the name of a program another meaning", "它使一个程序的名称另有所指";
    "it says where programs are found", "它指定了程序的查找位置";
    "it has too many traps", "trap 太多";
    "an escape in it is not known", "其中有未知的转义";
    "it expands a value as a prompt", "它把一个值按提示符展开";
    "it has an expansion that bash does not know", "其中有 bash 不认识的展开";
    "an expansion in it is not closed", "其中有未闭合的展开";
    "a quote in it is not closed", "其中有未闭合的引号";
    "a quote in it may be text", "其中的引号可能只是文字";
    "`((` in it may be arithmetic or commands", "其中的 `((` 可能是算术，也可能是命令";
    "where arithmetic in it ends is not sure", "无法确定其中的算术在哪里结束";
    "it has a quote within arithmetic", "算术中有引号";
    "a here document in it has no end that is known", "其中的 here 文档没有已知的结尾";
    "the name of a function in it is not known", "其中一个函数的名称未知";
    "the variable of a loop in it is not known", "其中一个循环的变量未知";
    "a counting loop in it has not three parts", "其中的计数循环不是三个部分";
    "it has a command within a pattern", "匹配式中有命令";
    "bash may not accept a part of it", "bash 可能不接受其中的一部分";
    "bash may not accept a test in it", "bash 可能不接受其中的一个测试";
    // What a session notes.
    "[jobs] These ended with the run that began them; what they had changed by then: {calls}. Read again what you rely on.", "[jobs] 已告诉模型：以下后台任务随启动它们的那次运行一起结束，到那时的改动：{calls}。";
    "[undo] What these calls changed was undone, and is there again, but for what stayed as it was ({kept}): {calls}. Read again what you rely on.", "[undo] 已告诉模型：以下调用的改动曾被撤销，现已恢复（保持不变的：{kept}）：{calls}。";
    "[undo] What these calls changed was undone, and is there again: {calls}. Read again what you rely on.", "[undo] 已告诉模型：以下调用的改动曾被撤销，现已恢复：{calls}。";
    "[undo] The user went back in the conversation, and what these calls changed since is there still: {calls}. Read again what you rely on.", "[undo] 已告诉模型：对话已回退，但以下调用此后的改动仍在：{calls}。";
    "[undo] The user undid what these calls changed, newest first: {calls}. The files are as before them, but for what stayed as it was: {kept}; read again what you rely on.", "[undo] 已告诉模型：以下调用的改动已撤销（从最新的开始）：{calls}。保持不变的：{kept}。";
    "[undo] The user undid what these calls changed, newest first: {calls}. The files are as before them; read again what you rely on.", "[undo] 已告诉模型：以下调用的改动已撤销（从最新的开始）：{calls}。";
    "[undo] What the user had made or changed moved along with its folder, and is now: {paths}. Read again what you rely on.", "[undo] 已告诉模型：用户新建或改动过的内容随文件夹一起移动，现位于：{paths}。";
    "[undo] These caches were left out, and may be newer than the files that were put back with their old times: {paths}. A build or test that compares times takes what is in them for fresh: touch those files before you run one.", "[undo] 已告诉模型：以下缓存未撤销，可能比恢复了旧时间的文件更新：{paths}。比较时间的构建或测试会把其中的内容当作最新的。";
    "The same calls gave the same results several times in a row. Try something else, or say what is in the way.", "已提醒模型：相同的调用接连几次得到相同的结果。";
    "there is nothing to make shorter yet", "目前没有可以缩短的内容";
    "the conversation could not be made shorter: {error}", "无法缩短对话：{error}";
    "Summing up the conversation …", "正在归纳对话 …";
    "Loading the built-in model", "正在加载内置模型";
    "allowed always: {rule}", "始终允许：{rule}";
    "allowed for this session: {rule}", "本会话允许：{rule}";
    "the last turn was cut short; the model is told of 1 call of it", "上一轮被中断；已把其中的 1 个调用告诉模型";
    "the last turn was cut short; the model is told of {n} calls of it", "上一轮被中断；已把其中的 {n} 个调用告诉模型";
    "the last turn was cut short", "上一轮被中断";
    "the model ended its turn without a word", "模型没有说任何话就结束了本轮";
    "1 line of the log is left out: damaged, or of another version of tenon", "省略了日志的 1 行：已损坏，或来自其他版本的 tenon";
    "{n} lines of the log are left out: damaged, or of another version of tenon", "省略了日志的 {n} 行：已损坏，或来自其他版本的 tenon";
    "{path}: {n} of {all} bytes are left out (the limit for instructions is {bytes_max} bytes)", "{path}：共 {all} 字节，省略了 {n} 字节（说明的上限是 {bytes_max} 字节）";
    "instructions: {path}", "说明：{path}";
    "image: {image}", "图片：{image}";
    // Values of flags, rules and hosts.
    "{n} is not in 1..{last}", "{n} 不在 1..{last} 之内";
    "a number above 0, such as 0.50", "大于 0 的数，例如 0.50";
    "a time above 0, such as 90, 90s, 10m or 2h", "大于 0 的时间，例如 90、90s、10m 或 2h";
    "a time such as 30d, 12h or 8w", "时间，例如 30d、12h 或 8w";
    "a size such as 500MB or 2GB", "大小，例如 500MB 或 2GB";
    "a rule begins with the name of a tool, such as bash(git push:*), not `{rule}`", "规则以工具名开头，例如 bash(git push:*)，而不是 `{rule}`";
    "the pattern of the rule `{rule}` does not end with )", "规则 `{rule}` 的匹配式没有以 ) 结尾";
    "a quote in the rule `{rule}` is not closed", "规则 `{rule}` 中有未闭合的引号";
    "{why}; write {rule}", "{why}；请写成 {rule}";
    "a rule is one, and others are given on their own", "一条规则只写一个，其他的分开给出";
    "a rule for it speaks of every call", "针对它的规则涉及每次调用";
    "a rule takes nothing back from another one", "一条规则不能收回另一条";
    "a rule names a path and no address", "规则写路径，不写地址";
    "a rule knows no variables", "规则中没有变量";
    "a rule knows no variables, and a path that begins with the sign has ./ in front", "规则中没有变量，以此符号开头的路径前面加 ./";
    "a rule knows no variables, and the sign itself stands in quotes", "规则中没有变量，符号本身要放在引号中";
    "`~` is one's own home, and a name that begins with it has ./ in front", "`~` 是自己的主目录，以它开头的名称前面加 ./";
    "its braces stand for too many paths", "其中的花括号代表的路径太多";
    "a rule has one path, or several in braces", "一条规则有一个路径，或在花括号中写几个";
    "`**` stands for whole folders, between slashes", "`**` 代表整个文件夹，写在斜杠之间";
    "brackets stand for themselves in a permission, and one of several signs is said by braces", "在允许规则中方括号代表它自己，多选一用花括号";
    "a rule speaks of one command by its words, and a sign of the shell that is one of them stands in quotes", "一条规则用词写出一个命令，其中属于词的 shell 符号要放在引号中";
    "quotes make one word of what is in them", "引号使其中的内容成为一个词";
    "variables in front are no words of a command", "前面的变量不是命令的词";
    "`:*` stands at the end, and blanks stand between words", "`:*` 写在末尾，词之间写空格";
    "a part of the host's name is empty", "主机名中有一部分是空的";
    "a host's name has only a-z, 0-9 and -; other letters are written as xn--…", "主机名只含 a-z、0-9 和 -；其他文字写成 xn--… 的形式";
    "a host's name has only a-z, 0-9 and -, with dots between its parts", "主机名只含 a-z、0-9 和 -，各部分以点分隔";
    "no part of a host's name begins or ends with -", "主机名的任何部分都不以 - 开头或结尾";
    "the host's name is too long", "主机名太长";
    "an address is written as four decimal numbers, like 192.0.2.7", "地址写成四个十进制数，例如 192.0.2.7";
    "an IPv6 address is written in brackets and without a zone, like [2001:db8::7]", "IPv6 地址写在方括号中，不带区域，例如 [2001:db8::7]";
    "a port is a number from 1 to 65535", "端口是 1 到 65535 之间的数";
    "a wildcard is *. and at least two parts behind it, like *.example.com", "通配符是 *. 加上至少两个部分，例如 *.example.com";
    "only http:// proxies can be used for commands", "命令只能使用 http:// 代理";
    "the proxy's user name or password is not written as an address has it", "代理的用户名或密码没有按地址的写法书写";
    "Cargo's configuration names no registry, and it has read no index yet", "Cargo 的配置没有写明仓库，它也还没有读取过索引";
    "npm names no registry", "npm 没有写明仓库";
    "pip names no index", "pip 没有写明索引";
    "Go names no module proxy", "Go 没有写明模块代理";
    "pip's index may lead to files on another host, which it alone names", "pip 的索引可能指向另一台主机上的文件，只有它自己知道是哪台";
    "Cargo's index may lead to files on another host, which it alone names", "Cargo 的索引可能指向另一台主机上的文件，只有它自己知道是哪台";
    "modules that Go fetches directly are on hosts of their own", "Go 直接获取的模块在各自的主机上";
    // Files, the log, undo.
    "Path escapes workspace: {path}", "路径在工作区之外：{path}";
    "No such file or directory: {path}", "没有这个文件或文件夹：{path}";
    "Is a directory: {path}", "这是文件夹：{path}";
    "Not a directory: {path}", "这不是文件夹：{path}";
    "Permission denied: {path}", "没有权限：{path}";
    "Not a regular file: {path} is a {kind}", "不是普通文件：{path}（{kind}）";
    "File too large: {path} has {bytes} bytes, the limit is {bytes_max}", "文件太大：{path} 有 {bytes} 字节，上限是 {bytes_max}";
    "File changed on disk: {path}", "文件在磁盘上已有改动：{path}";
    "Protected file: {path} can make other programs run commands", "受保护的文件：{path} 可能使其他程序运行命令";
    "Symbolic link leads to nothing: {path}", "符号链接没有指向任何内容：{path}";
    "Read-only: {path}", "只读：{path}";
    "Invalid path: {path} has too many symbolic links", "路径无效：{path} 的符号链接太多";
    "Invalid path: {path} leads through a link in another folder of the session, or that one through a link in it; name what the link leads to", "路径无效：{path} 经过会话另一文件夹中的链接，或那个文件夹经过其中的链接；请写出链接指向的位置";
    "Invalid path: {path} is too long", "路径无效：{path} 太长";
    "it is not UTF-8 text", "它不是 UTF-8 文本";
    "it is not a regular file", "它不是普通文件";
    "it is longer than {n} bytes", "它超过 {n} 字节";
    "the session log {path} cannot be written", "无法写入会话日志 {path}";
    "the session log {path} cannot be used", "无法使用会话日志 {path}";
    "another process is at work on this session", "另一个进程正在使用此会话";
    "not a session id", "不是会话编号";
    "a name is one line of at most {n} characters", "名称只有一行，最多 {n} 个字符";
    "a newer version of tenon wrote it (format {version}, this knows {known})", "它由更新版本的 tenon 写成（格式 {version}，此版本只认识 {known}）";
    "nothing can be kept for undo of {path}: {error}", "无法为 {path} 保存撤销内容：{error}";
    "there is no checkpoint {id}", "没有检查点 {id}";
    "checkpoint {id} belongs to a call that is still running", "检查点 {id} 属于仍在运行的调用";
    "checkpoint {id} was undone already", "检查点 {id} 已被撤销";
    "{path} has {n} bytes", "{path} 有 {n} 字节";
    "{path} could not be put back: the call only added to it, what was before that is not kept, and somebody wrote to it since", "无法恢复 {path}：该调用只在其末尾追加了内容，此前的内容没有保存，而此后有人写过它";
    "{path} could not be put back: {error}", "无法恢复 {path}：{error}";
    "checkpoint {id} cannot be read", "无法读取检查点 {id}";
    // What commands did to protected names.
    "{change}; put back as it was", "{change}；已恢复原状";
    "{change}; it could NOT be put back", "{change}；无法恢复原状";
    "protected: the command made more in {path} than could be looked through; what it made there can run programs", "受保护：命令在 {path} 中创建的内容多得无法全部检查；其中的内容可能会运行程序";
    "protected: {path} was made", "受保护：创建了 {path}";
    "protected: {path} was changed", "受保护：改动了 {path}";
    "protected: {path} was removed", "受保护：删除了 {path}";
    "protected: {path} got settings that run a program or read another file ({names})", "受保护：{path} 中加入了会运行程序或读取其他文件的设置（{names}）";
    // What broke the provider's cache.
    "the conversation was made shorter", "对话已缩短";
    "the system prompt changed", "系统提示有变化";
    "the tools changed", "工具有变化";
    "the conversation was rewound", "对话已回退";
    "a compaction was undone", "撤销了一次压缩";
    "earlier messages changed", "之前的消息有变化";
    "the conversation was sent otherwise", "对话的发送方式有变化";
    "the model changed from {before} to {now}", "模型由 {before} 换为 {now}";
    // Which walls stand, and why others cannot be had.
    "tier A (own namespaces, Landlock, seccomp)", "tier A（独立的命名空间、Landlock、seccomp）";
    "tier B (namespaces by bubblewrap, Landlock, seccomp)", "tier B（由 bubblewrap 创建的命名空间、Landlock、seccomp）";
    "tier C (Landlock, seccomp)", "tier C（Landlock、seccomp）";
    "tier D (no walls)", "tier D（没有沙箱）";
    "{tier} cannot be had: {why}", "无法使用 {tier}：{why}";
    "no more user namespaces are allowed", "不允许再创建用户命名空间";
    "AppArmor takes the rights in user namespaces away", "AppArmor 收回了用户命名空间中的权限";
    "user namespaces are switched off for ordinary users", "普通用户的用户命名空间已被关闭";
    "the file of this program may be executed and not read", "此程序的文件只能执行，不能读取";
    "this kernel or container refuses namespaces", "此内核或容器拒绝创建命名空间";
    "the walls of another tenon refuse namespaces", "外层 tenon 的沙箱拒绝创建命名空间";
    "the walls of another tenon let nobody list what may be read", "外层 tenon 的沙箱不允许列出可读取的内容";
    "no new /proc may be mounted in this container", "此容器中不能挂载新的 /proc";
    "Linux {release} cannot make a tree of mounts read-only", "Linux {release} 无法把整棵挂载树设为只读";
    "Landlock is not there or switched off", "没有 Landlock，或已被关闭";
    "Landlock has version {n} and must have 3", "Landlock 的版本是 {n}，至少需要 3";
    "system calls cannot be filtered", "无法过滤系统调用";
    "the workspace is the whole file system", "工作区是整个文件系统";
    "single hosts cannot be let through", "无法只放行个别主机";
    "{path} can be changed by others than root", "root 以外的用户可以更改 {path}";
    "bubblewrap ended: {said}", "bubblewrap 已结束：{said}";
    "{path} is not there", "{path} 不存在";
    "{path} is not there, or behind a link", "{path} 不存在，或在链接之后";
    "commands could write tenon's own state, {path}", "命令可能改写 tenon 自己的状态文件夹 {path}";
    "tenon's state folder cannot be written: {error}", "无法写入 tenon 的状态文件夹：{error}";
    "its helper process ended or did not answer", "其辅助进程已结束或没有响应";
    "no further process can be started", "无法再启动新的进程";
    "end programs that run beside it, or raise the limit of processes (`ulimit -u`, a container's own)", "结束同时运行的其他程序，或提高进程数上限（`ulimit -u`，或容器自身的上限）";
    "install the package bubblewrap", "安装软件包 bubblewrap";
    "install the package bubblewrap anew, so that /usr/bin/bwrap belongs to root and nobody else can write it", "重新安装软件包 bubblewrap，使 /usr/bin/bwrap 属于 root，且其他用户不能写入";
    "let variables such as KUBECONFIG name fewer files: bubblewrap takes 9,000 arguments, some for each file that it hides", "让 KUBECONFIG 等变量指定更少的文件：bubblewrap 最多接受 9,000 个参数，每个要隐藏的文件都占用其中几个";
    "install bubblewrap 0.8.0 or newer with `--bind-fd`", "安装支持 `--bind-fd` 的 bubblewrap 0.8.0 或更新的版本";
    "see that `bwrap --unshare-all --ro-bind / / true` works: on Ubuntu, load the AppArmor profile bwrap-userns-restrict of the package apparmor-profiles", "确认 `bwrap --unshare-all --ro-bind / / true` 能够运行：在 Ubuntu 上，请加载软件包 apparmor-profiles 中的 AppArmor 配置 bwrap-userns-restrict";
    "set `sysctl user.max_user_namespaces=15000` as root, and in /etc/sysctl.d to keep it", "以 root 设置 `sysctl user.max_user_namespaces=15000`，并写入 /etc/sysctl.d 以长期生效";
    "install the package bubblewrap for tier B, give tenon an AppArmor profile with `userns,`, or set `sysctl kernel.apparmor_restrict_unprivileged_userns=0` as root", "安装软件包 bubblewrap 以使用 tier B，或给 tenon 一份含 `userns,` 的 AppArmor 配置，或以 root 设置 `sysctl kernel.apparmor_restrict_unprivileged_userns=0`";
    "let everybody read the file of the program that runs: `chmod a+r` for tenon", "让所有人都能读取正在运行的程序文件：对 tenon 执行 `chmod a+r`";
    "set `sysctl kernel.unprivileged_userns_clone=1` as root", "以 root 设置 `sysctl kernel.unprivileged_userns_clone=1`";
    "in a container, allow user namespaces and mounts (docker: `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or podman)", "在容器中，请允许用户命名空间和挂载（docker：`--security-opt seccomp=unconfined --security-opt apparmor=unconfined`，或使用 podman）";
    "use tier C within them; whatever the inner tenon starts, the outer walls hold too", "在其中使用 tier C；内层 tenon 启动的一切同样受外层沙箱限制";
    "give the outer tenon tier A or B, or the inner one `--sandbox off`: whatever it starts, the outer walls hold too", "让外层 tenon 使用 tier A 或 B，或给内层加上 `--sandbox off`：它启动的一切同样受外层沙箱限制";
    "start the container so that /proc is whole (docker: `--security-opt systempaths=unconfined`)", "启动容器时保持 /proc 完整（docker：`--security-opt systempaths=unconfined`）";
    "use Linux 5.12 or newer", "使用 Linux 5.12 或更新的版本";
    "use Linux 6.2 or newer with `landlock` in the kernel's `lsm=` list", "使用 Linux 6.2 或更新的版本，并在内核的 `lsm=` 列表中加入 `landlock`";
    "use a kernel with CONFIG_SECCOMP_FILTER", "使用带 CONFIG_SECCOMP_FILTER 的内核";
    "start in a folder below /", "在 / 之下的某个文件夹中启动";
    "put the folder back where it was", "把该文件夹放回原处";
    "let XDG_STATE_HOME name a folder outside of the workspace, without links that lie in it", "让 XDG_STATE_HOME 指向工作区之外的文件夹，且路径中没有位于工作区内的链接";
    "make room there, and see that the folder `own` in it belongs to you and that nobody else can write it; or let XDG_STATE_HOME name a folder that you can write", "请在那里腾出空间，并确认其中的文件夹 `own` 属于你，且其他用户不能写入；或让 XDG_STATE_HOME 指向一个你可以写入的文件夹";
    "use tier A or B, or open the whole network for the session", "使用 tier A 或 B，或为本会话开放整个网络";
    "{step} failed: {error}", "{step}失败：{error}";
    "the command asks for walls", "此命令要求沙箱";
    "making namespaces", "创建命名空间";
    "mapping the user's id", "映射用户编号";
    "laying out the file tree", "布置文件树";
    "mounting /proc", "挂载 proc 文件系统";
    "switching the loopback interface on", "启用 loopback 接口";
    "protecting names in the workspace", "保护工作区中的名称";
    "taking the workspace owner's id", "换用工作区所有者的身份";
    "giving up capabilities", "放弃特权";
    "enforcing Landlock", "启用 Landlock 规则";
    "installing the filter for system calls", "安装系统调用过滤器";
    // Requests to a model.
    "{host} answered {status}: {words}", "{host} 返回 {status}：{words}";
    "(no reason given)", "（未说明原因）";
    "{host} reported an error: {words}", "{host} 报告错误：{words}";
    "{host} ended the stream in the middle of the reply", "{host} 在回复中途结束了数据流";
    "{host} sent a broken event in the middle of the reply", "{host} 在回复中途发来了损坏的事件";
    "{host} ended the stream without a reply", "{host} 没有回复就结束了数据流";
    "{host} sent a reply larger than 32 MiB", "{host} 的回复超过 32 MiB";
    "{host} sent a reply larger than 64 MiB", "{host} 的回复超过 64 MiB";
    "{host} sent an event larger than 8 MiB", "{host} 发来的一个事件超过 8 MiB";
    "{host} sent a web page instead of a reply", "{host} 返回的是网页，而不是回复";
    "{host} sent a document that is no reply", "{host} 返回的文档不是回复";
    "{host} sent nothing for {s} s (the {name} limit)", "{host} 在 {s} 秒内没有发送任何内容（{name} 时限）";
    "{host} redirects to {address}", "{host} 转向 {address}";
    "{host} is not trusted: {words}", "{host} 不受信任：{words}";
    "Cannot connect to {host} (through the proxy): {words}", "无法连接 {host}（通过代理）：{words}";
    "Cannot connect to {host}: {words}", "无法连接 {host}：{words}";
    "no answer within {s} s", "{s} 秒内没有应答";
    "The connection to {host} ended before the reply was whole: {words}", "与 {host} 的连接在回复完整之前中断：{words}";
    "The key holds characters that no key has", "密钥中有密钥不会有的字符";
    "The base URL {url} is not a URL: {error}", "基础地址 {url} 不是 URL：{error}";
    "The base URL {url} has the scheme {scheme}", "基础地址 {url} 的协议是 {scheme}";
    "A certificate authority's file cannot be read: {words}", "无法读取证书颁发机构的文件：{words}";
    "A certificate authority's file holds no PEM certificate", "证书颁发机构的文件中没有 PEM 证书";
    "The proxy's address is not a URL", "代理的地址不是 URL";
    "The script cannot be read: {error}", "无法读取脚本：{error}";
    "docs/providers.md describes the format", "docs/providers.md 说明了格式";
    "set the base URL to the new address; a key is not sent along", "把基础地址改为新地址；密钥不会一同发送";
    "check that the base URL points to the API and not to a web page", "确认基础地址指向 API，而不是网页";
    "no model says so much at once: see the server's own log, and check the base URL", "没有模型会一次说这么多：请看服务器自己的日志，并检查基础地址";
    "some servers do so when the conversation is longer than their context: see the server's own log", "对话超过上下文时，有些服务器会这样：请看服务器自己的日志";
    "check the key in {variable}", "检查 {variable} 中的密钥";
    "the key may not use this model or this address", "此密钥不能使用该模型或该地址";
    "check the model's name and the base URL", "检查模型名称和基础地址";
    "start a new session or shorten this one", "开始新会话，或缩短此会话";
    "add credit, or choose another provider", "充值，或选择其他提供方";
    "wait a while, or choose another model", "稍等一会儿，或选择其他模型";
    "try again later, or choose another model", "稍后再试，或选择其他模型";
    "a base URL looks like https://host/v1 or http://localhost:11434", "基础地址形如 https://host/v1 或 http://localhost:11434";
    "if a company's proxy inspects TLS, add its certificate authority to the configuration", "如果公司的代理检查 TLS，请把它的证书颁发机构加入配置";
    "check that the server runs and that the base URL and the proxy are right", "确认服务器正在运行，基础地址和代理正确";
    "raise the {name} limit in the configuration if the server needs longer", "如果服务器需要更长时间，请在配置中提高 {name} 时限";
    // The built-in model and its file.
    "the built-in model stopped unexpectedly", "内置模型意外停止";
    "cannot read the model file {path}: {error}", "无法读取模型文件 {path}：{error}";
    "the model file is not a GGUF file", "模型文件不是 GGUF 文件";
    "the model file is cut short or damaged: it ends before what its header promises", "模型文件不完整或已损坏：没有到文件头所说的长度就结束了";
    "the model file is damaged: {words}", "模型文件已损坏：{words}";
    "the model file has the architecture `{name}`; the built-in engine runs `qwen2` only", "模型文件的架构是 `{name}`；内置引擎只能运行 `qwen2`";
    "{n} tokens do not fit the context of {tokens_max}", "{n} 个词元超出 {tokens_max} 的上下文";
    "it ends too early", "文件过早结束";
    "it answers with status {status}", "返回状态 {status}";
    "it has another file under this name", "此名称下是另一个文件";
    "part {n} does not have the digest it must have; it was thrown away", "第 {n} 部分的摘要不符，已丢弃";
    "the file does not have the digest it must have; it was thrown away", "文件的摘要不符，已丢弃";
    "more came than the file has", "收到的内容比文件应有的多";
    "the file is not whole", "文件不完整";
    "part {n} is too short", "第 {n} 部分太短";
    "pip says: {words}", "pip 的报告：{words}";
    "python3 is not installed", "没有安装 python3";
    "python3 cannot be started: {error}", "无法启动 python3：{error}";
    // Files that a bundle or a replay cannot have.
    "how {path} was before is not kept any more", "{path} 以前的内容已不再保存";
    "{path} and what follows", "{path} 及其后的内容";
    "{path} (its name or its extended attributes are too long)", "{path}（名称或扩展属性太长）";
    "{path} as setuid or setgid: it is neither", "{path} 的 setuid 或 setgid 权限";
    "{path} was copied without its extended attributes", "复制 {path} 时未带扩展属性";
    "what {call} had changed, which was cut short", "{call} 被中断前的改动";
    "{path} (it holds secrets)", "{path}（含有密钥）";
    "{path} (it is too large)", "{path}（太大）";
    "{path} (it holds a known secret)", "{path}（含有已知的密钥）";
    "a file became shorter while it was read", "文件在读取时变短了";
    "it unpacks to more than a bundle may hold", "解包后的内容超过包的上限";
    "it does not say what it is", "它没有说明自己是什么";
    "it ends in the middle of a file", "它在一个文件的中途结束";
    "{path} does not belong into a bundle", "{path} 不应出现在包中";
    "it says too much of itself", "它对自己的说明太长";
    "a newer version of tenon made it", "它由更新版本的 tenon 生成";
    "the folders that it names are none", "它所指的文件夹无效";
    "it is no archive of the kind that bundles are", "它不是包所用的那种归档";
    "a number of it cannot be read", "其中有一个数无法读取";
    "it holds something else than files, folders and links", "其中有文件、文件夹和链接以外的内容";
    // Images.
    "{path} is not a PNG, JPEG, GIF or WebP image", "{path} 不是 PNG、JPEG、GIF 或 WebP 图片";
    "{path} is too large to send: {n} bytes; an image may have {bytes_max} bytes at most", "{path} 太大，无法发送：{n} 字节；图片最多 {bytes_max} 字节";
    "{path} is too large to send: {width} x {height} pixels; an image may have {pixels_max} on each side at most", "{path} 太大，无法发送：{width} x {height} 像素；图片每边最多 {pixels_max} 像素";
    // A session that is replayed or packed.
    "1 event is left out: damaged, or of another version of tenon", "省略了 1 个事件：已损坏，或来自其他版本的 tenon";
    "{n} events are left out: damaged, or of another version of tenon", "省略了 {n} 个事件：已损坏，或来自其他版本的 tenon";
    "the files are as they are now, for there is no undo: {error}", "文件保持现状，因为无法撤销：{error}";
    "there is no folder", "没有文件夹";
    "{path} was not copied: {error}", "没有复制 {path}：{error}";
    "{path} was left out (a cache)", "省略了 {path}（缓存）";
    "{path}, a folder of the session, is not there any more", "会话的文件夹 {path} 已不存在";
    "what 1 call changed is not kept any more: files may not be as they were when the session began", "有 1 个调用的改动已不再保存：文件可能与会话开始时不同";
    "what {n} calls changed is not kept any more: files may not be as they were when the session began", "有 {n} 个调用的改动已不再保存：文件可能与会话开始时不同";
    "a call is still running: what it changed stays", "有一个调用仍在运行：它的改动保留";
    "{error}: what that call changed stays", "{error}：该调用的改动保留";
    "{path} was not saved before it changed: it is as it is now", "{path} 在改动之前没有保存：保持现状";
    "… and {n} more like these", "… 另有 {n} 条类似的";
    "what was undone in between is not in the log", "中途撤销的内容不在日志中";
    "what was undone in between cannot be undone here", "中途撤销的内容在这里无法撤销";
    "files were undone in between, and undo is switched off here", "中途撤销过文件，而这里关闭了撤销";
    "files were undone in the middle of a turn", "在一轮的中途撤销过文件";
    "calls were undone in between, and the log does not say which", "中途撤销过调用，而日志没有说明是哪些";
    "the recording ends in the middle of a turn", "记录在一轮的中途结束";
    "the next prompt or reply cannot be read in the log", "日志中接下来的提示或回复无法读取";
    "what comes next is otherwise, and a part before it cannot be read in the log", "接下来的内容不同，而日志中在此之前有一部分无法读取";
    "commands ran with --sandbox {there} when this was recorded, and run with --sandbox {here} in the replay: results may differ for that", "记录时命令以 --sandbox {there} 运行，重放时以 --sandbox {here} 运行：结果可能因此不同";
    "another model was chosen in the middle of a turn", "在一轮的中途换过模型";
    "a turn began in the middle of another", "一轮在另一轮的中途开始";
    "the turn was cancelled while a call ran", "该轮在调用运行时被取消";
    "results differ from here on, where the files do not have what a call had changed that was cut short: {what}", "从这里起结果不同，因为文件中没有被中断的调用所做的改动：{what}";
    "it is not known what", "不知道改动了什么";
}

/// Returns what a library `said` in the language of the interface, as far as it is in the table.
pub(crate) fn translated(said: &str, language: Language) -> Cow<'_, str> {
    if language == Language::English {
        return Cow::Borrowed(said);
    }
    let found = ROWS.iter().find_map(|text| Some((text, values(text.english, said)?)));
    let Some((text, values)) = found else { return Cow::Borrowed(said) };
    let values: Vec<(&str, Cow<'_, str>)> =
        values.into_iter().map(|(name, value)| (name, translated(value, language))).collect();
    Cow::Owned(text.say_with(language, &values))
}

/// Returns the values with which `template` becomes `said`, each as short as can be; `None` if it
/// never does.
pub(super) fn values<'a>(
    template: &'static str,
    said: &'a str,
) -> Option<Vec<(&'static str, &'a str)>> {
    let (start, mut places) = template.split_once('{').unwrap_or((template, ""));
    let mut rest = said.strip_prefix(start)?;
    let mut values = Vec::new();
    while let Some((name, after)) = places.split_once('}') {
        let (words, later) = after.split_once('{').unwrap_or((after, ""));
        let value = match later {
            "" => rest.strip_suffix(words)?,
            _ => rest.split_once(words)?.0,
        };
        values.push((name, value));
        rest = rest.get(value.len() + words.len()..)?;
        places = later;
    }
    rest.is_empty().then_some(values)
}

#[cfg(test)]
mod tests;
