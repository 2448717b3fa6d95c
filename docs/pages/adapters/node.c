/* An example node: it listens, opens sessions, keeps them alive, closes them, and ends queries that no queryable serves.
 *
 *     cc -O2 -Wall -o node node.c && zconform run 'exec:./node {port}?role=peer&as=responder'
 *
 * It has one process per link, so that a fault ends only one session. It routes nothing and has no application; checks of what it
 * does not do are `not-applicable`. Replace `serve` by your own stack. */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { INIT = 1, OPEN, CLOSE, KEEP_ALIVE, FRAME, FRAGMENT, PUT = 1, DEL, QUERY, REPLY, ERR };
enum { INTEREST = 0x19, RESPONSE_FINAL, FINAL = 0x1a, RESPONSE, REQUEST, PUSH, DECLARE };
enum { UNSUPPORTED = 1, INVALID, EXPIRED = 5, TO_SELF = 7 };
enum { A = 0x20, S = 0x40, T = 0x40, R = 0x20, Z = 0x80, MANDATORY = 0x10, OUR_LEASE = 10 };
enum { NODE_ID = 1 << 3, TARGET = 1 << 4, WIRE_EXPR = 1 << 15 }; /* mandatory extensions of REQUEST, as bits of their ids: nothing here depends on them */

typedef struct { const uint8_t *at, *end; int bad; } Reader;
typedef struct { int link, opened; uint8_t cookie[16]; uint32_t mask, sn; uint64_t lease; } Session;

static unsigned byte(Reader *r) { return r->at < r->end ? *r->at++ : (r->bad = 1, 0u); }

static uint64_t vle(Reader *r) { /* seven bits a byte, the lowest first */
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        unsigned next = byte(r);
        value |= (uint64_t)(shift == 56 ? next : next & 0x7f) << shift;
        if (shift == 56 || !(next & 0x80)) break;
    }
    return value;
}

static const uint8_t *skip(Reader *r, uint64_t n) { /* n bytes, and where they stand */
    const uint8_t *here = r->at;
    if (n > (uint64_t)(r->end - r->at)) r->bad = 1, r->at = r->end;
    else r->at += n;
    return here;
}

static void text(Reader *r) { /* a length, and so many bytes of UTF-8 */
    uint64_t n = vle(r);
    const uint8_t *at = skip(r, n);
    for (const uint8_t *end = r->at; at < end && !r->bad;) {
        unsigned lead = *at++, rest = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || end - at < (long)rest) r->bad = 1;
        else if (rest && (*at < (lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80) || *at > (lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf))) r->bad = 1;
        for (; rest && !r->bad; rest--) r->bad |= (*at++ & 0xc0) != 0x80;
    }
}

static void zid(Reader *r, uint64_t n) { /* a ZenohID of n bytes, which is not zero */
    static const uint8_t zero[16];
    if (n < 1 || n > 16) r->bad = 1;
    const uint8_t *here = skip(r, n);
    if (!r->bad) r->bad = !memcmp(here, zero, n);
}

static void timestamp(Reader *r) {
    vle(r), zid(r, vle(r));
}

static void encoding(Reader *r) {
    if (vle(r) & 1) skip(r, vle(r));
}

static void source(Reader *r) { /* a ZenohID and two numbers */
    zid(r, 1 + (byte(r) >> 4)), vle(r), vle(r);
}

typedef void (*Content)(Reader *); /* what an extension of bytes holds */

static int extensions_of(Reader *r, unsigned header, unsigned known, const Content *content) { /* 0 for a mandatory one whose id is no bit of `known` */
    for (int more = header & Z; more && !r->bad;) {
        unsigned ext = byte(r);
        unsigned form = (ext & 0xf) == 15 ? 2 : 1; /* of those that are known: bytes for WireExpr, else a number */
        if ((ext & MANDATORY && !(known >> (ext & 0xf) & 1 && (ext >> 5 & 3) == form)) || (ext >> 5 & 3) == 3) return 0;
        if ((ext >> 5 & 3) == 1) vle(r);
        if ((ext >> 5 & 3) == 2) {
            const uint8_t *here = skip(r, vle(r));
            Reader in = {here, r->at, r->bad};
            if (content && content[ext & 0xf]) content[ext & 0xf](&in);
            r->bad |= in.bad;
        }
        more = ext & Z;
    }
    return !r->bad;
}

static int extensions(Reader *r, unsigned header, unsigned known) { return extensions_of(r, header, known, NULL); }

