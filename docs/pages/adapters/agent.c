/* An example agent: a client that connects, and the application above it, which the harness controls.
 *
 *     cc -O2 -Wall -o agent agent.c && zconform run 'exec:./agent {locator}?role=client&agent=stdio'
 *
 * The program reads one JSON request per line on standard input and writes one JSON answer per line on standard output, with events
 * at any time between them; logs belong on standard error. The first half stands for your implementation: it opens a session,
 * publishes, receives, and ends queries. Replace the calls of it in `command` by your own. A real agent uses a JSON library. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { INIT = 1, OPEN, CLOSE, KEEP_ALIVE, FRAME, RESPONSE_FINAL = 0x1a, REQUEST = 0x1c, PUSH = 0x1d, DECLARE = 0x1e };
enum { PUT = 1, DEL = 2, D_SUBSCRIBER = 2, NAMED = 0x20, STAMPED = 0x20, MAPPING = 0x40, CLIENT = 2, OUR_LEASE = 10, MOST = 16, LONGEST = 60000, TO_SELF = 7 };

typedef struct { const uint8_t *at, *end; int bad; } Reader;
typedef struct { char id[64], key[256]; } Subscriber;

static int room, opened;               /* the link; whether the session on it is open */
static uint8_t us[4];                  /* our ZenohID */
static uint32_t mask, sn;              /* sequence numbers of the session: the mask, and the next one */
static uint64_t said, heard, lease;    /* milliseconds */
static Subscriber subscribers[MOST];

static void event(const char *what, const char *id, const char *key, const char *kind, const uint8_t *payload, size_t n);

/* ---- stands for your implementation: a session */

static unsigned byte(Reader *r) { return r->at < r->end ? *r->at++ : (r->bad = 1, 0u); }

static uint64_t vle(Reader *r) { /* seven bits a byte, the lowest first */
    uint64_t value = 0;
    for (int shift = 0; shift <= 56; shift += 7) {
        unsigned next = byte(r);
        value |= (uint64_t)(shift == 56 ? next : next & 0x7f) << shift;
        if (!(next & 0x80)) break;
    }
    return value;
}

static const uint8_t *skip(Reader *r, uint64_t n) { /* n bytes, and where they stand */
    const uint8_t *here = r->at;
    if (n > (uint64_t)(r->end - r->at)) r->bad = 1, r->at = r->end;
    else r->at += n;
    return here;
}

static void extensions(Reader *r, unsigned more) { /* none is known here, and one that may not be skipped is bad */
    for (more &= 0x80; more && !r->bad;) {
        unsigned ext = byte(r), form = ext >> 5 & 3;
        if (ext & 0x10 || form == 3) r->bad = 1;
        if (form == 1) vle(r);
        if (form == 2) skip(r, vle(r));
        more = ext & 0x80;
    }
}

static uint8_t *put(uint8_t *out, uint64_t value) {
    for (int n = 0; n < 8 && value > 0x7f; n++, value >>= 7) *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value; /* the ninth byte holds eight bits */
    return out;
}

static uint8_t *put_bytes(uint8_t *out, const void *bytes, size_t n) { return (uint8_t *)memcpy(put(out, n), bytes, n) + n; }

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void leave(void) {
    if (room) close(room);
    room = 0, opened = 0;
}

static void say(const uint8_t *message, size_t n) { /* a batch: its length in two bytes, low byte first */
    static uint8_t batch[2 + 65535];
    batch[0] = (uint8_t)n, batch[1] = (uint8_t)(n >> 8), said = now();
    memcpy(batch + 2, message, n);
    for (size_t done = 0; room && done < n + 2;) { /* none once the link is gone: 0 is standard input */
        ssize_t went = send(room, batch + done, n + 2 - done, MSG_NOSIGNAL);
        if (went <= 0) { leave(); return; }
        done += (size_t)went;
    }
}

static void say_network(const uint8_t *message, size_t n) { /* in a FRAME, reliably, with the next number */
    static uint8_t frame[65535];
    uint8_t *at = put(frame + 1, sn);
    frame[0] = FRAME | 0x20, sn = (sn + 1) & mask;
    memcpy(at, message, n);
    say(frame, (size_t)(at - frame) + n);
}

