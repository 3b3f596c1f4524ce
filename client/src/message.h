/* message.h - the binary messages on the attach socket; the C mirror of crates/abi/src/attach.rs.
 */
#ifndef NUMAESTRO_MESSAGE_H
#define NUMAESTRO_MESSAGE_H

#include <stdint.h>

#define NM_MESSAGE_MAGIC 0x31414d4eu /* "NMA1", little-endian */
#define NM_MESSAGE_VERSION 1u

enum nm_kind {
    NM_HELLO = 1,
    NM_WELCOME = 2,
    NM_ADOPTED = 3,
    NM_BUSY = 4,
    NM_REQUEST = 5,
    NM_DEMAND = 6,
    NM_SPEEDUP = 7,
    NM_ADVISE = 8,
    NM_ADVICE = 9,
    NM_TEAM = 10,
    NM_ALIVE = 11,
    NM_BEGINS = 12,
};

struct nm_hello {
    uint32_t magic;
    uint16_t kind;
    uint16_t version;
    uint32_t page_version;
    uint32_t runtimes;
    uint32_t threads_max;
    uint32_t reattach;
    uint32_t claim_count;
    uint32_t reserved;
    uint64_t claim_app;
    char name[64];
    uint64_t claim_cpuset[64];
    uint8_t pad[24];
};
_Static_assert(sizeof(struct nm_hello) == 640, "hello");

struct nm_welcome {
    uint32_t magic;
    uint16_t kind;
    uint16_t version;
    uint32_t code;
    uint32_t reserved;
    uint64_t app;
    char text[168];
};
_Static_assert(sizeof(struct nm_welcome) == 192, "welcome");

struct nm_notice {
    uint32_t magic;
    uint16_t kind;
    uint16_t version;
    uint64_t app;
    uint32_t value;
    uint32_t second; /* NM_ADOPTED: 1 if by folding; NM_SPEEDUP: thousandths; else 0 */
};
_Static_assert(sizeof(struct nm_notice) == 24, "notice");

struct nm_query {
    uint32_t magic;
    uint16_t kind;
    uint16_t version;
    uint32_t processors;
    uint32_t min;
    uint64_t memory;
    uint32_t reserved[10];
};
_Static_assert(sizeof(struct nm_query) == 64, "query");

enum { NM_ADVICE_SHARED = 1 << 0, NM_ADVICE_WAITS = 1 << 1 };
/* In nm_advised.code: the request cannot be granted. */
enum { NM_CODE_OK = 0, NM_CODE_REFUSED = 6 };

struct nm_advised {
    uint32_t magic;
    uint16_t kind;
    uint16_t version;
    uint32_t code;
    uint32_t flags;
    uint32_t count;
    uint32_t threads;
    uint32_t position;
    uint32_t reserved;
    uint64_t memory_free;
    uint64_t pad;
    uint64_t cpus[128];
    uint64_t free[128];
    uint64_t nodes[16];
    uint64_t memory_nodes[16];
    char text[208];
};
_Static_assert(sizeof(struct nm_advised) == 2560, "advised");

#endif
