/* What the problem of a trial that missed says, taken apart: the trials of a run are told in
 * groups. */
#include "cassettes/player.h"
#include "evals/rig.h"
#include "evals/run_int.h"

#include <string.h>

/* Of a recording that is not there at all. */
static const char not_there[] = "; " MISS_RECORD;

static void set_command(struct eval_miss *m, struct str command, const struct eval_trial *t,
                        struct arena *arena)
{
    struct str task = arena_printf(arena, RIG_MEND_TASK "%.*s", STR_FMT(t->task));
    size_t at = str_find(command, task);
    if (at != SIZE_MAX) {
        m->begin = str_slice(command, 0, at);
        m->end = str_slice(command, at + task.n, command.n);
    }
}

/* The lines of a miss but for those that say what is another in each task: where the request went,
 * how much of the recording was used. */
static bool is_reason(struct str line)
{
    return str_starts(line, "    ") ||
           (str_starts(line, "  ") && str_find(line, STR(PLAYER_USED)) == SIZE_MAX);
}

static void take_apart(struct str rest, const struct eval_trial *t, struct arena *arena,
                       struct eval_miss *out)
{
    struct buf text = {0}, why = {0};
    while (rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        if (str_starts(line, "  " PLAYER_MEND)) {
            set_command(out, str_slice(line, strlen("  " PLAYER_MEND), line.n), t, arena);
            continue;
        }
        buf_addz(&text, text.n > 0 ? "\n" : "");
        buf_add(&text, line);
        if (is_reason(line)) {
            buf_add(&why, line);
            buf_char(&why, '\n');
        }
    }
    out->text = arena_str(arena, buf_str(&text));
    out->why = arena_str(arena, buf_str(&why));
    buf_free(&text);
    buf_free(&why);
}

bool eval_missed(const struct eval_trial *t, struct arena *arena, struct eval_miss *out)
{
    *out = (struct eval_miss){.text = t->problem};
    if (t->verdict.outcome != EVAL_ERROR || t->result.status != RUN_CASSETTE_MISS) {
        return false;
    }
    size_t at = str_find(t->problem, str_of(not_there));
    if (at != SIZE_MAX) {
        out->text = str_slice(t->problem, 0, at);
        out->why = STR("not there");
        set_command(out, str_slice(t->problem, at + strlen(not_there), t->problem.n), t, arena);
    } else {
        take_apart(t->problem, t, arena, out);
    }
    return true;
}
