#include <string.h>

#include "kernel/base/date.h"
#include "kernel/base/json.h"
#include "kernel/drive/tools_int.h"

enum { DOCS_LIMIT_DEFAULT = 3, WORD_BYTES_MIN = 3, QUERY_BYTES_MAX = 1000 };

static const struct tool_param calculator_params[] = {
    {"expression", PARAM_STRING, .required = true}, {0}};

static const struct tool_param search_docs_params[] = {
    {"query", PARAM_STRING, .required = true},
    {"limit", PARAM_INTEGER, .minimum = "1", .maximum = "5", .default_json = "3"},
    {0}};

static const struct tool_param task_done_params[] = {{"report", PARAM_STRING, .required = true},
                                                     {0}};

static const struct tool_param read_file_params[] = {
    {"path", PARAM_STRING, .required = true},
    {"max_chars", PARAM_INTEGER, .minimum = "1", .maximum = "1000000"},
    {0}};

static const struct tool_param write_file_params[] = {
    {"path", PARAM_STRING, .required = true}, {"content", PARAM_STRING, .required = true}, {0}};

static const struct tool_param list_files_params[] = {{.name = "path", .type = PARAM_STRING}, {0}};

static const struct builtin_info builtins[] = {
    [BUILTIN_CALCULATOR] = {.name = "calculator",
                            .description = "Evaluate an arithmetic expression exactly.",
                            .params = calculator_params},
    [BUILTIN_SEARCH_DOCS] = {.name = "search_docs",
                             .description =
                                 "Search short documents about agents and the order desk.",
                             .params = search_docs_params},
    [BUILTIN_NOW] = {.name = "now", .description = "Tell the current date and time in UTC."},
    [BUILTIN_TASK_DONE] = {.name = "task_done",
                           .description = "End the task and hand in the final report.",
                           .params = task_done_params,
                           .terminal = true},
    [BUILTIN_READ_FILE] =
        {.name = "read_file",
         .description = "Read a text file. With max_chars, a longer text is shown without its "
                        "middle.",
         .params = read_file_params,
         .in_root = true},
    [BUILTIN_WRITE_FILE] = {.name = "write_file",
                            .description = "Write a text file, in place of what it held; missing "
                                           "folders are made.",
                            .params = write_file_params,
                            .in_root = true,
                            .tier = TIER_WRITE},
    [BUILTIN_LIST_FILES] = {.name = "list_files",
                            .description = "List the files and folders (with a slash at the end) "
                                           "of a folder.",
                            .params = list_files_params,
                            .in_root = true},
};

static const struct {
    const char *id;
    const char *text;
} docs[] = {
    {"react", "ReAct lets a model reason and act in turns: it thinks, calls a tool, reads the "
              "result, and thinks again (Yao et al., 2022)."},
    {"rag", "RAG looks up passages before the model writes and puts them into the context, so that "
            "answers rest on sources."},
    {"mcp", "MCP is an open protocol through which a model application finds and uses tools, "
            "resources and prompt templates of other programs."},
    {"tool-calling", "In tool calling the model names a function and its arguments as JSON; the "
                     "program runs it and sends the result back under the same call id."},
    {"context-window", "The context window is the number of tokens a model can take in at once; "
                       "older turns are shortened or dropped when it fills up."},
    {"return-policy", "Goods may be returned within 30 days after delivery, unused and in their "
                      "box. The customer pays the postage unless the item was faulty."},
    {"refund-policy", "Refunds go to the original means of payment within 5 working days after "
                      "the return has arrived. Sums above 500 need a manager."},
    {"shipping", "Orders placed before 14:00 leave the same day. Standard delivery takes 3 working "
                 "days, express delivery 1."},
};

enum { DOCS = sizeof docs / sizeof docs[0], BUILTINS = sizeof builtins / sizeof builtins[0] };

