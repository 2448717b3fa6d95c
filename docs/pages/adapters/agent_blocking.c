/* An agent around a library whose calls block: replace the functions `library_..` by calls of yours.
 *
 *     cc -O2 -Wall -pthread -o agent_blocking agent_blocking.c
 *     zconform smoke 'exec:./agent_blocking {locator}?role=client&agent=stdio'
 *
 * `start` and `capability` are answered at once, since they need no session. A thread opens the session, and runs the commands in
 * order. A command that comes before the session can be used is refused with `not_ready`; the event `ready` tells the harness to ask
 * again. Say `why` whenever something fails: it becomes part of the cause in the report. A real agent uses a JSON library. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };
static const char *const COMMANDS[] = {"declare_subscriber", "declare_queryable", "undeclare", "put", "get"};
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER, queueing = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static char *waiting[MOST];
static unsigned first, last;
static atomic_bool ready;
static void say(const char *format, ...) { /* one line; events and answers come from two threads */
    va_list values;
    va_start(values, format);
    pthread_mutex_lock(&writing);
    vprintf(format, values);
    puts("");
    fflush(stdout);
    pthread_mutex_unlock(&writing);
    va_end(values);
}

static char *field(const char *line, const char *name) { /* the value of a text or a number, or NULL */
    char start[64];
    snprintf(start, sizeof start, "\"%s\": ", name);
    const char *value = strstr(line, start);
    if (value == NULL) return NULL;
    value += strlen(start);
    return *value == '"' ? strndup(value + 1, strcspn(value + 1, "\"")) : strndup(value, strcspn(value, ",}"));
}

/* -- the library: a substitute, which has only its own data; each function may block, and returns why it failed, or NULL */

static struct entity { char *id, *key, *line; int queries; } entities[MOST];

static const char *library_open(const char *locator) { /* returns when the session can be used */
    const char *port = strrchr(locator, ':');
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (port == NULL) return "no port in the locator";
    address.sin_port = htons((unsigned short)atoi(port + 1));
    int link = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(link, (struct sockaddr *)&address, sizeof address) < 0) return "no link";
    char byte;
    return recv(link, &byte, 1, 0) == 1 ? NULL : "no session";
}

static const char *library_declare(char *line, int queries) {
    for (struct entity *one = entities; one < entities + MOST; one++)
        if (one->id == NULL) {
            *one = (struct entity){field(line, "id"), field(line, "key"), strdup(line), queries};
            return NULL;
        }
    return "too many declarations";
}

static const char *library_undeclare(char *line) {
    for (struct entity *one = entities; one < entities + MOST; one++)
        if (one->id != NULL && !strcmp(one->id, field(line, "id"))) return one->id = NULL;
    return "nothing is declared under this id";
}

static const char *library_put(char *line) {
    const char *key = field(line, "key"), *payload = field(line, "payload");
    for (struct entity *one = entities; one < entities + MOST; one++)
        if (one->id != NULL && !one->queries && !strcmp(one->key, key))
            say("{\"event\": \"sample\", \"id\": \"%s\", \"key\": \"%s\", \"kind\": \"put\", \"payload\": \"%s\"}",
                one->id, key, payload ? payload : "");
    return NULL;
}

static const char *library_get(char *line) {
    const char *id = field(line, "id"), *key = field(line, "key");
    for (struct entity *one = entities; one < entities + MOST; one++) {
        if (one->id == NULL || !one->queries || strcmp(one->key, key)) continue;
        say("{\"event\": \"query\", \"id\": \"%s\", \"key\": \"%s\", \"parameters\": \"\"}", one->id, key);
        for (const char *at = strstr(one->line, "\"plan\": "); at && (at = strchr(at, '{')) != NULL; at++) {
            char *step = strndup(at, strcspn(at, "}") + 1), *payload = field(step, "reply"), *on = field(step, "key");
            if (payload != NULL) /* on the key of the step, or else on the query's own key */
                say("{\"event\": \"reply\", \"id\": \"%s\", \"key\": \"%s\", \"kind\": \"put\", \"payload\": \"%s\"}", id, on ? on : key, payload);
        }
    }
    say("{\"event\": \"end\", \"id\": \"%s\"}", id);
    return NULL;
}

/* -- the agent */

static int known(const char *command) {
    size_t at = 0, all = sizeof COMMANDS / sizeof *COMMANDS;
    while (at < all && strcmp(COMMANDS[at], command)) at++;
    return at < all;
}

static void *work(void *locator) { /* opens the session, then runs the commands one after the other */
    const char *why = library_open(locator);
    if (why != NULL) return fprintf(stderr, "no session: %s\n", why), NULL;
    ready = 1;
    say("{\"event\": \"ready\"}");
    for (;;) {
        pthread_mutex_lock(&queueing);
        while (first == last) pthread_cond_wait(&came, &queueing);
        char *line = waiting[first++ % MOST], *command = field(line, "cmd"), *seq = field(line, "seq");
        pthread_mutex_unlock(&queueing);
        why = !strcmp(command, "put") ? library_put(line)
            : !strcmp(command, "get") ? library_get(line)
            : !strcmp(command, "undeclare") ? library_undeclare(line)
            : library_declare(line, !strcmp(command, "declare_queryable"));
        why ? say("{\"seq\": %s, \"ok\": false, \"why\": \"%s\"}", seq, why) : say("{\"seq\": %s, \"ok\": true}", seq);
    }
}

int main(int count, char **words) { /* answers what needs no session, and hands the rest over */
    char *line = NULL, *command = "";
    size_t room = 0;
    pthread_t worker;
    if (count < 2 || pthread_create(&worker, NULL, work, words[1]) != 0) return 2;
    while (strcmp(command, "close") && getline(&line, &room, stdin) > 0) {
        char *seq = field(line, "seq"), *asked = field(line, "name");
        command = field(line, "cmd");
        if (!strcmp(command, "start"))
            say("{\"seq\": %s, \"ok\": true, \"identity\": {\"name\": \"mylibrary\", \"version\": \"1\", \"language\": \"C\"}, \"zid\": null, "
                "\"capabilities\": [\"%s\", \"%s\", \"%s\", \"%s\", \"%s\"]}", seq, COMMANDS[0], COMMANDS[1], COMMANDS[2], COMMANDS[3], COMMANDS[4]);
        else if (!strcmp(command, "close") || (!strcmp(command, "capability") && known(asked))) say("{\"seq\": %s, \"ok\": true}", seq);
        else if (!known(command)) say("{\"seq\": %s, \"ok\": false, \"unimplemented\": true}", seq);
        else if (!ready) say("{\"seq\": %s, \"ok\": false, \"why\": \"the session is not open yet\", \"not_ready\": true}", seq);
        else {
            pthread_mutex_lock(&queueing);
            waiting[last++ % MOST] = strdup(line);
            pthread_cond_signal(&came);
            pthread_mutex_unlock(&queueing);
        }
    }
    return 0;
}
