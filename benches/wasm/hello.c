// A WASI command that prints a line: what starting an engine costs.
#include <stdio.h>

int main(void) {
    puts("hello");
    return 0;
}
