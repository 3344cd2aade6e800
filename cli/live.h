/* How live endpoints are called, as flags; what the environment says of them is read here alone. */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include "cli/options.h"
#include "evals/eval.h"

/* Its flags; NULL and -1 = not given. */
struct live_flags {
    const char *timeout, *ca, *key_file;
    struct option_list headers;
    int64_t rpm, tpm, max_in_flight;
    bool verbose; /* waits are told; the option is the verb's */
    bool patient; /* unless --timeout says more only the connection has a deadline: who asks has its
                     own */
};
#define LIVE_FLAGS_NONE ((struct live_flags){.rpm = -1, .tpm = -1, .max_in_flight = -1})
extern const char help_endpoint[];

enum { LIVE_OPTIONS = 7 };
/* Writes the LIVE_OPTIONS options that fill *f to out. */
void live_options(struct live_flags *f, struct option *out);

/* Those that count where another program asks and has the key: not --key-file. */
enum { PROXY_OPTIONS = LIVE_OPTIONS - 1 };
/* Their help. */
extern const char help_proxy[];
void proxy_options(struct live_flags *f, struct option *out);

/* What is made of flags and environment; texts are the environment's, the flags' or in arena. */
struct live {
    struct live_settings settings;
    struct str base_url; /* n 0 = the provider's own */
    struct str api_key;  /* n 0 = none */
};

/* base_url as the flag says, NULL = not given. The key is read only where `calls`, as
 * for a replay nothing of it counts. ERR_USAGE; of the key's file as file_read_secret. */
int live_open(const struct live_flags *f, enum wire_format format, const char *base_url, bool calls,
              struct arena *arena, struct live *out, struct err *e) MUST_CHECK;

struct serve_options;

/* The same for a server that records; *out is for live_prepare. ERR_USAGE: also where the server
 * records nothing and a flag is given. */
int proxy_open(const struct live_flags *f, struct arena *arena, struct serve_options *o,
               struct live *out, struct err *e) MUST_CHECK;

/* The base URLs, by enum wire_format, that a program of somebody else's would ask: what
 * `flag` gave for all (NULL = nothing), or what the environment says, or the provider's own.
 * ERR_USAGE: one is no URL. */
int upstreams_of(const char *flag, const char *given, struct str out[3], struct err *e) MUST_CHECK;
#endif
