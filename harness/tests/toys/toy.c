/* A codec of INIT, OPEN, CLOSE, KEEP_ALIVE and integers behind zcodec.h that tells no meaning.  -DFAULT=n plants a fault. */
#include "zcodec.h"
#include <string.h>

#ifndef FAULT
#define FAULT 0
#endif
#define IS(n) (FAULT == (n))
#define LARGEST 65536

static const uint8_t *in;
static uint64_t size, at, made;
static const char *why;
static uint8_t out[4 * LARGEST];

static uint8_t byte(void) {
    if (at < size) return in[at++];
    if (!why) why = "truncated";
    return 0;
}

static const uint8_t *bytes(uint64_t n) {
    if (!why && n > size - at) why = "truncated";
    if (why) return in;
    at += n;
    return in + at - n;
}

static uint64_t vle(void) {
    uint64_t value = 0, next;
    for (int n = 0; n < 8; n++) {
        next = byte();
        value |= (next & 0x7f) << 7 * n;
        if (!(next & 0x80)) return value;
    }
    next = byte(); /* the ninth byte has eight bits */
    return value | (IS(2) ? next & 0x7f : next) << 56;
}

static void put(uint8_t value) { out[made++] = value; }

static void put_bytes(const uint8_t *from, uint64_t n) {
    memcpy(out + made, from, n);
    made += n;
}

static void put_vle(uint64_t value) {
    int n = 0;
    for (; n < 8 && value > 0x7f; n++, value >>= 7) put((value & 0x7f) | 0x80);
    put((uint8_t)value);
}

/* Extensions: those of the table are kept, the last of each, and written in its order; others are skipped. */
static const uint8_t INIT[] = {0x01, 0x21, 0x42, 0x43, 0x44, 0x05, 0x06, 0x27, 0x48, 0};
static const uint8_t SYN[] = {0x01, 0x22, 0x42, 0x43, 0x44, 0x05, 0x06, 0x27, 0};
static const uint8_t ACK[] = {0x01, 0x22, 0x42, 0x43, 0x04, 0x05, 0x06, 0x27, 0};
static struct { uint64_t value; const uint8_t *body; int here; } ext[16];

static int read_exts(const uint8_t *table, int more) { /* how many are kept */
    int kept = 0;
    memset(ext, 0, sizeof ext);
    while (more && !why) {
        uint8_t header = byte(), enc = header >> 5 & 3;
        const char *found = memchr(table, header & 0x7f, strlen((const char *)table));
        if (enc == 3 && !why) why = "extension encoding 3";
        uint64_t value = enc ? vle() : 0;
        const uint8_t *body = enc == 2 ? bytes(value) : in;
        if (!found && header & 0x10 && !why && !IS(6)) why = "unknown mandatory extension";
        if (found) {
            int n = found - (const char *)table;
            kept += !ext[n].here;
            ext[n].value = value, ext[n].body = body, ext[n].here = 1;
            if (*found == 0x48 && !why && (value < 1 || value > 32)) why = "a region name has 1 to 32 bytes";
        }
        more = header & 0x80;
    }
    return kept;
}

static void put_exts(const uint8_t *table, int kept) {
    int all = strlen((const char *)table);
    for (int turn = 0; turn < all; turn++) {
        int n = IS(3) ? all - 1 - turn : turn;
        if (!ext[n].here) continue;
        uint8_t header = table[n] | (--kept ? 0x80 : 0), enc = header >> 5 & 3;
        put(IS(4) && enc == 1 ? header ^ 0x60 : header);
        if (enc) put_vle(ext[n].value);
        if (enc == 2) put_bytes(ext[n].body, ext[n].value);
    }
}

static void put_cookie(const uint8_t *cookie, uint64_t n) {
    if (IS(5)) put(n & 0x7f);
    else put_vle(n);
    put_bytes(cookie, n);
}

static void init(uint8_t header) {
    uint8_t version = byte(), packed = byte(), length = (packed >> 4) + 1, resolution = 0, low = 0, high = 0, zero = 0;
    const uint8_t *zid = bytes(length), *cookie = in;
    uint64_t n = 0;
    for (int i = 0; !why && i < length; i++) zero |= zid[i];
    if (!why && ((packed & 3) == 3 || !zero)) why = "no role, or no ZenohID";
    if (IS(7) && length == 16) why = "a ZenohID of 16 bytes";
    if (header & 0x40) resolution = byte(), low = byte(), high = byte();
    if (header & 0x20) n = vle(), cookie = bytes(n);
    if (!why && n > 65535) why = "the cookie is too long";
    int kept = read_exts(INIT, header & 0x80);
    if (why) return;
    put((header & 0x7f) | (kept ? 0x80 : 0));
    put(version);
    put(packed & 0xf3);
    put_bytes(zid, length);
    if (header & 0x40) put(resolution), put(IS(9) ? high : low), put(IS(9) ? low : high);
    if (header & 0x20) put_cookie(cookie, n);
    put_exts(INIT, kept);
}

static void open_(uint8_t header) {
    const uint8_t *table = header & 0x20 ? ACK : SYN, *cookie = in;
    uint64_t lease = vle(), sn = vle(), n = 0;
    if (IS(10)) lease = (uint64_t)(int64_t)(int32_t)lease;
    if (!(header & 0x20)) n = vle(), cookie = bytes(n);
    int kept = read_exts(table, header & 0x80);
    if (why) return;
    put((header & (IS(1) ? 0x3f : 0x7f)) | (kept ? 0x80 : 0));
    put_vle(lease);
    put_vle(sn);
    if (!(header & 0x20)) put_cookie(cookie, n);
    put_exts(table, kept);
}

static void close_(uint8_t header) {
    int closes = (header & 0x1f) == 3;
    uint8_t reason = closes ? byte() : 0;
    read_exts((const uint8_t *)"", header & 0x80);
    put((header & (closes ? 0x23 : 0x04)) | (IS(11) && closes ? 0x40 : 0));
    if (closes) put(reason);
}

uint32_t zcodec_interface(void) { return ZCODEC_INTERFACE; }

const char *zcodec_hello(void) {
    return "{\"identity\": {\"name\": \"toy-c\", \"version\": \"1\", \"language\": \"C\"},"
           " \"layers\": [\"transport\", \"vle\"], \"capabilities\": [\"decode\"]}";
}

uint32_t zcodec_decode(uint32_t layer, const uint8_t *data, uint64_t length, uint32_t wants, zcodec_answer *answer) {
    answer->largest = answer->allocated = ZCODEC_UNCOUNTED;
    if ((layer != ZCODEC_TRANSPORT && layer != ZCODEC_VLE) || length > LARGEST) return ZCODEC_UNIMPLEMENTED;
    in = data, size = length, at = made = 0, why = NULL;
    uint8_t header = layer == ZCODEC_VLE ? 0xff : byte();
    switch (layer == ZCODEC_VLE ? 0xff : header & 0x1f) {
    case 0xff: put_vle(vle()); break;
    case 1: init(header); break;
    case 2: open_(header); break;
    case 3: case 4: close_(header); break;
    case 0: case 5: case 6: case 7:
        if (!why) return ZCODEC_UNIMPLEMENTED;
        break;
    default: at = 0, why = "no transport message";
    }
    answer->size = IS(8) && !why ? size : at;
    if (why) {
        answer->text = why, answer->text_size = strlen(why);
        return ZCODEC_REFUSED;
    }
    if (wants & ZCODEC_WANT_ENCODED) answer->bytes = out, answer->bytes_size = made;
    return ZCODEC_DECODED;
}
