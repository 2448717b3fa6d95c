/* A codec of one message, KEEP_ALIVE without extensions, behind zcodec.h: the smallest thing that can be fuzzed.
   With -DFAULT=n it breaks one promise. */
#include "zcodec.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FAULT
#define FAULT 0
#endif

static const uint8_t keep_alive[] = {0x04};

uint32_t zcodec_interface(void) { return FAULT == 1 ? 2 : ZCODEC_INTERFACE; }

const char *zcodec_hello(void) {
    if (FAULT == 2) return "not JSON";
    if (FAULT == 3) abort();
    if (FAULT == 4) for (;;) pause();
    return "{\"identity\": {\"name\": \"tiny\", \"version\": \"1\", \"language\": \"c\"}, \"layers\": [\"transport\"],"
           " \"capabilities\": [\"decode\"]}";
}

uint32_t zcodec_decode(uint32_t layer, const uint8_t *data, uint64_t size, uint32_t wants, zcodec_answer *answer) {
    answer->largest = answer->allocated = ZCODEC_UNCOUNTED;
    if (layer != ZCODEC_TRANSPORT && FAULT != 5) return ZCODEC_UNIMPLEMENTED;
    if (FAULT == 6 && size > 2 && data[0] == 0x03) abort();
    if (FAULT == 7 && size > 2 && data[0] == 0x03) for (;;) pause();
    if (FAULT == 8 && size > 0 && data[0] == 0x03) {
        answer->text = "broke at a CLOSE", answer->text_size = 16;
        return ZCODEC_CRASHED;
    }
    if (FAULT == 9 && size > 1) answer->largest = 1u << 20;
    if (size && (data[0] & 0x9f) == 0x04) {
        answer->size = 1;
        if (wants & ZCODEC_WANT_ENCODED) answer->bytes = keep_alive, answer->bytes_size = 1;
        return ZCODEC_DECODED;
    }
    answer->text = "only KEEP_ALIVE is known", answer->text_size = 24;
    answer->size = 0;
    return ZCODEC_REFUSED;
}
