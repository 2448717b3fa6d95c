/* An example codec with the stdio codec protocol: it implements the layer `vle` (variable-length integers) and declares that.
 *
 *     cc -O2 -Wall -o codec codec.c && zconform run "stdio:./codec" --only 'vectors/vle*'
 *
 * The program reads one JSON request per line on standard input and writes one JSON answer per line on standard output; logs belong
 * on standard error. Replace `decode` by your decoder. The harness writes each request in one line, with these field names; a real
 * adapter uses a JSON library. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *field(const char *line, const char *name) { /* where the value of a field begins, or NULL */
    char key[32];
    snprintf(key, sizeof key, "\"%s\"", name);
    const char *at = strstr(line, key);
    return at ? at + strlen(key) + strspn(at + strlen(key), ": \"") : NULL;
}

static size_t unhex(const char *hex, uint8_t *bytes, size_t most) { /* how many bytes */
    size_t n = 0;
    for (unsigned byte; n < most && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++) bytes[n] = (uint8_t)byte;
    return n;
}

/* Seven bits per byte, the lowest first; the ninth byte has eight. Returns the number of bytes used, 0 if there are too few. */
static size_t decode(const uint8_t *bytes, size_t n, uint64_t *value) {
    *value = 0;
    for (size_t at = 0; at < n; at++) {
        *value |= (uint64_t)(at == 8 ? bytes[at] : bytes[at] & 0x7f) << (7 * at);
        if (at == 8 || !(bytes[at] & 0x80)) return at + 1;
    }
    return 0;
}

static void encode(uint64_t value) {
    for (int at = 0; at < 8 && value > 0x7f; at++, value >>= 7) {
        printf("%02x", (unsigned)(value & 0x7f) | 0x80);
        if (at == 7) { printf("%02x", (unsigned)(value >> 7)); return; } /* the ninth byte */
    }
    printf("%02x", (unsigned)value);
}

static void answer(const char *line, const char *cmd) {
    const char *seq = field(line, "seq"), *layer = field(line, "layer"), *hex = field(line, "bytes"), *number = field(line, "value");
    uint8_t bytes[16];
    uint64_t value;
    printf("{\"seq\": %ld, ", seq ? atol(seq) : 0);
    if (!layer || strncmp(layer, "vle\"", 4)) {
        printf("\"unimplemented\": true, \"why\": \"this codec does the layer vle\"}");
    } else if (!strncmp(cmd, "decode\"", 7) && hex) {
        size_t n = unhex(hex, bytes, sizeof bytes), used = decode(bytes, n, &value);
        if (!used || used < n) printf("\"ok\": false, \"why\": \"%s\", \"at\": %zu}", used ? "trailing" : "truncated", used ? used : n);
        else { /* past 2^53 a number is written as a string, since many JSON readers have doubles only */
            const char *quote = value >> 53 ? "\"" : "";
            printf("\"ok\": true, \"means\": {\"Vle\": {\"value\": %s%" PRIu64 "%s}}, \"size\": %zu}", quote, value, quote, used);
        }
    } else if (!strncmp(cmd, "encode\"", 7) && number) {
        printf("\"ok\": true, \"bytes\": \"");
        encode(strtoull(number, NULL, 10));
        printf("\"}");
    } else {
        printf("\"unimplemented\": true, \"why\": \"no such command\"}");
    }
}

int main(void) {
    static char line[1 << 20];
    while (fgets(line, sizeof line, stdin)) {
        const char *cmd = field(line, "cmd");
        if (!cmd) printf("{\"error\": \"no command\"}");
        else if (!strncmp(cmd, "start\"", 6))
            printf("{\"ok\": true, \"identity\": {\"name\": \"tiny-c\", \"version\": \"0.1\", \"language\": \"C\"}, "
                   "\"layers\": [\"vle\"], \"capabilities\": []}");
        else if (!strncmp(cmd, "capability\"", 11)) printf("{\"ok\": false, \"unimplemented\": true}"); /* claim what you do */
        else if (!strncmp(cmd, "stop\"", 5)) printf("{\"ok\": true}");
        else answer(line, cmd);
        printf("\n");
        fflush(stdout); /* after each line: the harness waits for it */
        if (cmd && !strncmp(cmd, "stop\"", 5)) return 0;
    }
    return 0;
}