static void say_keyed(uint8_t *message, uint8_t *at, const char *key, const void *rest, size_t n) { /* the key as text: no number stands for it */
    *at++ = 0;
    at = put_bytes(at, key, strlen(key));
    if (n) memcpy(at, rest, n);
    say_network(message, (size_t)(at - message) + n);
}

static void publish(const char *key, int kind, const uint8_t *payload, size_t n) {
    static uint8_t message[LONGEST + 600], body[LONGEST + 40], *at;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t stamp = (uint64_t)t.tv_sec << 32 | ((uint64_t)t.tv_nsec << 32) / 1000000000; /* seconds, and their 2^-32 parts */
    message[0] = PUSH | NAMED | MAPPING, body[0] = (uint8_t)(kind | STAMPED);
    at = put_bytes(put(body + 1, stamp), us, sizeof us);
    say_keyed(message, message + 1, key, body, (size_t)((kind == PUT ? put_bytes(at, payload, n) : at) - body));
}

static void subscribe(uint32_t number, const char *key) {
    uint8_t message[600] = {DECLARE, D_SUBSCRIBER | NAMED | MAPPING};
    say_keyed(message, put(message + 2, number), key, "", 0);
}

static int meets(const char *wanted, const char *key) { /* key expressions with * and ** in `wanted`, a plain key */
    if (!*wanted || !*key) return !strcmp(wanted, key) || !strcmp(wanted, "**");
    size_t w = strcspn(wanted, "/"), k = strcspn(key, "/");
    const char *wanted_on = wanted + w + (wanted[w] == '/'), *key_on = key + k + (key[k] == '/');
    if (w == 2 && !memcmp(wanted, "**", 2)) return (!*wanted_on) || meets(wanted_on, key) || meets(wanted, key_on);
    int same = (w == 1 && *wanted == '*') || (w == k && !memcmp(wanted, key, k));
    return same && (wanted[w] == '/') >= (key[k] == '/') && meets(wanted_on, key_on);
}

static void on_push(Reader *r, unsigned header) {
    char key[256];
    uint64_t number = vle(r), size = header & NAMED ? vle(r) : 0, n = 0;
    const uint8_t *text = skip(r, size), *payload = r->at;
    extensions(r, header);
    unsigned body = byte(r);
    if (body & STAMPED) vle(r), skip(r, vle(r));
    if ((body & 0x1f) == PUT && body & 0x40 && vle(r) & 1) skip(r, vle(r)); /* an encoding with its schema */
    extensions(r, body);
    if ((body & 0x1f) == PUT) n = vle(r), payload = skip(r, n);
    if (r->bad || number || size >= sizeof key) return; /* a real node knows the keys that were given numbers */
    memcpy(key, text, size), key[size] = 0;
    for (int at = 0; at < MOST; at++)
        if (*subscribers[at].id && meets(subscribers[at].key, key))
            event("sample", subscribers[at].id, key, (body & 0x1f) == PUT ? "put" : "delete", payload, n);
}

static void on_request(Reader *r) { /* nobody serves anything here: each query is over at once */
    uint8_t over[16] = {RESPONSE_FINAL};
    say_network(over, (size_t)(put(over + 1, vle(r)) - over));
    r->at = r->end;
}

static void on_frame(Reader *r, unsigned header) {
    vle(r), extensions(r, header);
    while (room && r->at < r->end && !r->bad) {
        unsigned inner = byte(r);
        if ((inner & 0x1f) == REQUEST) on_request(r);
        else if ((inner & 0x1f) == PUSH) on_push(r, inner);
        else r->at = r->end; /* a real node reads on */
    }
}

