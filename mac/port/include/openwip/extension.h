// SPDX-License-Identifier: GPL-3.0-or-later
/* A scheduler, an adaptation rule or an SNR predictor of your own, in a shared library that OpenWIP
 * loads (docs/how-to/extend.md). The header is C, so that a library of any compiler and any
 * language fits, and it does not change within one OPENWIP_EXTENSION_ABI.
 *
 * A library exports one function, openwip_extension(), that returns a table of functions. What the
 * library does not have stays null. Of each kind there are three functions:
 *
 *   make     makes an object before the first slot and returns it, or null and a reason
 *   its work is called in every slot; it returns 0, or another number and a reason
 *   free     ends the object
 *
 * A reason is a sentence in `openwip_error`. The run then ends with it, because results of a rule
 * that has failed are worth nothing. All calls come from one thread. A function reads no clock and
 * draws from no unseeded random source, if runs are to be repeatable; in a cell in real time it has
 * a small part of a slot (2/3 ms), and allocates no memory.
 *
 * Arrays over bins have OPENWIP_BINS elements: bin b is the one b * 200 kHz above the lowest. */
#ifndef OPENWIP_EXTENSION_H
#define OPENWIP_EXTENSION_H

#include <stdint.h>

#define OPENWIP_EXTENSION_ABI 1
#define OPENWIP_BINS 25
#define OPENWIP_MOST_BITS_PER_SYMBOL 8
#define OPENWIP_ERROR_BYTES 1024

