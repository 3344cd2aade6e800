#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/line.h"
#include "cli/mend.h"
#include "cli/options.h"
#include "cli/setup.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"

enum { SHOWN_CHARS = 200, PATH_BYTES = 4096 };

static const char help_text[] =
    "assay chat: talk with the agent; each message is a run of the loop in one session\n"
    "\n"
    "usage: assay chat [options]\n"
    "\n"
    "  /help, /exit, /quit are commands. Ctrl+C stops the run and keeps the session; pressed\n"
    "  again, or Ctrl+D, it leaves. Where standard input is no terminal each line is a message.\n"
    "\n"
    "the chat\n"
    "  --verbose           show arguments and results whole, not the first 200 characters, and "
    "tell\n"
    "                      of waits for the limits of an endpoint\n"
    "  --no-stream         show a reply when it is whole\n"
    "  --resume LOG        go on with the session of an event log, in that log or --trace FILE\n"
    "\n"
    "The event log goes to --trace FILE, on a terminal else to a new file that is told at the "
    "end.\n"
    "Each message has the whole budget.\n"
    "\n";

static const char help_end[] =
    "\n"
    "exit status: 3 when a recording is missing, 4 when a log or recording cannot be written;\n"
    "without a terminal also that of the messages, as of assay run; else 0\n"
    "\n"
    "examples\n"
    "  assay chat --model gpt-4.1-mini --tools goldens/quickstart/tools.yaml --approve write=ask\n"
    "  echo \"By how much did the margin fall?\" | assay chat \\\n"
    "      --fake goldens/quickstart/margin-drop.script.yaml\n";

static const char commands_text[] =
    "  /help          this list\n"
    "  /exit, /quit   leave; so do Ctrl+D, and Ctrl+C pressed twice\n"
    "  Ctrl+C         stop what runs and keep the session\n";

/* Who speaks; each has a colour. */
enum voice { VOICE_AGENT, VOICE_TOOL, VOICE_ERROR };

enum chat_state {
    CHAT_ON,
    CHAT_INTERRUPTED, /* Ctrl+C was pressed since the last message */
    CHAT_LEAVING,
    CHAT_TERMINATED
};

struct chat {
    struct run_flags flags;
    const char *log; /* to go on with; NULL = a new session */
    bool no_stream;
    enum chat_state state;
    struct setup setup;
    struct rig *rig; /* NULL before the first message of a session that goes on */
    struct line_reader *lines;
    bool color;
    bool streamed; /* text of this reply was shown as it came */
    bool in_line;  /* what was shown last has no newline yet */
    bool asked;    /* something was said */
    bool out_failed;
    int status;
    char trace[PATH_BYTES];
};

/* ---- showing ---- */

static void put(struct chat *c, bool plain, struct str s)
{
    c->out_failed = c->out_failed || !(plain ? put_text(s) : put_out(s));
}

static void put_color(struct chat *c, const char *code)
{
    if (c->color) {
        put(c, false, str_of(code));
    }
}

static void start_color(struct chat *c, enum voice voice)
{
    switch (voice) {
    case VOICE_AGENT: put_color(c, "\033[1;32m"); return;
    case VOICE_TOOL: put_color(c, "\033[33m"); return;
    case VOICE_ERROR: put_color(c, "\033[31m"); return;
    }
}

static void end_line(struct chat *c)
{
    if (c->in_line) {
        put(c, false, STR("\n"));
        c->in_line = false;
    }
}

static void put_line(struct chat *c, enum voice voice, struct str text)
{
    end_line(c);
    start_color(c, voice);
    put(c, true, text);
    put_color(c, "\033[0m");
    put(c, false, STR("\n"));
}

/* A piece of a reply's text; the first one of a reply stands behind the agent's prompt. */
static void put_reply(struct chat *c, struct str text)
{
    if (text.n == 0) {
        return;
    }
    if (!c->streamed) {
        end_line(c);
        start_color(c, VOICE_AGENT);
        put(c, false, STR("agent>"));
        put_color(c, "\033[0m");
        put(c, false, STR(" "));
    }
    put(c, true, text);
    c->streamed = true;
    c->in_line = text.p[text.n - 1] != '\n';
}

/* "[tool] text", shortened unless all is to be seen. */
static void put_tool(struct chat *c, enum voice voice, const struct val *line, const char *mark,
                     struct str text)
{
    struct arena *arena = arena_new();
    struct buf out = {0};
    struct str shown = c->flags.live.verbose ? text : text_preview(arena, text, SHOWN_CHARS);
    buf_fmt(&out, "[%.*s] %s", STR_FMT(val_text(val_get(line, "name"))), mark);
    buf_add(&out, shown);
    put_line(c, voice, buf_str(&out));
    buf_free(&out);
    arena_free(arena);
}

