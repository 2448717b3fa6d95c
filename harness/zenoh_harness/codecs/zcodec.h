/*
 * A Zenoh codec as a shared library: what `zconform fuzz codec ... --target lib:PATH` and every other command that
 * takes a codec target load.  Three functions are enough; the other two are optional.
 *
 * Rules
 *   - Every call is made from one thread.  What an answer points at belongs to the library, and stays until the next call.
 *   - A call returns for every input.  Whatever goes wrong inside (an exception, a panic, too large an allocation) is
 *     an answer, ZCODEC_CRASHED.  A library that ends the process instead costs the fuzzer a restart, no more.
 *   - Nothing is kept from one call to the next: the same input gives the same answer.
 */
#ifndef ZCODEC_H
#define ZCODEC_H

#include <stdint.h>

/* The version of this interface. */
#define ZCODEC_INTERFACE 1

/* What a run of bytes is read as. */
enum zcodec_layer {
    ZCODEC_TRANSPORT = 0,  /* one transport message; bytes may follow it */
    ZCODEC_NETWORK = 1,    /* one network message */
    ZCODEC_SCOUTING = 2,   /* one datagram of scouting */
    ZCODEC_BATCH = 3,      /* transport messages back to back, to the end */
    ZCODEC_LOWLATENCY = 4, /* network messages, KEEP_ALIVE and CLOSE, to the end */
    ZCODEC_VLE = 5,        /* one variable-length integer */
    ZCODEC_KEYEXPR = 6     /* a key expression: accepted when it can be made canonical */
};

/* What became of a call. */
enum zcodec_status {
    ZCODEC_DECODED = 0,
    ZCODEC_REFUSED = 1,       /* these bytes are no message, this meaning has no bytes, this text is no key */
    ZCODEC_UNIMPLEMENTED = 2, /* the codec does not do this at all; also the answer to a layer that it does not know */
    ZCODEC_CRASHED = 3,       /* it broke at this call and lives on; `text` says where and why */
    ZCODEC_ENCODED = 4,
    ZCODEC_RELATED = 5
};

/* What a caller of zcodec_decode wants besides the status and the size; more takes more time. */
#define ZCODEC_WANT_ENCODED 1u /* what the message encodes to again, in `bytes` */
#define ZCODEC_WANT_MEANING 2u /* the meaning, in `text` */
#define ZCODEC_WANT_PLAIN 4u   /* read from a plain run of bytes, where the codec has several kinds of reader */

#define ZCODEC_NOWHERE UINT64_MAX
#define ZCODEC_UNCOUNTED UINT64_MAX

typedef struct zcodec_answer {
    uint64_t size;       /* DECODED: bytes used.  REFUSED: the byte at fault, or ZCODEC_NOWHERE */
    uint64_t largest;    /* the largest single request to the allocator while reading, or ZCODEC_UNCOUNTED */
    uint64_t allocated;  /* all of them in sum, or ZCODEC_UNCOUNTED */
    const uint8_t *bytes; /* DECODED: what it encodes to again, NULL when not wanted or not possible.  ENCODED: the bytes */
    uint64_t bytes_size;
    const char *text;    /* UTF-8.  DECODED: the meaning as JSON.  RELATED: {"intersects": bool, "includes": bool}.
                            Otherwise: why */
    uint64_t text_size;
} zcodec_answer;

#ifdef __cplusplus
extern "C" {
#endif

/* ZCODEC_INTERFACE of the header that the library was built with. */
uint32_t zcodec_interface(void);

/* Who it is, as JSON with a final zero byte; the same object that the stdio codec protocol answers to `start`:
   {"identity": {"name": "...", "version": "...", "language": "..."},
    "layers": ["network", ...], "capabilities": ["decode", "encode", "relate", "meaning", "plain"]}
   Capabilities: "encode" and "relate" for the functions below; "meaning" when it can tell meanings; "plain" when
   ZCODEC_WANT_PLAIN makes a difference. */
const char *zcodec_hello(void);

/* Reads `size` bytes as `layer`.  Returns a zcodec_status and fills `answer`, which comes zeroed. */
uint32_t zcodec_decode(uint32_t layer, const uint8_t *data, uint64_t size, uint32_t wants, zcodec_answer *answer);

/* Optional: writes the meaning {"Kind": {field: value}}, given as JSON. */
uint32_t zcodec_encode(uint32_t layer, const uint8_t *json, uint64_t size, zcodec_answer *answer);

/* Optional: whether two canonical key expressions intersect, and whether the left one includes the right one. */
uint32_t zcodec_relate(const uint8_t *left, uint64_t left_size, const uint8_t *right, uint64_t right_size,
                       zcodec_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
