/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of a process that jumps: FAULT_CLOCK=CALLS:SECONDS adds SECONDS to the time of day
 * from the call after CALLS calls on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long jump(void)
{
    static long calls = -1, after, seconds;
    if (calls < 0) {
        const char *said = getenv("FAULT_CLOCK");
        if (!said || sscanf(said, "%ld:%ld", &after, &seconds) != 2)
            seconds = 0;
        calls = 0;
    }
    return __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) > after ? seconds : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, time);
    if (!code && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += jump();
    return code;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    int code = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return code;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