static void on_init(Reader *r, unsigned header) {
    static const uint8_t zero[16];
    unsigned version = byte(r), packed = byte(r), length = (packed >> 4) + 1, resolution = 0x0a;
    const uint8_t *zid = skip(r, length);
    if (header & 0x40) resolution = byte(r), skip(r, 2);
    uint64_t size = vle(r);
    const uint8_t *cookie = skip(r, size);
    extensions(r, header);
    if (mask || r->bad || !(header & 0x20) || version != 9 || (packed & 3) == 3 || !memcmp(zid, zero, length)) { leave(); return; }
    if ((resolution & 3) > 2 || (resolution >> 2 & 3) > 2 || size > 4096) { leave(); return; } /* more than we proposed */
    if (length == sizeof us && !memcmp(zid, us, length)) { say((uint8_t[]){CLOSE, TO_SELF}, 2), leave(); return; }
    mask = (uint32_t[]){0x7f, 0x3fff, 0x0fffffff}[resolution & 3];
    if (getrandom(&sn, sizeof sn, 0) != sizeof sn) exit(3);
    uint8_t message[4200] = {OPEN | 0x40, OUR_LEASE}, *at = put(message + 2, sn &= mask);
    say(message, (size_t)(put_bytes(at, cookie, size) - message));
}

static void on_open(Reader *r, unsigned header) {
    lease = vle(r) * (header & 0x40 ? 1000 : 1), vle(r), extensions(r, header);
    if (r->bad || !(header & 0x20) || !mask) { leave(); return; }
    opened = 1;
    for (uint32_t at = 0; at < MOST; at++)
        if (*subscribers[at].id) subscribe(at, subscribers[at].key);
}

static void on_batch(const uint8_t *bytes, size_t n) {
    for (Reader r = {bytes, bytes + n, 0}; room && r.at < r.end;) {
        unsigned header = byte(&r), id = header & 0x1f;
        if (!opened && id == INIT) on_init(&r, header);
        else if (!opened && id == OPEN) on_open(&r, header);
        else if (opened && id == FRAME) on_frame(&r, header);
        else if (opened && id == KEEP_ALIVE) extensions(&r, header);
        else leave(); /* CLOSE, or what cannot be read */
    }
}

static void listen_to_link(void) {
    static uint8_t bytes[2 + 65535];
    static size_t have;
    static int whose;
    if (whose != room) have = 0, whose = room;
    ssize_t n = recv(room, bytes + have, sizeof bytes - have, MSG_DONTWAIT);
    if (n <= 0) { leave(), whose = 0; return; }
    heard = now(), have += (size_t)n;
    for (size_t size; room && have >= 2 && have >= (size = 2 + (bytes[0] | (size_t)bytes[1] << 8)); have -= size) {
        on_batch(bytes + 2, size - 2);
        memmove(bytes, bytes + size, have - size);
    }
    if (!room) whose = 0;
}

static void look_after(const struct sockaddr_in *router) { /* connect where there is no session; keep the one that there is */
    if (room && opened && now() - said > OUR_LEASE * 1000 / 4) say((uint8_t[]){KEEP_ALIVE}, 1);
    if (room && now() - heard > (opened ? lease : OUR_LEASE * 1000)) leave();
    if (room) return;
    room = socket(AF_INET, SOCK_STREAM, 0), mask = 0, heard = now();
    if (connect(room, (const struct sockaddr *)router, sizeof *router)) { leave(); return; }
    uint8_t message[] = {INIT | 0x40, 9, 3 << 4 | CLIENT, us[0], us[1], us[2], us[3], 0x0a, 0xff, 0xff};
    say(message, sizeof message);
}

/* ---- the agent */

static const char *COMMANDS[] = {"put", "delete", "declare_subscriber", "undeclare", NULL};

static int field(const char *line, const char *name, char *value, size_t most) { /* the value of a field, as text: 0 where there is none */
    char key[32];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(line, key);
    if (!at) return *value = 0;
    at += strlen(key) + (at[strlen(key)] == '"');
    size_t n = strcspn(at, "\",}");
    snprintf(value, most, "%.*s", (int)n, at);
    return n < most;
}

static void event(const char *what, const char *id, const char *key, const char *kind, const uint8_t *payload, size_t n) {
    printf("{\"event\": \"%s\", \"id\": \"%s\", \"key\": \"%s\", \"kind\": \"%s\", \"payload\": \"", what, id, key, kind);
    while (n--) printf("%02x", *payload++);
    printf("\"}\n");
    fflush(stdout);
}