const struct builtin_info *builtin_find(struct str name, enum builtin *which)
{
    for (size_t i = 0; i < BUILTINS; i++) {
        if (str_is(name, builtins[i].name)) {
            *which = (enum builtin)i;
            return &builtins[i];
        }
    }
    return NULL;
}

void builtin_names(struct buf *out)
{
    for (size_t i = 0; i < BUILTINS; i++) {
        buf_addz(out, i == 0 ? "" : ", ");
        buf_addz(out, builtins[i].name);
    }
}

static bool contains_nocase(struct str s, struct str word)
{
    for (size_t i = 0; i + word.n <= s.n; i++) {
        if (str_cmp_nocase(str_slice(s, i, i + word.n), word) == 0) {
            return true;
        }
    }
    return false;
}

/* The next run of characters that can stand in a word; empty at the end. */
static struct str next_word(struct str s, size_t *at)
{
    static const char breaks[] = " \t\r\n.,;:!?\"'()[]{}/\\<>";
    while (*at < s.n && strchr(breaks, s.p[*at]) != NULL) {
        (*at)++;
    }
    size_t from = *at;
    while (*at < s.n && strchr(breaks, s.p[*at]) == NULL) {
        (*at)++;
    }
    return str_slice(s, from, *at);
}

/* How many words of the query the document holds; short words do not count. */
static size_t doc_rank(size_t doc, struct str query)
{
    size_t rank = 0;
    size_t at = 0;
    for (struct str w = next_word(query, &at); w.n > 0; w = next_word(query, &at)) {
        if (w.n >= WORD_BYTES_MIN && (contains_nocase(str_of(docs[doc].id), w) ||
                                      contains_nocase(str_of(docs[doc].text), w))) {
            rank++;
        }
    }
    return rank;
}

/* Finds the documents that hold most words of the query. */
static void search_docs(const struct val *args, struct buf *out)
{
    struct str query = str_slice(val_text(val_get(args, "query")), 0, QUERY_BYTES_MAX);
    int64_t limit = DOCS_LIMIT_DEFAULT;
    (void)val_int(val_get(args, "limit"), &limit);
    size_t ranks[DOCS];
    size_t best = 1;
    for (size_t i = 0; i < DOCS; i++) {
        ranks[i] = doc_rank(i, query);
        best = ranks[i] > best ? ranks[i] : best;
    }
    int64_t found = 0;
    struct buf items = {0};
    for (size_t i = 0; i < DOCS; i++) {
        if (ranks[i] == best && ++found <= limit) {
            buf_addz(&items, found == 1 ? "{\"id\":" : ",{\"id\":");
            json_add_string(&items, str_of(docs[i].id));
            buf_addz(&items, ",\"text\":");
            json_add_string(&items, str_of(docs[i].text));
            buf_char(&items, '}');
        }
    }
    buf_addz(out, "{\"ok\":true,\"summary\":\"");
    if (found == 0) {
        buf_addz(out, "No documents found.");
    } else {
        buf_fmt(out, "%d document%s found.", (int)found, found == 1 ? "" : "s");
    }
    buf_addz(out, "\",\"items\":[");
    buf_add(out, buf_str(&items));
    buf_addz(out, "]}");
    buf_free(&items);
}

void builtin_answer(enum builtin which, const struct val *args, struct arena *arena,
                    int64_t now_unix_ms, struct buf *out)
{
    switch (which) {
    case BUILTIN_CALCULATOR: calculator_answer(val_text(val_get(args, "expression")), out); break;
    case BUILTIN_SEARCH_DOCS: search_docs(args, out); break;
    case BUILTIN_NOW:
        buf_addz(out, "{\"ok\":true,\"utc\":");
        json_add_string(out, date_text(arena, now_unix_ms));
        buf_char(out, '}');
        break;
    case BUILTIN_TASK_DONE: buf_addz(out, "{\"ok\":true}"); break;
    case BUILTIN_READ_FILE:
    case BUILTIN_WRITE_FILE:
    case BUILTIN_LIST_FILES: break; /* see file_tool_answer */
    }
}
