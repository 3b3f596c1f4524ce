/* numaestro.h - malleability in a few calls.
 *
 * A program that uses this header asks "how many processors can I have right now?" before it opens a parallel region, and
 * says what it could use. It needs no manager to run: without one every call answers as if the program had the machine
 * to itself.
 *
 * Link with -lnumaestro. Under `numaestro run` the same functions come from the preloaded library, and both share one
 * page. Every function is thread-safe and async-signal-unsafe, leaves errno as it was, and never blocks for longer than
 * the 200 milliseconds that numaestro_attach may take when the manager is busy.
 *
 * Errors: functions return 0 or a count on success and one of the NUMAESTRO_E codes below (negative) on failure.
 * Codes are never renumbered.
 */
#ifndef NUMAESTRO_H
#define NUMAESTRO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- Errors ------------------------------------------------------------------------------------------------------- */

#define NUMAESTRO_OK 0
/* No manager is running, or it has no room for this program. */
#define NUMAESTRO_E_UNMANAGED (-1)
/* An argument is out of its range. */
#define NUMAESTRO_E_INVALID (-2)

/* -- Version ------------------------------------------------------------------------------------------------------ */

/* Version of this header: major * 65536 + minor. */
#define NUMAESTRO_API_VERSION 0x00010000u
/* Version of the library that is loaded; its major half must equal the header's. Never fails. */
uint32_t numaestro_api_version(void);

/* -- Attaching ---------------------------------------------------------------------------------------------------- */

/* Attach this process to the manager of its user. Calling it again is cheap and harmless.
 * Returns NUMAESTRO_OK or NUMAESTRO_E_UNMANAGED. */
int numaestro_attach(void);

/* -- How many ----------------------------------------------------------------------------------------------------- */

/* Processors to use for the next parallel region, at least 1 (NANOS: n_cpus_current). Carries out a new decision first:
 * call it where the program's threads stand still, i.e. between regions. Without a manager: the processors of this
 * process's affinity mask. About a nanosecond while nothing changes. */
int numaestro_processors(void);

/* Has something changed since the last numaestro_processors()? 1 or 0. For long regions that can shrink in the middle. */
int numaestro_changed(void);

/* Ask for `processors` (NANOS: cpus_request); 0 withdraws the wish. Takes effect with the manager's next decision; fewer
 * than the present ones are given up at once.
 * Returns NUMAESTRO_OK, NUMAESTRO_E_UNMANAGED, NUMAESTRO_E_INVALID (negative or above 65536). */
int numaestro_request(int processors);

#ifdef __cplusplus
}
#endif

#endif
