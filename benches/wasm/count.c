// A WASI command like `wc`: counts the lines, words and bytes of the named files, or of its standard
// input. It uses arguments, environment, files, errors and exit codes. `COUNT_ONLY=lines` in the
// environment prints the lines alone.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    long lines, words, bytes;
};

static struct counts count(FILE *file) {
    struct counts counts = {0, 0, 0};
    int inside = 0, byte;
    while ((byte = getc(file)) != EOF) {
        int space = byte == ' ' || (byte >= '\t' && byte <= '\r');
        counts.bytes++;
        counts.lines += byte == '\n';
        counts.words += !space && !inside;
        inside = !space;
    }
    return counts;
}

static void print(struct counts counts, const char *name) {
    const char *only = getenv("COUNT_ONLY");
    if (only != NULL && strcmp(only, "lines") == 0) {
        printf("%ld", counts.lines);
    } else {
        printf("%ld %ld %ld", counts.lines, counts.words, counts.bytes);
    }
    printf(name == NULL ? "\n" : " %s\n", name);
}

int main(int argc, char **argv) {
    if (argc == 1) {
        print(count(stdin), NULL);
        return 0;
    }
    int failures = 0;
    for (int k = 1; k < argc; k++) {
        FILE *file = fopen(argv[k], "r");
        if (file == NULL) {
            fprintf(stderr, "count: %s: %s\n", argv[k], strerror(errno));
            failures++;
            continue;
        }
        print(count(file), argv[k]);
        fclose(file);
    }
    return failures == 0 ? 0 : 1;
}
