// A thread that polls each second, and a first thread that sleeps ten times in a row: each line has what a program has
// seen, in ms since the start of the run.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ends, wakes;
static long slept_until;

static long now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (now.tv_sec - 1767225600L) * 1000 + now.tv_nsec / 1000000;
}

static void *polls(void *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
    pthread_mutex_lock(&mutex);
    while (!ends) {
        struct timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec++;
        pthread_cond_timedwait(&condition, &mutex, &end);
        wakes++;
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *sleeps(void *none) {
    usleep(100000);
    slept_until = now();
    return none;
}

int main(int count, char **words) {
    pthread_t poller, sleeper;
    pthread_create(&poller, NULL, polls, count > 1 ? words[1] : "poller");
    pthread_create(&sleeper, NULL, sleeps, NULL);
    for (int second = 0; second < 2; second++) {
        for (int i = 0; i < 10; i++) {
            usleep(100000);
            printf(i < 9 ? "%ld " : "%ld\n", now());
        }
    }
    pthread_join(sleeper, NULL);
    printf("another thread %ld\n", slept_until);
    usleep(50000);
    printf("another span %ld\n", now());
    usleep(100000);
    sleep(5);
    usleep(100000);
    printf("after another sleep %ld\n", now());
    pthread_mutex_lock(&mutex);
    ends = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(poller, NULL);
    printf("wakes %d\n", wakes);
    return 0;
}
