/* Tool files, built-in tools, and the toolbox that runs them. */
#ifndef KERNEL_DRIVE_TOOLS_H
#define KERNEL_DRIVE_TOOLS_H

#include "kernel/base/doc.h"
#include "kernel/base/finding.h"
#include "kernel/drive/sched.h"
#include "kernel/toolbox.h"

/* Tools as loaded: what the model sees, and where each gets its answers. */
struct toolset;

/* No tools. Owned by the caller; everything in it lives until toolset_free. */
struct toolset *toolset_new(void);
void toolset_free(struct toolset *t); /* NULL allowed */

/* Adds the tools of a tool file. ERR_IO; ERR_INPUT with file:line:column: unknown keys, wrong
 * types, a name used twice (also across files), no source or several, a schema that is none. */
int toolset_add_file(struct toolset *t, const char *path, struct err *e) MUST_CHECK;

/* Adds the tools of a list that stands in another document (a golden set). Commands and files in it
 * are relative to `dir`. The document must outlive the set. */
int toolset_add_list(struct toolset *t, struct doc d, const struct val *list, const char *dir,
                     struct err *e) MUST_CHECK;

/* Adds a built-in tool: calculator, search_docs, now, task_done. ERR_NOT_FOUND; ERR_INPUT for one
 * that needs a folder, which only a tool file can give: read_file, write_file, list_files. */
int toolset_add_builtin(struct toolset *t, struct str name, struct err *e) MUST_CHECK;

/* The specs, in order of registration. Valid until a tool is added or the set is freed. */
const struct tool_spec *toolset_specs(const struct toolset *t, size_t *n);

enum tool_source { TOOL_BUILTIN, TOOL_COMMAND, TOOL_HTTP, TOOL_CANNED, TOOL_FILE, TOOL_FUNCTION };
/* Where the tool called `name` gets its answers; false when there is none. */
bool toolset_source(const struct toolset *t, struct str name, enum tool_source *out);

/* The line of its file that the tool called `name` is written at; 0 = none, or a tool of the
 * program. */
uint32_t toolset_line(const struct toolset *t, struct str name);

/* Whether what the tools need is there: every command's program, found as the command would be
 * started (a name with a slash from the tool file's folder, any other in PATH), the variables of
 * the environment in headers, and the folders of the file tools. ERR_IO with the place of the first
 * that is not. For a run that would call them, before anything is run. */
int toolset_programs(const struct toolset *t, struct err *e) MUST_CHECK;

/* Finds doubts about tools that load, all of them warnings, one at a time to `found`: a command's
 * program, a header's variable or a folder that is not there, a parameter that `required` or the
 * `when` of a canned answer names and `properties` does not, a schema that OpenAI refuses. The
 * tools of the program have none. */
void toolset_check(const struct toolset *t, void (*found)(void *ctx, const struct finding *f),
                   void *ctx);

/* A toolbox that runs the set's tools for one session. started_at_ms: Unix time of the session's
 * start, for `now`, which shows that plus sched_now. Under a virtual scheduler a command or an
 * HTTP call holds the clock and takes 0 ms. A canned answer takes its delay_ms. At most 16 commands
 * of one process run at once, the others wait. A command's result is its stdout without one newline
 * at the end (\n or \r\n), as shell scripts print one; when it fails, the message holds the last
 * lines of its stderr. The toolset must outlive it, and get no more tools meanwhile. */
struct toolbox *toolbox_local(const struct toolset *t, struct sched *s, struct loop *loop,
                              int64_t started_at_ms);

/* Evaluates an arithmetic expression: decimal numbers, + - * / **, unary + -, parentheses; exact
 * decimal, division to 28 significant digits. Appends {"ok":true,"expression":…,"value":…} to out,
 * or an object with "ok":false and error BAD_EXPRESSION. */
void calculator_answer(struct str expression, struct buf *out);
#endif
