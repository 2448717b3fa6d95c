/* The smallest program that ends, speaks or misbehaves as it is told: the only thing in the tests' container image. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void fill_memory(void) {
    for (;;) {
        char *more = malloc(1 << 20);
        if (!more) exit(3);
        memset(more, 1, 1 << 20);
    }
}

static int fill_disk(const char *path) {
    static char block[65536];
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    while (file >= 0 && write(file, block, sizeof block) > 0) {
    }
    perror(path);
    return 1;
}

static int listen_at(int port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int door = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(door, (struct sockaddr *)&at, sizeof at) || listen(door, 8)) return 1;
    printf("listening\n");
    for (;;) accept(door, 0, 0);
}

static int breed(void) {
    int born = 0;
    for (pid_t child; (child = fork()) >= 0; born++) {
        if (!child) pause();
    }
    printf("born %d\n", born);
    return 0;
}

static int copy(const char *path) {
    char line[4096];
    FILE *file = fopen(path, "r");
    if (!file) return perror(path), 1;
    while (fgets(line, sizeof line, file)) fputs(line, stdout);
    return 0;
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "wait";
    const char *with = count > 2 ? words[2] : "";
    setvbuf(stdout, 0, _IONBF, 0);
    if (!strcmp(what, "exit")) return atoi(with);
    if (!strcmp(what, "abort")) abort();
    if (!strcmp(what, "kill")) raise(SIGKILL);
    if (!strcmp(what, "memory")) fill_memory();
    if (!strcmp(what, "disk")) return fill_disk(with);
    if (!strcmp(what, "listen")) return listen_at(atoi(with));
    if (!strcmp(what, "breed")) return breed();
    if (!strcmp(what, "copy")) return copy(with);
    if (!strcmp(what, "env")) return puts(getenv(with) ? getenv(with) : "unset"), 0;
    if (!strcmp(what, "panic")) return fprintf(stderr, "thread 'rx' panicked at io.rs:7\n"), 101;
    if (!strcmp(what, "talk"))
        for (int n = atoi(with); n--;) puts("nothing to see here, nothing to see here, nothing to see here");
    if (!strcmp(what, "stubborn")) signal(SIGTERM, SIG_IGN), puts("stubborn");
    for (;;) pause();
}