static const char *change(const char *id, const char *key, int gone) { /* subscribers come and go; why not, or NULL */
    for (uint32_t at = 0; at < MOST; at++) {
        if (strcmp(subscribers[at].id, gone ? id : "")) continue;
        if (gone) return memset(&subscribers[at], 0, sizeof subscribers[at]), NULL; /* a real node says U_SUBSCRIBER too */
        snprintf(subscribers[at].id, sizeof subscribers[at].id, "%s", id);
        snprintf(subscribers[at].key, sizeof subscribers[at].key, "%s", key);
        if (opened) subscribe(at, key);
        return NULL;
    }
    return gone ? "nothing has that id" : "too many subscribers";
}

static const char *command(const char *cmd, const char *line) { /* do it: why not, or NULL */
    static char hex[2 * LONGEST + 1];
    static uint8_t payload[LONGEST];
    char id[64], key[256];
    size_t n = 0;
    field(line, "id", id, sizeof id);
    if (!field(line, "key", key, sizeof key) && *key) return "the key is too long";
    if (!strcmp(cmd, "declare_subscriber")) return change(id, key, 0);
    if (!strcmp(cmd, "undeclare")) return change(id, key, 1);
    if (!opened) return "there is no session";
    if (!*key) return "this agent has no publishers";
    if (!field(line, "payload", hex, sizeof hex) && *hex) return "the payload is too long";
    for (unsigned one; n < LONGEST && sscanf(hex + 2 * n, "%2x", &one) == 1; n++) payload[n] = (uint8_t)one;
    publish(key, !strcmp(cmd, "put") ? PUT : DEL, payload, n);
    return NULL;
}

static void answer(const char *line) {
    char cmd[64], name[64], seq[24];
    field(line, "cmd", cmd, sizeof cmd), field(line, "seq", seq, sizeof seq), field(line, "name", name, sizeof name);
    const char **known = COMMANDS;
    while (*known && strcmp(*known, strcmp(cmd, "capability") ? cmd : name)) known++;
    printf("{\"seq\": %s, ", seq);
    if (!strcmp(cmd, "start"))
        printf("\"ok\": true, \"identity\": {\"name\": \"tiny-c\", \"version\": \"0.1\", \"language\": \"C\"}, \"zid\": null, "
               "\"capabilities\": [\"put\", \"delete\", \"declare_subscriber\", \"undeclare\"]}\n");
    else if (!strcmp(cmd, "close") || (!strcmp(cmd, "capability") && *known)) printf("\"ok\": true}\n");
    else if (!*known) printf("\"ok\": false, \"unimplemented\": true}\n"); /* that is no failure */
    else {
        const char *why = command(cmd, line);
        if (why) printf("\"ok\": false, \"why\": \"%s\"}\n", why);
        else printf("\"ok\": true}\n");
    }
    fflush(stdout); /* after each line: the harness waits for it */
    if (!strcmp(cmd, "close")) exit(0);
}

static void listen_to_harness(void) {
    static char lines[1 << 18], *end;
    static size_t have;
    ssize_t n = read(0, lines + have, sizeof lines - 1 - have);
    if (n <= 0) exit(0);
    for (have += (size_t)n; (end = memchr(lines, '\n', have));) {
        *end = 0;
        answer(lines);
        have -= (size_t)(end + 1 - lines);
        memmove(lines, end + 1, have);
    }
}

int main(int count, char **words) {
    const char *port = count > 1 ? strrchr(words[1], ':') : NULL;
    struct sockaddr_in router = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(port ? atoi(port + 1) : 7447)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (getrandom(us, sizeof us, 0) != sizeof us) return 3;
    us[3] |= 1; /* a ZenohID does not end with zero */
    for (;;) {
        look_after(&router);
        struct pollfd ready[] = {{0, POLLIN, 0}, {room ? room : -1, POLLIN, 0}};
        poll(ready, 2, room ? 1000 : 50);
        if (ready[1].revents) listen_to_link();
        if (ready[0].revents) listen_to_harness();
    }
}
