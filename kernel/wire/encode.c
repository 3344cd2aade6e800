/* What requests of several formats have in common. */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

void encode_begin(struct buf *out, const char *type)
{
    json_next(out);
    buf_char(out, '{');
    json_put_text(out, "type", str_of(type));
}

void encode_own(struct buf *out, const struct part *part)
{
    json_next(out);
    buf_add(out, part->text);
}

void encode_tool(struct buf *out, const struct tool_spec *tool, const char *schema_key)
{
    json_put_text(out, "name", tool->name);
    if (tool->description.n > 0) {
        json_put_text(out, "description", tool->description);
    }
    json_key(out, schema_key);
    buf_add(out, tool->parameters.n > 0 ? tool->parameters : STR("{\"type\":\"object\"}"));
}

void encode_stream(struct buf *out, const struct llm_request *rq)
{
    if (rq->stream) {
        json_put_bool(out, "stream", true);
    }
}

void encode_temperature(struct buf *out, const struct llm_request *rq)
{
    if (rq->temperature.n > 0) {
        json_key(out, "temperature");
        buf_add(out, rq->temperature);
    }
}
