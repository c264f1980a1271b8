/* The wall clock of a process, moved by what a shared file says; every other clock is the real one.

   Preloaded into the hub and its links. The file named by MOVED_CLOCK holds the offset in
   nanoseconds, as eight bytes of this machine. libfaketime does more and was no use here: it also
   takes the timed waits over, with which Python hands its lock from thread to thread, and the hub
   stood still for seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static int (*real_clock)(clockid_t, struct timespec *);
static volatile const int64_t *offset;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("MOVED_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    real_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (file >= 0) {
        void *page = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
        offset = page == MAP_FAILED ? NULL : page;
        close(file);
    }
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!real_clock)
        begin(); /* somebody's constructor came before ours */
    int failed = real_clock(clock, now);
    if (!failed && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t moved = now->tv_sec * SECOND + now->tv_nsec + *offset;
        now->tv_sec = moved / SECOND;
        now->tv_nsec = moved % SECOND;
    }
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec fine;
    (void)zone;
    int failed = clock_gettime(CLOCK_REALTIME, &fine);
    if (!failed && now) {
        now->tv_sec = fine.tv_sec;
        now->tv_usec = fine.tv_nsec / 1000;
    }
    return failed;
}

time_t time(time_t *into)
{
    struct timespec fine;
    time_t now = clock_gettime(CLOCK_REALTIME, &fine) ? (time_t)-1 : fine.tv_sec;
    if (into)
        *into = now;
    return now;
}
