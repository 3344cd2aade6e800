/* Looking for mistakes in event logs and in the messages of requests, ours or not. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "evals/resume.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"
#include "kernel/wire/wire.h"

static const char *const types[] = {"run_start",  "user_message", "step_start",
                                    "llm_reply",  "llm_failure",  "discard",
                                    "tool_start", "tool_retry",   "approval_required",
                                    "approval",   "tool_result",  "compaction",
                                    "cancel",     "resume",       "final",
                                    "run_end"};

enum { CONVERSATIONS_MAX = 100000 }; /* of one log */

/* What a log's lines, or those of one of its conversations, make of a history. */
struct history {
    struct buf messages;    /* struct message each */
    struct buf lines;       /* uint32_t: where each message stands */
    struct message reply;   /* whose results come */
    uint32_t *result_lines; /* where each of its calls has its result; 0 = none yet */
};

/* A file under inspection. */
struct inspected {
    const char *file;
    struct arena *arena;
    struct findings *found;
    uint32_t line;
    int64_t seq;  /* of the line before */
    int64_t t_ms; /* likewise */
    bool ended;   /* the line before was a run_end */
    XXH3_state_t sum;
    struct history *histories; /* by conversation */
    size_t n_histories;
    struct history *at; /* the one of the line at hand */
};

static void tell_of(struct inspected *f, enum finding_severity severity, const char *code,
                    struct str message)
{
    struct finding found = {
        .file = f->file, .line = f->line, .severity = severity, .code = code, .message = message};
    findings_add(f->found, &found);
}

static void wrong(struct inspected *f, const char *code, struct str message)
{
    tell_of(f, FINDING_ERROR, code, message);
}

/* ---- messages ---- */

/* The index that history_check names: "messages[3]: ...". */
static size_t index_of(const struct err *e)
{
    size_t i = 0;
    for (const char *p = strchr(e->message, '['); p != NULL && *++p >= '0' && *p <= '9';) {
        i = i * 10 + (size_t)(*p - '0');
    }
    return i;
}

static void check_history(struct inspected *f, const struct message *messages, size_t n, bool open)
{
    struct err e;
    if (history_check(messages, n, &e) == 0) {
        return;
    }
    size_t i = index_of(&e);
    if (i >= n && open) {
        return; /* cut off while calls were under way */
    }
    uint32_t line = 0;
    if (f->at->lines.n > 0) {
        i = i < n ? i : n - 1;
        memcpy(&line, f->at->lines.p + i * sizeof line, sizeof line);
    }
    f->line = line;
    wrong(f, "history", str_of(e.message));
}

static void add_message(struct inspected *f, const struct message *m, uint32_t line)
{
    buf_add(&f->at->messages, (struct str){(const char *)m, sizeof *m});
    buf_add(&f->at->lines, (struct str){(const char *)&line, sizeof line});
}

/* ---- event logs ---- */

/* The history of a conversation of the log, from 1; false for a number that there cannot be. */
static bool turn_to(struct inspected *f, int64_t number)
{
    if (number < 1 || number > CONVERSATIONS_MAX || number > (int64_t)f->n_histories + 1) {
        return false;
    }
    if (number > (int64_t)f->n_histories) {
        f->histories = mem_grow(f->histories, (f->n_histories + 1) * sizeof *f->histories);
        f->histories[f->n_histories++] = (struct history){.reply = {.role = ROLE_ASSISTANT}};
    }
    f->at = &f->histories[number - 1];
    return true;
}

