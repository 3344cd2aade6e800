/* A small agent in C: it answers the question on its standard input with one tool, over Chat
 * Completions. It knows nothing of assay: its model is wherever OPENAI_BASE_URL says. */
#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 8, TEXT_BYTES_MAX = 1 << 20 };

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"subtract\",\"description\":\"a - b\","
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"},"
    "\"b\":{\"type\":\"number\"}},\"required\":[\"a\",\"b\"]}}}]";

struct text {
    char *p;
    size_t n;
};

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct text *t = arg;
    size_t n = size * count;
    char *more = n < TEXT_BYTES_MAX - t->n ? realloc(t->p, t->n + n + 1) : NULL;
    if (more == NULL) {
        return 0;
    }
    t->p = more;
    memcpy(t->p + t->n, bytes, n);
    t->n += n;
    t->p[t->n] = '\0';
    return n;
}

/* Sends the messages; the model's, owned by the caller, or NULL with a complaint. */
static cJSON *ask(CURL *curl, const cJSON *messages)
{
    struct text answer = {NULL, 0};
    long status = 0;
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "model", "fake-1");
    cJSON_AddItemToObject(body, "messages", cJSON_Duplicate(messages, 1));
    cJSON_AddItemToObject(body, "tools", cJSON_Parse(tools));
    char *text = cJSON_PrintUnformatted(body);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    CURLcode rc = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    cJSON *reply = cJSON_Parse(answer.p);
    cJSON *choice = cJSON_GetArrayItem(cJSON_GetObjectItem(reply, "choices"), 0);
    cJSON *message = cJSON_DetachItemFromObject(choice, "message");
    if (message == NULL) {
        fprintf(stderr, "no reply: %s, status %ld\n", curl_easy_strerror(rc), status);
    }
    cJSON_Delete(reply);
    cJSON_Delete(body);
    free(text);
    free(answer.p);
    return message;
}

/* Carries out the calls of a reply; how many there were. */
static int carry_out(const cJSON *message, cJSON *messages)
{
    int n = 0;
    const cJSON *call = NULL;
    cJSON_ArrayForEach(call, cJSON_GetObjectItem(message, "tool_calls"))
    {
        char result[64];
        const cJSON *function = cJSON_GetObjectItem(call, "function");
        cJSON *args = cJSON_Parse(cJSON_GetStringValue(cJSON_GetObjectItem(function, "arguments")));
        double a = cJSON_GetNumberValue(cJSON_GetObjectItem(args, "a"));
        double b = cJSON_GetNumberValue(cJSON_GetObjectItem(args, "b"));
        snprintf(result, sizeof result, "%.1f", a - b);
        cJSON *said = cJSON_CreateObject();
        cJSON_AddStringToObject(said, "role", "tool");
        cJSON_AddStringToObject(said, "tool_call_id",
                                cJSON_GetStringValue(cJSON_GetObjectItem(call, "id")));
        cJSON_AddStringToObject(said, "content", result);
        cJSON_AddItemToArray(messages, said);
        cJSON_Delete(args);
        n++;
    }
    return n;
}

/* Talks until there is an answer, and prints it. Returns the exit status. */
static int converse(CURL *curl, const char *question)
{
    cJSON *messages = cJSON_CreateArray();
    cJSON *user = cJSON_CreateObject();
    cJSON_AddStringToObject(user, "role", "user");
    cJSON_AddStringToObject(user, "content", question);
    cJSON_AddItemToArray(messages, user);
    int status = 1;
    for (int step = 0; step < STEPS_MAX && status == 1; step++) {
        cJSON *message = ask(curl, messages);
        if (message == NULL) {
            break;
        }
        cJSON_AddItemToArray(messages, message);
        if (carry_out(message, messages) == 0) {
            printf("%s\n", cJSON_GetStringValue(cJSON_GetObjectItem(message, "content")));
            status = 0;
        }
    }
    cJSON_Delete(messages);
    return status;
}

int main(void)
{
    char url[1024];
    static char question[1 << 16];
    const char *base = getenv("OPENAI_BASE_URL");
    size_t n = fread(question, 1, sizeof question - 1, stdin);
    question[n] = '\0';
    snprintf(url, sizeof url, "%s/chat/completions",
             base != NULL ? base : "https://api.openai.com/v1");
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, getenv("OPENAI_API_KEY"));
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    int status = converse(curl, question);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return status;
}