#ifdef __cplusplus
extern "C" {
#endif

/* UTF-8, with a zero byte at its end. */
typedef struct openwip_error {
    char text[OPENWIP_ERROR_BYTES];
} openwip_error;

/* The cell, when a scheduler or an adaptation rule is made. */
typedef struct openwip_cell {
    int32_t users;           /* terminals, numbered from 0 */
    int32_t bins;            /* link.bins: bins that may be used in a slot */
    int32_t averaging_slots; /* scheduling.averaging_slots */
    int32_t loop_slots;      /* from a frame to its retransmission: the age of the feedback */
    /* Bits of packets that a frame carries at k bits per symbol; [0] is 0. */
    int32_t frame_bits[OPENWIP_MOST_BITS_PER_SYMBOL + 1];
} openwip_cell;

/* --- scheduler: which terminal gets which bins of a slot --- */

typedef struct openwip_user {
    int32_t hears; /* 1: the terminal is locked and was heard from lately; else it gets nothing */
    /* The data that waits for the terminal, in the order in which bins take it: one piece for each
     * frame that has failed, then the queue. A bin takes as much of the first piece as its frame
     * carries, and nothing of the next piece. */
    int32_t pieces;
    int32_t piece_bits[OPENWIP_BINS];
    float predicted_snr_db[OPENWIP_BINS];  /* as the terminal predicts it for this slot */
    uint8_t bits_per_symbol[OPENWIP_BINS]; /* the modulation that a bin would have, 1..8 */
    /* Bits that a new frame in the bin is expected to bring: frame_bits at this modulation, times
     * the probability that the frame is received without error at the predicted SNR. */
    double expected_bits[OPENWIP_BINS];
    double acknowledged_bits; /* bits that the terminal has acknowledged since the last slot */
} openwip_user;

typedef struct openwip_given {
    int32_t user;
    int32_t bin;
} openwip_given;

typedef struct openwip_slot {
    int64_t slot; /* slots of 2/3 ms; each number comes once, in ascending order */
    int32_t users;
    int32_t bins;             /* so many bins may be given, at most */
    openwip_user* user;       /* [users] */
    const openwip_cell* cell; /* as when the scheduler was made */
    /* The decision; it is empty when the scheduler is called. A bin that is not given stays empty.
     */
    int32_t nof_given;
    openwip_given given[OPENWIP_BINS];
} openwip_slot;

/* Whether the terminal hears and something waits for it that the bins given so far do not carry. */
static inline int openwip_wants(const openwip_user* user) {
    return user->hears != 0 && user->pieces > 0;
}

/* Whether the bin is one of the slot's and nobody has it yet. */
static inline int openwip_is_free(const openwip_slot* slot, int32_t bin) {
    int32_t i;
    for (i = 0; i < slot->nof_given && i < OPENWIP_BINS; ++i)
        if (slot->given[i].bin == bin) return 0;
    return bin >= 0 && bin < OPENWIP_BINS;
}

/* Gives a bin to a terminal, and takes what the bin carries off what waits for the terminal. The
 * caller is told of a wrong number or a bin too many when the scheduler returns. */
static inline void openwip_give(openwip_slot* slot, int32_t user, int32_t bin) {
    openwip_user* to;
    int32_t i;
    if (slot->nof_given < OPENWIP_BINS) {
        slot->given[slot->nof_given].user = user;
        slot->given[slot->nof_given].bin = bin;
    }
    ++slot->nof_given;
    if (user < 0 || user >= slot->users || bin < 0 || bin >= OPENWIP_BINS) return;
    to = &slot->user[user];
    if (to->pieces <= 0) return;
    to->piece_bits[0] -= slot->cell->frame_bits[to->bits_per_symbol[bin]];
    if (to->piece_bits[0] > 0) return;
    --to->pieces;
    for (i = 0; i < to->pieces; ++i) to->piece_bits[i] = to->piece_bits[i + 1];
}

/* --- adaptation: the modulation of each bin of one terminal --- */

typedef struct openwip_report {
    int64_t slot;  /* of which the terminal reports; its reports come for every slot, in order */
    int32_t user;  /* the terminal's number */
    int32_t heard; /* 1: a report came and the terminal is locked; 0: the rest is of the last one */
    float predicted_snr_db[OPENWIP_BINS]; /* for the slot that is planned next */
    float prediction_nmse; /* of these predictions, as the terminal measures it; NaN: not known */
    /* The frames of this slot: bits per symbol with which the bin was sent (0: not sent), how often
     * its frame had been sent before, and whether it was received (1) or not (0). */
    uint8_t sent_bits_per_symbol[OPENWIP_BINS];
    uint8_t retransmissions[OPENWIP_BINS];
    uint8_t received[OPENWIP_BINS];
    /* The modulation by the table of link.switch_table, 1..8. */
    uint8_t table_bits_per_symbol[OPENWIP_BINS];
    /* The decision, 1..8; it is the table's when the rule is called. Retransmissions keep theirs.
     */
    uint8_t bits_per_symbol[OPENWIP_BINS];
} openwip_report;

/* --- predictor: the SNR of the bins some slots ahead --- */

typedef struct openwip_gains {
    int32_t measured;       /* 1; 0: the slot could not be measured, and the next four are zero */
    float re[OPENWIP_BINS]; /* the complex channel gain of each bin */
    float im[OPENWIP_BINS];
    float gain_error; /* variance of the error of one gain */
    /* Variance of the error along any direction in the space of the 25 gains: the noise of a bin
     * over its known elements. */
    float direction_error;
    /* The decision: the gains `horizon` slots later, and 1 in `known`; 0: too little is known yet,
     * and the last gain stands in. They are zero when the predictor is called. */
    int32_t known;
    float ahead_re[OPENWIP_BINS];
    float ahead_im[OPENWIP_BINS];
} openwip_gains;

/* --- the library --- */

/* `argument` is what stands behind the file's name in the setting (library:FILE:ARGUMENT), or
 * empty. A text is the caller's and lasts as long as the call. */
typedef struct openwip_extension_table {
    uint32_t abi;  /* OPENWIP_EXTENSION_ABI */
    uint32_t size; /* sizeof(openwip_extension_table) */

    void* (*scheduler_make)(const char* argument, const openwip_cell* cell, openwip_error* why);
    int (*scheduler_share_bins)(void* scheduler, openwip_slot* slot, openwip_error* why);
    void (*scheduler_free)(void* scheduler);

    /* One object for all terminals. */
    void* (*adaptation_make)(const char* argument, const openwip_cell* cell, openwip_error* why);
    int (*adaptation_choose_modulation)(void* rule, openwip_report* report, openwip_error* why);
    void (*adaptation_free)(void* rule);

    /* `horizon`: slots ahead, 1..64. */
    void* (*predictor_make)(const char* argument, int32_t horizon, openwip_error* why);
    int (*predictor_update)(void* predictor, openwip_gains* gains, openwip_error* why);
    /* Forgets everything: the signal was lost. */
    void (*predictor_reset)(void* predictor);
    void (*predictor_free)(void* predictor);
} openwip_extension_table;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const openwip_extension_table*
openwip_extension(void);

#ifdef __cplusplus
}
#endif

#endif