/* Where the reply at hand has its call of this id; SIZE_MAX = nowhere. */
static size_t place_of(const struct message *reply, struct str id)
{
    for (size_t i = 0; i < reply->n_calls; i++) {
        if (str_eq(reply->calls[i].id, id)) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* The results of the reply at hand, before what comes next: a log's stand in the order in which
 * they came, a history's in that of the calls. under_way: those behind a missing one are left out
 * too.
 */
static void end_reply(struct inspected *f, bool under_way)
{
    for (size_t i = 0; i < f->at->reply.n_calls; i++) {
        struct message m = {.role = ROLE_TOOL, .call_id = f->at->reply.calls[i].id};
        if (f->at->result_lines[i] != 0) {
            add_message(f, &m, f->at->result_lines[i]);
        } else if (under_way) {
            break;
        }
    }
    f->at->reply = (struct message){.role = ROLE_ASSISTANT};
}

static void add_result(struct inspected *f, const struct val *v)
{
    struct message m = {.role = ROLE_TOOL, .call_id = val_text(val_get(v, "call_id"))};
    size_t at = place_of(&f->at->reply, m.call_id);
    if (at != SIZE_MAX && f->at->result_lines[at] == 0) {
        f->at->result_lines[at] = f->line;
    } else {
        end_reply(f, false);
        add_message(f, &m, f->line);
    }
}

static void add_reply(struct inspected *f, const struct val *v)
{
    const struct val *calls = val_get(v, "calls");
    size_t n = val_is(calls, VAL_ARRAY) ? calls->count : 0;
    struct message m = {.role = ROLE_ASSISTANT,
                        .content = val_text(val_get(v, "content")),
                        .calls = arena_array(f->arena, n, sizeof *m.calls),
                        .n_calls = n};
    for (size_t i = 0; i < n; i++) {
        const struct val *c = val_item(calls, i);
        m.calls[i] = (struct tool_call){val_text(val_get(c, "id")), val_text(val_get(c, "name")),
                                        val_text(val_get(c, "arguments"))};
    }
    add_message(f, &m, f->line);
    f->at->reply = m;
    f->at->result_lines = arena_array(f->arena, n, sizeof *f->at->result_lines);
}

/* What a line adds to the history. */
static void add_line(struct inspected *f, struct str type, const struct val *v)
{
    struct str system = val_text(val_get(v, "system"));
    struct message user = {.role = ROLE_USER, .content = val_text(val_get(v, "content"))};
    if (str_is(type, "run_start") && system.n > 0) {
        add_message(f, &(struct message){.role = ROLE_SYSTEM, .content = system}, f->line);
    } else if (str_is(type, "user_message")) {
        end_reply(f, false);
        add_message(f, &user, f->line);
    } else if (str_is(type, "llm_reply")) {
        end_reply(f, false);
        add_reply(f, v);
    } else if (str_is(type, "tool_result")) {
        add_result(f, v);
    }
}

static void check_numbers(struct inspected *f, const struct val *v)
{
    int64_t seq = 0, t_ms = 0;
    if (!val_int(val_get(v, "seq"), &seq)) {
        wrong(f, "bad_seq", STR("seq is no whole number"));
    } else if (seq != f->seq + 1) {
        wrong(f, "bad_seq",
              arena_printf(f->arena,
                           "seq is %lld behind %lld: lines are missing, "
                           "doubled or moved",
                           (long long)seq, (long long)f->seq));
    }
    if (!val_int(val_get(v, "t_ms"), &t_ms) || t_ms < 0) {
        wrong(f, "bad_time", STR("t_ms is no whole number from 0"));
    } else if (t_ms < f->t_ms) {
        wrong(f, "bad_time",
              arena_printf(f->arena, "t_ms falls from %lld to %lld", (long long)f->t_ms,
                           (long long)t_ms));
    }
    f->seq = seq;
    f->t_ms = t_ms;
}

static void check_type(struct inspected *f, struct str type)
{
    enum { N = sizeof types / sizeof types[0] };
    bool known = false;
    for (size_t i = 0; i < N && !known; i++) {
        known = str_is(type, types[i]);
    }
    if (!known) {
        const char *close = text_closest(type, types, N);
        wrong(f, "unknown_type",
              arena_printf(f->arena, "no event has the type \"%.*s\"%s%s",
                           STR_FMT(utf8_prefix(type, 100)), close == NULL ? "" : "; did you mean ",
                           close == NULL ? "" : close));
    } else if (f->line == 1 && !str_is(type, "run_start")) {
        wrong(f, "no_start", STR("an event log begins with run_start"));
    } else if (f->line > 1 && str_is(type, "run_start")) {
        wrong(f, "second_start", STR("a second run_start: these are two logs in one file"));
    } else if (f->ended && !str_is(type, "resume")) {
        wrong(f, "after_end", STR("behind run_end only resume may come"));
    }
}

static void check_sum(struct inspected *f, const struct val *v)
{
    char sum[HASH_HEX];
    hash_hex(XXH3_64bits_digest(&f->sum), sum);
    if (!str_is(val_text(val_get(v, "sum")), sum)) {
        wrong(f, "bad_sum",
              arena_printf(f->arena,
                           "the lines before have the sum %s, not what is said here: "
                           "one of them was changed",
                           sum));
    }
}

static void check_line(struct inspected *f, struct str line)
{
    struct err e;
    struct val *v = NULL;
    f->line++;
    if (json_parse(f->arena, NULL, line, &v, &e) != 0) {
        wrong(f, "bad_line", arena_printf(f->arena, "no event: %s", e.message));
        f->seq++;
        f->ended = false;
    } else {
        struct str type = val_text(val_get(v, "type"));
        check_numbers(f, v);
        check_type(f, type);
        f->ended = str_is(type, "run_end");
        if (f->ended) {
            check_sum(f, v);
        }
        int64_t number = 1;
        (void)val_int(val_get(v, "conversation"), &number);
        if (turn_to(f, number)) {
            add_line(f, type, v);
        } else {
            wrong(f, "bad_conversation",
                  STR("conversations are numbered from 1, each next one "
                      "from where the last began"));
        }
    }
    XXH3_64bits_update(&f->sum, line.p, line.n);
    XXH3_64bits_update(&f->sum, "\n", 1);
}

/* The history at hand. cut: the log ends before its end. */
static void check_collected(struct inspected *f, bool cut)
{
    end_reply(f, cut);
    size_t n = f->at->messages.n / sizeof(struct message);
    struct message *messages = arena_array(f->arena, n, sizeof *messages);
    if (n > 0) {
        memcpy(messages, f->at->messages.p, f->at->messages.n);
    }
    check_history(f, messages, n, cut);
}

static void free_histories(struct inspected *f)
{
    for (size_t i = 0; i < f->n_histories; i++) {
        buf_free(&f->histories[i].messages);
        buf_free(&f->histories[i].lines);
    }
    free(f->histories);
}

static void check_log(struct inspected *f, struct str log)
{
    XXH3_64bits_reset(&f->sum);
    for (size_t end; (end = str_find(log, STR("\n"))) != SIZE_MAX;) {
        check_line(f, str_slice(log, 0, end));
        log = str_slice(log, end + 1, log.n);
    }
    if (log.n > 0) {
        f->line++;
        tell_of(f, FINDING_WARNING, "torn", STR("the last line is cut off"));
    } else if (!f->ended) {
        tell_of(f, FINDING_WARNING, "interrupted", STR("the log ends without run_end"));
    }
    for (size_t i = 0; i < f->n_histories; i++) {
        f->at = &f->histories[i];
        check_collected(f, log.n > 0 || !f->ended);
    }
}

/* ---- requests ---- */

static bool has_type(const struct val *list, const char *type)
{
    for (size_t i = 0; val_is(list, VAL_ARRAY) && i < list->count; i++) {
        if (str_is(val_text(val_get(val_item(list, i), "type")), type)) {
            return true;
        }
    }
    return false;
}

/* Whose form a list of messages has. */
static enum wire_format form_of(const struct val *list)
{
    if (has_type(list, "function_call") || has_type(list, "function_call_output")) {
        return WIRE_RESPONSES;
    }
    for (size_t i = 0; val_is(list, VAL_ARRAY) && i < list->count; i++) {
        const struct val *content = val_get(val_item(list, i), "content");
        if (has_type(content, "tool_use") || has_type(content, "tool_result")) {
            return WIRE_MESSAGES;
        }
    }
    return WIRE_CHAT;
}

static void check_request(struct inspected *f, struct val *root)
{
    struct message *messages = NULL;
    const struct val *list = val_is(root, VAL_ARRAY) ? root : val_get(root, "messages");
    const struct val *input = val_get(root, "input");
    enum wire_format form = form_of(list);
    if (list == NULL && input != NULL) {
        form = WIRE_RESPONSES;
    } else if (!val_is(list, VAL_ARRAY)) {
        f->line = 1;
        wrong(f, "no_messages",
              STR("neither an event log nor a request or list of messages: expected lines of "
                  "events, an object with messages or input, or a list"));
        return;
    } else if (val_get(root, "system") != NULL) {
        form = WIRE_MESSAGES;
    }
    struct member alone = {.key = form == WIRE_RESPONSES ? STR("input") : STR("messages"),
                           .value = *root};
    struct val body = {.kind = VAL_OBJECT, .count = 1, .members = &alone};
    size_t n =
        wire_request_messages(form, val_is(root, VAL_ARRAY) ? &body : root, f->arena, &messages);
    check_history(f, messages, n, false);
}

/* ---- files ---- */

static bool is_log(struct arena *arena, struct str text)
{
    struct val *v = NULL;
    return str_starts(text, "{\"seq\"") ||
           (json_parse(arena, NULL, str_slice(text, 0, str_find(text, STR("\n"))), &v, NULL) == 0 &&
            val_get(v, "seq") != NULL && val_get(v, "type") != NULL);
}

/* False where the file could not be read. */
static bool check_file(const char *path, struct findings *found)
{
    struct inspected f = {.file = path, .arena = arena_new(), .found = found};
    struct str text;
    struct err e;
    struct val *root = NULL;
    bool first = turn_to(&f, 1);
    assert(first);
    (void)first;
    bool read = file_read(f.arena, path, LOG_BYTES_MAX, &text, &e) == 0;
    if (!read) {
        findings_add_err(found, path, &e);
    } else if (is_log(f.arena, text)) {
        check_log(&f, text);
    } else if (json_parse(f.arena, path, text, &root, &e) != 0) {
        findings_add_err(found, path, &e);
    } else {
        check_request(&f, root);
    }
    free_histories(&f);
    arena_free(f.arena);
    return read;
}

int trace_check(int argc, char **argv)
{
    struct findings findings = {0};
    const struct option options[] = {{"json", OPTION_FLAG, &findings.json, 0, 0}};
    struct words words;
    struct err e;
    if (options_parse(options, 1, argc, argv, &words, &e) != 0) {
        return tell_error(&e);
    }
    if (words.n == 0) {
        return tell_no_file("trace", "check");
    }
    bool readable = true;
    for (size_t i = 0; i < words.n; i++) {
        readable = check_file(words.at[i], &findings) && readable;
    }
    int status = findings_end(&findings, "file", words.n);
    return status == EXIT_USAGE && readable ? EXIT_FAILED : status;
}
