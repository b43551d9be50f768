// Waits of C programs under a stepped clock: each line has the virtual time and what has happened.

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <linux/futex.h>
#include <time.h>
#include <unistd.h>

static struct timespec begun;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void say(const char *what, long value) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long ms = (now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000;
    printf("%ld.%03ld %s %ld\n", ms / 1000, ms % 1000, what, value);
    fflush(stdout);
}

static struct timespec in(clockid_t clock, int seconds) {
    struct timespec end;
    clock_gettime(clock, &end);
    end.tv_sec += seconds;
    return end;
}

static void *signals(void *none) {
    sleep(4);
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return none;
}

static void *holds(void *none) {
    pthread_mutex_lock(&mutex);
    sleep(6);
    pthread_mutex_unlock(&mutex);
    return none;
}

static void *sleeps(void *none) {
    for (;;) sleep(1000);
    return none;
}

static void called(union sigval value) { say("timer calls", value.sival_int); }

static void handles(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    say("timer sends", info->si_value.sival_int);
}

static void conditions(void) {
    pthread_t thread;
    struct timespec end = in(CLOCK_REALTIME, 3);
    pthread_mutex_lock(&mutex);
    say("condition late", pthread_cond_timedwait(&condition, &mutex, &end) == ETIMEDOUT);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_t other;
    pthread_cond_init(&other, &attributes);
    end = in(CLOCK_MONOTONIC, 2);
    say("monotonic condition late", pthread_cond_timedwait(&other, &mutex, &end) == ETIMEDOUT);
    pthread_create(&thread, NULL, signals, NULL);
    end = in(CLOCK_REALTIME, 30);
    say("condition in time", pthread_cond_timedwait(&condition, &mutex, &end));
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, holds, NULL);
    usleep(1000);
    pthread_mutex_lock(&mutex);
    say("mutex of a sleeper", 0);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, sleeps, NULL);
    sleep(3);
    pthread_cancel(thread);
    void *result;
    pthread_join(thread, &result);
    say("cancelled", result == PTHREAD_CANCELED);
}

static void semaphores(void) {
    sem_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(shared, 1, 0);
    struct timespec end = in(CLOCK_REALTIME, 5);
    say("semaphore late", sem_timedwait(shared, &end) == -1 && errno == ETIMEDOUT);
    if (fork() == 0) {
        sleep(7);
        sem_post(shared);
        _exit(0);
    }
    end = in(CLOCK_REALTIME, 50);
    say("semaphore of a child", sem_timedwait(shared, &end));
    wait(NULL);
}

static void timers(void) {
    unsigned long long expiries;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec setting = {{10, 0}, {5, 0}};
    timerfd_settime(fd, 0, &setting, NULL);
    if (read(fd, &expiries, 8) == 8) say("timerfd", expiries);
    sleep(25);
    if (read(fd, &expiries, 8) == 8) say("timerfd", expiries);
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    say("epoll", epoll_wait(epoll, &event, 1, 100000));
    if (read(fd, &expiries, 8) == 8) say("epoll late", epoll_wait(epoll, &event, 1, 3000));
    timerfd_gettime(fd, &setting);
    say("left", setting.it_value.tv_sec);
    close(fd);

    timer_t timer;
    struct sigevent told = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 7};
    told.sigev_notify_function = called;
    timer_create(CLOCK_REALTIME, &told, &timer);
    setting = (struct itimerspec){{2, 0}, {1, 0}};
    timer_settime(timer, 0, &setting, NULL);
    sleep(4);
    timer_delete(timer);

    struct sigaction action = {.sa_sigaction = handles, .sa_flags = SA_SIGINFO};
    sigaction(SIGRTMIN, &action, NULL);
    told = (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 9};
    timer_create(CLOCK_MONOTONIC, &told, &timer);
    setting = (struct itimerspec){{0, 0}, {2, 0}};
    timer_settime(timer, 0, &setting, NULL);
    say("interrupted sleep", sleep(10));
    timer_delete(timer);
}

static void others(void) {
    int word = 0;
    struct timespec limit = {4, 0};
    say("futex", syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0) == -1 && errno == ETIMEDOUT);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    limit.tv_sec = 8;
    say("sigtimedwait", sigtimedwait(&set, NULL, &limit) == -1 && errno == EAGAIN);
    // A program that closes all that it knows of still wakes.
    for (int fd = 3; fd < 1024; fd++) close(fd);
    struct pollfd none = {.fd = -1};
    say("poll after closing all", poll(&none, 1, 2000));
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    say("clock_settime refused", clock_settime(CLOCK_REALTIME, &now) == -1 && errno == EPERM);
}

int main(void) {
    clock_gettime(CLOCK_MONOTONIC, &begun);
    conditions();
    semaphores();
    timers();
    others();
    if (daemon(1, 1) != 0) return 1;
    sleep(3);
    say("daemon", 0);
    return 0;
}