static void show_result(struct chat *c, const struct val *line)
{
    const struct val *error = val_get(line, "error");
    if (error == NULL) {
        put_tool(c, VOICE_TOOL, line, "-> ", val_text(val_get(line, "content")));
        return;
    }
    struct buf text = {0};
    buf_add(&text, val_text(val_get(error, "code")));
    buf_addz(&text, ": ");
    buf_add(&text, val_text(val_get(error, "message")));
    put_tool(c, VOICE_ERROR, line, "", buf_str(&text));
    buf_free(&text);
}

/* A failure of the model that is followed by another try; the last one ends the run, which says it.
 */
static void show_failure(struct chat *c, const struct val *line)
{
    int64_t wait_ms = 0;
    if (val_int(val_get(line, "retry_in_ms"), &wait_ms)) {
        struct buf text = {0};
        buf_fmt(&text, "[model] %.*s; next try in %lld ms",
                STR_FMT(val_text(val_get(line, "message"))), (long long)wait_ms);
        put_line(c, VOICE_ERROR, buf_str(&text));
        buf_free(&text);
    }
}

static void show_event(struct chat *c, const struct val *line)
{
    struct str type = val_text(val_get(line, "type"));
    if (str_is(type, "step_start")) {
        c->streamed = false;
    } else if (str_is(type, "llm_reply")) {
        if (!c->streamed) {
            put_reply(c, val_text(val_get(line, "content")));
        }
        end_line(c);
    } else if (str_is(type, "tool_start")) {
        put_tool(c, VOICE_TOOL, line, "", val_text(val_get(line, "arguments")));
    } else if (str_is(type, "tool_result")) {
        show_result(c, line);
    } else if (str_is(type, "llm_failure")) {
        show_failure(c, line);
    } else if (str_is(type, "discard")) {
        c->streamed = false;
        put_line(
            c, VOICE_ERROR,
            STR("[model] the answer broke off and starts again; the part above does not count"));
    } else if (str_is(type, "compaction")) {
        put_line(c, VOICE_TOOL, STR("[history] was too long; old parts were left out"));
    }
}

/* ---- while a message runs ---- */

static int on_log(void *ctx, struct str lines)
{
    struct chat *c = ctx;
    struct arena *arena = arena_new();
    while (lines.n > 0) {
        struct val *line;
        if (json_parse(arena, NULL, str_cut(&lines, '\n'), &line, NULL) == 0) {
            show_event(c, line);
        }
    }
    arena_free(arena);
    return 0;
}

static void on_delta(void *ctx, struct str text)
{
    put_reply(ctx, text);
}

static void on_ask(void *ctx, struct str call_id, struct str name, struct str arguments)
{
    struct chat *c = ctx;
    end_line(c);
    approver_ask(c->setup.approver, c->rig, call_id, name, arguments);
}

static void on_done(void *ctx)
{
    struct chat *c = ctx;
    approver_end(c->setup.approver);
    loop_stop(c->setup.loop);
}

/* One that comes when the run is over already stops nothing. */
static void on_interrupt(void *ctx, int signal)
{
    struct chat *c = ctx;
    struct rig_outcome o;
    c->state = signal == SIGINT ? CHAT_INTERRUPTED : CHAT_TERMINATED;
    if (c->rig != NULL && !rig_outcome(c->rig, &o)) {
        rig_cancel(c->rig, STR("interrupted"));
    }
}

/* What a message came to. */
static void report(struct chat *c)
{
    struct rig_outcome o;
    end_line(c);
    if (!rig_outcome(c->rig, &o)) {
        return;
    }
    int status = exit_of_status(o.result.status);
    if (o.log_error != NULL) {
        c->state = CHAT_LEAVING; /* rig_free tells */
        status = EXIT_OK;
    } else if (c->state == CHAT_INTERRUPTED && o.result.status == RUN_CANCELLED) {
        put_line(c, VOICE_ERROR, STR("(stopped; say something to go on, Ctrl+C again leaves)"));
        status = EXIT_OK;
    } else if (o.result.status == RUN_CASSETTE_MISS) {
        c->state = CHAT_LEAVING; /* what was recorded goes on differently */
    } else if (o.result.status != RUN_COMPLETED && c->state != CHAT_TERMINATED) {
        bool red = want_color(STDERR_FILENO);
        fputs(red ? "\033[31m" : "", stderr);
        tell_run_status(&o);
        fputs(red ? "\033[0m" : "", stderr);
    }
    if (!line_edits(c->lines) || status == EXIT_MISS) {
        c->status = exit_worse(c->status, status);
    }
    if (c->out_failed) {
        c->status = exit_worse(c->status, EXIT_ENVIRONMENT);
        c->state = CHAT_LEAVING;
    }
}