static uint8_t *put(uint8_t *out, uint64_t value) {
    for (; value > 0x7f; value >>= 7) *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

static void say(Session *s, const uint8_t *message, size_t n) { /* a batch: its length in two bytes, low byte first */
    uint8_t batch[256] = {(uint8_t)n, (uint8_t)(n >> 8)};
    memcpy(batch + 2, message, n);
    if (send(s->link, batch, n + 2, MSG_NOSIGNAL) < 0) exit(0);
}

static void refuse(Session *s, uint8_t reason) { /* of a handshake the link, of a session all of it */
    uint8_t message[] = {CLOSE | (s->opened ? A : 0), reason};
    say(s, message, sizeof message);
    exit(0);
}

static void on_init(Session *s, Reader *r, unsigned header) {
    unsigned version = byte(r), packed = byte(r), resolution = 0x0a, batch = 65535;
    const uint8_t *zid = skip(r, 1 + (packed >> 4));
    static const uint8_t zero[16], ours[] = {0x66, 0x65, 0x72, 0x7a};
    if (header & S) { resolution = byte(r) & 0x0f; batch = byte(r); batch |= byte(r) << 8; }
    if (!r->bad && version != 9) refuse(s, UNSUPPORTED);
    if (r->bad || header & A || (packed & 3) == 3 || !extensions(r, header, 0)) refuse(s, INVALID);
    if (!memcmp(zid, zero, 1 + (packed >> 4))) refuse(s, INVALID);
    if (packed >> 4 == 3 && !memcmp(zid, ours, 4)) refuse(s, TO_SELF);
    if ((resolution & 3) > 2) resolution = (resolution & ~3u) | 2; /* we count in 32 bits, and take what is less */
    if (resolution >> 2 > 2) resolution = (resolution & 3) | 2 << 2;
    s->mask = (uint32_t[]){0x7f, 0x3fff, 0x0fffffff}[resolution & 3];
    FILE *chance = fopen("/dev/urandom", "r");
    if (!chance || fread(s->cookie, sizeof s->cookie, 1, chance) != 1) exit(3);
    fclose(chance);
    uint8_t ack[64] = {INIT | A | S, 9, 3 << 4 | 1 /* a peer */, 0x66, 0x65, 0x72, 0x7a, (uint8_t)resolution, (uint8_t)batch, (uint8_t)(batch >> 8), sizeof s->cookie};
    memcpy(ack + 11, s->cookie, sizeof s->cookie);
    say(s, ack, 11 + sizeof s->cookie);
}

static void on_open(Session *s, Reader *r, unsigned header) {
    s->lease = vle(r) * (header & T ? 1000 : 1);
    uint64_t sn = vle(r), size = vle(r);
    const uint8_t *cookie = skip(r, size);
    if (r->bad || header & A || !s->mask || sn > s->mask || !extensions(r, header, 0)) refuse(s, INVALID);
    if (size != sizeof s->cookie || memcmp(cookie, s->cookie, size)) refuse(s, INVALID);
    uint8_t ack[16] = {OPEN | A | T, OUR_LEASE};
    s->sn = (uint32_t)getpid() & s->mask;
    say(s, ack, (size_t)(put(ack + 2, s->sn) - ack));
    s->opened = 1;
}

static void key(Reader *r, unsigned header) { /* its number, and what follows it */
    vle(r);
    if (header & A) text(r);
}

static void on_query(Session *s, Reader *r, unsigned header) { /* nobody serves anything here: each query is over at once */
    static const Content of_request[16] = {[2] = timestamp}, of_query[16] = {[1] = source, [3] = encoding};
    uint64_t id = vle(r);
    key(r, header);
    if (!extensions_of(r, header, NODE_ID | TARGET, of_request)) refuse(s, INVALID);
    unsigned query = byte(r);
    if (query & A) vle(r);
    if (query & S) text(r);
    if ((query & 0x1f) != QUERY || !extensions_of(r, query, 0, of_query)) refuse(s, INVALID);
    uint8_t over[32] = {FRAME | R}, *at = put(over + 1, s->sn);
    *at++ = RESPONSE_FINAL;
    say(s, over, (size_t)(put(at, id) - over));
    s->sn = (s->sn + 1) & s->mask;
}

static int value(Reader *r) { /* PUT or DEL, to its end; 0 where it must be rejected */
    unsigned body = byte(r), id = body & 0x1f;
    if (id != PUT && id != DEL) return 0;
    if (body & A) timestamp(r);
    if (body & S) encoding(r);
    if (!extensions(r, body, 0)) return 0;
    if (id == PUT) skip(r, vle(r));
    return 1;
}

static int response(Reader *r, unsigned header) {
    vle(r), key(r, header);
    if (!extensions(r, header, NODE_ID)) return 0;
    unsigned body = byte(r);
    if ((body & 0x1f) == REPLY) {
        if (body & A) byte(r);
        return extensions(r, body, 0) && value(r);
    }
    if ((body & 0x1f) != ERR) return 0;
    if (body & S) encoding(r);
    return extensions(r, body, 0) && skip(r, vle(r));
}

static int declare(Reader *r, unsigned header) {
    if (header & A) vle(r);
    if (!extensions(r, header, NODE_ID)) return 0;
    unsigned body = byte(r), id = body & 0x1f;
    if (id != FINAL) vle(r);
    if (id != FINAL && !(id & 1)) key(r, body); /* what takes back names no key, but in an extension */
    return extensions(r, body, WIRE_EXPR);
}

static int interest(Reader *r, unsigned header) {
    vle(r);
    unsigned options = header & (A | S) ? byte(r) : 0;
    if (options & 0x10) key(r, options);
    return extensions(r, header, NODE_ID);
}

static int on_network(Reader *r, unsigned header) { /* nobody subscribes, asks or declares here: to the end of the message */
    switch (header & 0x1f) {
    case PUSH: key(r, header); return extensions(r, header, NODE_ID) && value(r);
    case RESPONSE: return response(r, header);
    case RESPONSE_FINAL: vle(r); return extensions(r, header, NODE_ID);
    case DECLARE: return declare(r, header);
    case INTEREST: return interest(r, header);
    }
    r->at = r->end; /* a real node reads on behind OAM */
    return 1;
}

static void on_messages(Session *s, Reader *r) {
    while (r->at < r->end && (*r->at & 0x1f) > 0x18) {
        unsigned inner = byte(r);
        if ((inner & 0x1f) == REQUEST) on_query(s, r, inner);
        else if (!on_network(r, inner)) refuse(s, INVALID);
    }
}

static void on_frame(Session *s, Reader *r, unsigned header) {
    if (vle(r) > s->mask || !extensions(r, header, 0)) refuse(s, INVALID);
    on_messages(s, r);
}

static void on_fragment(Session *s, Reader *r, unsigned header) { /* the last thing in its batch; no lanes were settled */
    static uint8_t pieces[2][1 << 20];
    static size_t have[2];
    uint8_t *whole = pieces[!(header & R)];
    size_t *size = &have[!(header & R)], more;
    if (vle(r) > s->mask || !extensions(r, header, 0)) refuse(s, INVALID);
    more = (size_t)(r->end - r->at);
    if (more > sizeof *pieces - *size) refuse(s, INVALID);
    memcpy(whole + *size, skip(r, more), more);
    *size += more;
    if (header & S) return; /* M: more of it follows */
    Reader all = {whole, whole + *size, 0};
    *size = 0;
    on_messages(s, &all);
}

static void on_batch(Session *s, const uint8_t *bytes, size_t n) {
    for (Reader r = {bytes, bytes + n, 0}; r.at < r.end;) {
        unsigned header = byte(&r), id = header & 0x1f;
        if (id == CLOSE) exit(0);
        if (!s->opened && id == INIT && !s->mask) on_init(s, &r, header);
        else if (!s->opened && id == OPEN) on_open(s, &r, header);
        else if (s->opened && id == KEEP_ALIVE && extensions(&r, header, 0)) continue;
        else if (s->opened && id == FRAME) on_frame(s, &r, header);
        else if (s->opened && id == FRAGMENT) on_fragment(s, &r, header);
        else refuse(s, INVALID);
    }
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void serve(int link) {
    static uint8_t bytes[2 + 65535];
    Session s = {.link = link, .lease = OUR_LEASE * 1000};
    size_t have = 0;
    uint64_t heard = now(), said = heard;
    for (struct pollfd ready = {link, POLLIN, 0};;) {
        poll(&ready, 1, 100);
        if (ready.revents) {
            ssize_t n = recv(link, bytes + have, sizeof bytes - have, 0);
            if (n <= 0) exit(0);
            have += (size_t)n, heard = now();
        }
        for (size_t size; have >= 2 && have >= (size = 2 + (bytes[0] | (size_t)bytes[1] << 8)); have -= size) {
            on_batch(&s, bytes + 2, size - 2);
            memmove(bytes, bytes + size, have - size);
        }
        if (now() - heard > s.lease) refuse(&s, EXPIRED);
        if (s.opened && now() - said > OUR_LEASE * 1000 / 4) say(&s, (uint8_t[]){KEEP_ALIVE}, 1), said = now();
    }
}

int main(int count, char **words) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(count > 1 ? atoi(words[1]) : 7447)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int door = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    signal(SIGCHLD, SIG_IGN);
    if (bind(door, (struct sockaddr *)&at, sizeof at) || listen(door, 128)) return perror("listen"), 1;
    for (int link; (link = accept(door, NULL, NULL)) >= 0; close(link)) {
        if (!fork()) close(door), serve(link);
    }
    return 1;
}
