// Readings of clocks under a charge: each line has what a program has seen, in us since the start of the run.

#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (now.tv_sec - 1767225600L) * 1000000 + now.tv_nsec / 1000;
}

static void *reads(void *number) {
    long first = now(), last = first;
    for (int i = 1; i < 1000; i++) last = now();
    usleep(500);
    printf("thread %ld %ld %ld %ld\n", (long)number, first, last, now());
    return NULL;
}

// Reads until 10 ms have passed; returns the number of readings.
static long spins(void) {
    long begun = now(), readings = 1;
    while (now() < begun + 10000) readings++;
    return readings;
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    if (!strcmp(what, "spin")) {
        printf("spins %ld\n", spins());
        return 0;
    }
    long last = 0;
    for (int i = 0; i < 1000; i++) {
        struct timeval of_day;
        struct timespec none;
        switch (i % 4) {
        case 0: clock_gettime(CLOCK_MONOTONIC, &none); break;
        case 1: gettimeofday(&of_day, NULL); break;
        case 2: time(NULL); break;
        default: last = now();
        }
    }
    printf("readings %ld\n", last);
    sleep(1);
    last = now();
    printf("after a sleep %ld\n", last);
    poll(NULL, 0, 0);
    printf("after a wait for nothing %ld\n", now());
    fflush(stdout);
    // The child sleeps until 5 ms after its birth, in the middle of its parent's readings.
    if (fork() == 0) {
        usleep(5000);
        printf("child %ld\n", now());
        return 0;
    }
    spins();
    printf("parent %ld\n", now());
    fflush(stdout);
    wait(NULL);
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, reads, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("end %ld\n", now());
    return 0;
}
