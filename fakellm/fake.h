/* Scripted fake models; fakellm/README.md describes the scripts. */
#ifndef FAKELLM_FAKE_H
#define FAKELLM_FAKE_H

#include "kernel/base/doc.h"
#include "kernel/drive/sched.h"
#include "kernel/http.h"
#include "kernel/wire/wire.h"

struct fake_script;

/* Loads and checks a script. ERR_NOT_FOUND, ERR_IO, ERR_INPUT with place. Owned by the caller. */
int fake_load(const char *path, struct fake_script **out, struct err *e) MUST_CHECK;
/* The same from a document that is in memory. The document must outlive the script. */
int fake_load_doc(struct doc d, const struct val *root, struct fake_script **out,
                  struct err *e) MUST_CHECK;
void fake_free(struct fake_script *s); /* NULL allowed */

/* The API key that requests over HTTP must bring; n 0 = any or none. */
struct str fake_api_key(const struct fake_script *s);
struct str fake_model(const struct fake_script *s); /* its name; "fake-1" by default */
bool fake_has_rules(const struct fake_script *s);
uint64_t fake_seed(const struct fake_script *s);
const char *fake_path(const struct fake_script *s); /* its file; NULL = its document has none */

/* One session's walk through a script. The script must outlive it. */
struct fake_session;
struct fake_session *fake_session_new(const struct fake_script *s);
void fake_session_free(struct fake_session *f);
/* Before the first request: the session is the `trial`th of its script, from 1, and each draws
 * otherwise; the first as if this were never called. */
void fake_session_trial(struct fake_session *f, int64_t trial);
const struct fake_script *fake_script_of(const struct fake_session *f);
/* Moves on as if so many requests had been made and had fitted, before any is: for a run that goes
 * on where another process left it. Of a script with rules they must be asked again
 * (fake_answer), for which rule each has used is told by what it holds. */
void fake_session_skip(struct fake_session *f, size_t requests);

/* What to answer to one request: an HTTP answer in pieces with their times. Valid until the next
 * call or free. */
struct fake_answer {
    bool mismatch; /* the request was not what the script expected, or one too many: message says
                      how */
    bool refused;  /* the provider would not take the request: a 400 with its words; message
                      says that it is */
    struct str message;
    int status;
    int64_t retry_after_ms; /* -1 = none */
    struct str content_type;
    struct str body;
    const size_t *ends;   /* offsets behind each piece */
    const int64_t *at_ms; /* when each piece goes out, since the request */
    size_t n_pieces;
    int64_t first_ms;  /* when the status and headers go out; status 0 = they never do */
    enum http_end end; /* clean, reset, timeout (a hang: nothing more comes) */
};
void fake_answer(struct fake_session *f, struct str url, struct str body, struct fake_answer *out);

/* Steps that were never asked for, as a line for people that names the script's file; n 0 = none
 * left. Valid until free. */
struct str fake_leftover(struct fake_session *f);

/* The session as a transport under a scheduler (owned by the caller; the session must outlive it).
 */
struct transport *transport_fake(struct fake_session *f, struct sched *s);
#endif