/* ---- the session ---- */

static int open_rig(struct chat *c, struct str first, struct err *e)
{
    struct rig_options *o = &c->setup.rig;
    struct rig_outcome begun;
    o->ctx = c;
    o->log = on_log;
    o->delta = o->source == EVAL_REPLAY || !c->no_stream ? on_delta : NULL;
    o->ask = on_ask;
    o->done = on_done;
    o->identity = STR("chat");
    o->prompt = first;
    int rc = rig_new(c->setup.loop, o, &c->rig, e);
    if (rc == 0 && !rig_outcome(c->rig, &begun) && begun.warning.n > 0) {
        tell("%.*s", STR_FMT(begun.warning));
    }
    return rc;
}

static void say(struct chat *c, struct str text)
{
    struct err e;
    c->state = CHAT_ON;
    if (c->rig != NULL) {
        rig_say(c->rig, text);
    } else if (open_rig(c, text, &e) != 0) {
        c->status = exit_worse(c->status, tell_error(&e));
        c->state = CHAT_LEAVING;
        return;
    }
    c->asked = true;
    loop_run(c->setup.loop);
    report(c);
}

static void take_command(struct chat *c, struct str word)
{
    static const char *const names[] = {"/help", "/exit", "/quit"};
    if (str_is(word, "/exit") || str_is(word, "/quit")) {
        c->state = CHAT_LEAVING;
    } else if (str_is(word, "/help")) {
        put(c, false, str_of(commands_text));
    } else {
        const char *close = text_closest(word, names, 3);
        tell("there is no command %.*s; %s%s", STR_FMT(word),
             close == NULL ? "/help lists them" : "did you mean ", close == NULL ? "" : close);
    }
}

/* A slash and one word: a path in a longer message is no command. */
static bool is_command(struct str text)
{
    bool letters = text.n > 1 && text.p[0] == '/';
    for (size_t i = 1; i < text.n && letters; i++) {
        letters = text.p[i] >= 'a' && text.p[i] <= 'z';
    }
    return letters;
}

static void take_line(struct chat *c, struct str line)
{
    struct str text = str_trim(line);
    if (text.n == 0) {
        return;
    }
    if (is_command(text)) {
        take_command(c, text);
    } else if (utf8_invalid_at(text) != SIZE_MAX) {
        tell("the message is not UTF-8");
        c->status = line_edits(c->lines) ? c->status : exit_worse(c->status, EXIT_USAGE);
    } else {
        say(c, text);
    }
}

static void take_interrupt(struct chat *c)
{
    bool again = c->state == CHAT_INTERRUPTED || !line_edits(c->lines);
    c->state = again ? CHAT_LEAVING : CHAT_INTERRUPTED;
    if (!line_edits(c->lines)) {
        c->status = EXIT_INTERRUPTED;
    } else if (!again) {
        put_line(c, VOICE_ERROR, STR("(Ctrl+C again, Ctrl+D or /exit leaves)"));
    }
}

static void talk(struct chat *c)
{
    while (c->state == CHAT_ON || c->state == CHAT_INTERRUPTED) {
        struct str line = {NULL, 0};
        switch (line_next(c->lines, "you>", &line)) {
        case LINE_READ: take_line(c, line); break;
        case LINE_OVER: c->state = CHAT_LEAVING; break;
        case LINE_INTERRUPTED: take_interrupt(c); break;
        case LINE_TERMINATED: c->state = CHAT_TERMINATED; break;
        case LINE_TOO_LONG:
            tell("a message may have %d bytes; this one has more", (int)LINE_BYTES_MAX);
            c->status = line_edits(c->lines) ? c->status : exit_worse(c->status, EXIT_USAGE);
            break;
        }
    }
    if (c->state == CHAT_TERMINATED) {
        c->status = EXIT_INTERRUPTED;
    }
}

/* ---- beginning and end ---- */

