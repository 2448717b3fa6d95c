/* Run the vectors against a codec in C:  cc consumer.c my_codec.c -o consumer && ./consumer vectors.tsv
   my_codec.c defines `zenoh_read`, which reads all bytes of a layer and writes the message again into `out`. It returns the number of
   bytes written, -1 for bytes that are no message, -2 for a layer that it does not implement. Copy this file and change it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long zenoh_read(const char *layer, const unsigned char *data, size_t size, unsigned char *out, size_t room);

enum { ROOM = 1 << 18, LINE = 1 << 20 };

static size_t from_hex(const char *hex, unsigned char *bytes) {
    size_t size = strlen(hex) / 2;
    for (size_t at = 0; at < size; at++) {
        unsigned byte = 0;
        sscanf(hex + 2 * at, "%2x", &byte);
        bytes[at] = (unsigned char)byte;
    }
    return size;
}

static const char *complaint(const char *layer, const char *hex, const char *outcome) {
    static unsigned char data[ROOM], out[ROOM];
    size_t size = from_hex(hex, data);
    long wrote = zenoh_read(layer, data, size, out, ROOM);
    if (wrote == -2) return NULL;
    if (!strcmp(outcome, "refused")) return wrote < 0 ? NULL : "accepted, must be refused";
    if (wrote < 0) return "refused";
    int same = (size_t)wrote == size && !memcmp(out, data, size);
    return !strcmp(outcome, "canonical") && !same ? "written as other bytes" : NULL;
}

int main(int count, char **names) {
    static char line[LINE];
    unsigned passed = 0, open = 0, failed = 0;
    FILE *file = count > 1 ? fopen(names[1], "r") : NULL;
    if (!file) return fprintf(stderr, "Name the vectors: consumer vectors.tsv\n"), 2;
    while (fgets(line, LINE, file)) {
        char *cell[5] = {line}, *rest = line;
        for (int at = 1; at < 5 && (rest = strchr(rest, '\t')); at++) *rest = 0, cell[at] = ++rest;
        if (line[0] == '#' || !cell[4]) continue;
        const char *said = complaint(cell[1], cell[2], cell[3]);
        if (!said) passed++;
        else if (cell[4][0] == 'o') open++;
        else failed++, printf("FAIL %s: %s\n", cell[0], said);
    }
    printf("pass %u, open %u, FAIL %u\n", passed, open, failed);
    return failed > 0;
}
