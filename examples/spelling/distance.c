// Edit distances for examples/spelling.scm: how many letters have to be inserted, left out, exchanged
// or swapped with their neighbour to make one word another.
//
// It is compiled to WebAssembly:
//
//     python3 -m ziglang cc -O2 --target=wasm32-freestanding -nostdlib -fno-builtin -g0 \
//         -fno-sanitize=all -Wall -Wextra -Werror -Wl,--no-entry,--strip-all -Wl,-z,stack-size=16384 \
//         -o distance.wasm distance.c

#define WORD_MAX 64
#define EXPORTED(name) __attribute__((export_name(name)))

static char words[2][WORD_MAX];

// Where the program puts a word: 0 or 1.
EXPORTED("place") char *place(int which) {
    return words[which & 1];
}

EXPORTED("longest") int longest(void) {
    return WORD_MAX;
}

static int least(int a, int b, int c) {
    int smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

// The distance of the words in the two places, which have so many bytes.
EXPORTED("distance") int distance(int length, int other_length) {
    static int rows[3][WORD_MAX + 1];
    const char *word = words[0], *other = words[1];
    if (length < 0 || other_length < 0 || length > WORD_MAX || other_length > WORD_MAX)
        return -1;
    int *before_last = rows[0], *last = rows[1], *row = rows[2];
    for (int column = 0; column <= other_length; column++)
        last[column] = column;
    for (int line = 1; line <= length; line++) {
        row[0] = line;
        for (int column = 1; column <= other_length; column++) {
            int differs = word[line - 1] != other[column - 1];
            row[column] =
                least(last[column] + 1, row[column - 1] + 1, last[column - 1] + differs);
            if (line > 1 && column > 1 && word[line - 1] == other[column - 2] &&
                word[line - 2] == other[column - 1] && before_last[column - 2] + 1 < row[column])
                row[column] = before_last[column - 2] + 1;
        }
        int *free = before_last;
        before_last = last;
        last = row;
        row = free;
    }
    return last[other_length];
}