static int parse(struct chat *c, int argc, char **argv, struct err *e)
{
    struct option options[3 + RUN_OPTIONS] = {
        {"verbose", OPTION_FLAG, &c->flags.live.verbose, 0, 0},
        {"no-stream", OPTION_FLAG, &c->no_stream, 0, 0},
        {"resume", OPTION_NAME, &c->log, 0, 0}};
    const struct run_flags *f = &c->flags;
    struct words words;
    size_t n = 3 + run_options(&c->flags, GOING_NEW, options + 3);
    int rc = options_parse(options, n, argc, argv, &words, e);
    if (rc != 0) {
        return rc;
    }
    if (words.n > 0) {
        return err_set(e, ERR_USAGE,
                       "chat takes no prompt, got \"%s\"; messages come from standard input",
                       words.at[0]);
    }
    if (f->trace != NULL && strcmp(f->trace, "-") == 0) {
        return err_set(e, ERR_USAGE,
                       "--trace: standard output holds the conversation; name a file");
    }
    if (c->log != NULL && (f->system != NULL || f->seed != 0)) {
        return err_set(e, ERR_USAGE,
                       "--resume: a session that goes on takes no --system and --seed");
    }
    if (c->no_stream && f->stream) {
        return err_set(e, ERR_USAGE, "give one of --stream and --no-stream");
    }
    return 0;
}

/* On a terminal there is always a log: in a new folder where none is named. */
static int choose_trace(struct chat *c, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    struct rig_options *o = &c->setup.rig;
    if (o->trace == NULL && c->log != NULL) {
        o->trace = c->log;
    }
    if (o->trace == NULL && line_edits(c->lines)) {
        snprintf(c->trace, sizeof c->trace - 16, "%s/assay-chat-XXXXXX",
                 tmp == NULL || tmp[0] == '\0' ? "/tmp" : tmp);
        if (mkdtemp(c->trace) == NULL) {
            return err_set(e, ERR_IO, "%s cannot be made for the event log; name one by --trace",
                           c->trace);
        }
        size_t n = strlen(c->trace);
        snprintf(c->trace + n, sizeof c->trace - n, "/chat.jsonl");
        o->trace = c->trace;
    }
    return o->trace == NULL ? 0 : log_check_replaced(o->trace, e);
}

static int open_chat(struct chat *c, struct str mend, struct err *e)
{
    const struct resume_request from = {.how = c->log == NULL ? GOING_NEW : GOING_ON,
                                        .log = c->log,
                                        .trace = c->flags.trace,
                                        .has_prompt = true};
    int rc = setup_open(&c->setup, &c->flags, &from, NULL, e);
    rc = rc != 0 ? rc : choose_trace(c, e);
    if (rc != 0) {
        return rc;
    }
    c->setup.rig.mend = mend;
    c->setup.rig.stream = c->setup.rig.source == EVAL_REPLAY ? c->flags.stream : !c->no_stream;
    loop_on_interrupt(c->setup.loop, on_interrupt, c);
    if (c->setup.resumed != NULL) {
        size_t n = 0;
        resume_tell(c->setup.resumed);
        kernel_history(c->setup.resumed->kernel, &n);
        tell("goes on with %s: %zu messages so far", c->log, n);
        return 0;
    }
    return open_rig(c, (struct str){NULL, 0}, e);
}

/* Ends the session; says what should be known of it. */
static void close_chat(struct chat *c)
{
    struct err e;
    struct rig_outcome o;
    if (c->rig != NULL) {
        bool over = rig_outcome(c->rig, &o);
        if (over) {
            c->status = exit_worse(c->status, report_replay(&o.replay, c->flags.cassettes.strict));
        }
        if (over && !line_edits(c->lines) && rig_leftover_fails(&o)) {
            tell("%.*s", STR_FMT(o.leftover));
            c->status = exit_worse(c->status, EXIT_FAILED);
        }
        if (rig_free(c->rig, &e) != 0) {
            c->status = exit_worse(c->status, tell_error(&e));
        } else if (c->trace[0] != '\0' && c->asked) {
            tell("the event log is %s; assay trace show prints it", c->trace);
        }
    }
    if (c->trace[0] != '\0' && !c->asked) {
        *strrchr(c->trace, '/') = '\0';
        rmdir(c->trace);
    }
}

static int run(int argc, char **argv)
{
    struct err e;
    struct chat c = {.flags = RUN_FLAGS_NONE, .color = want_color(STDOUT_FILENO)};
    if (parse(&c, argc, argv, &e) != 0) {
        return tell_error(&e);
    }
    struct buf mend = {0};
    mend_command(&mend, "chat", argc, argv);
    c.lines = line_open(c.color);
    if (open_chat(&c, buf_str(&mend), &e) != 0) {
        c.status = tell_error(&e);
    } else {
        talk(&c);
    }
    close_chat(&c);
    line_close(c.lines);
    setup_close(&c.setup);
    buf_free(&mend);
    return c.status;
}

const struct verb verb_chat = {
    "chat",
    "talk with the agent",
    {help_text, help_sources, help_recordings, help_runs, help_endpoint, help_loop, help_end},
    run};
