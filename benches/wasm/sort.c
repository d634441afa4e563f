// Sorts `n` random numbers: quicksort, with insertion sort for short ranges. Loads, stores, compares
// and branches that cannot be foreseen. One run is `run(400000)`, the most that it takes is 1,000,000.
// Returns a checksum of the sorted numbers, -1 if they are not sorted.
#include "guest.h"

enum { MOST = 1000000 };

static int numbers[MOST];

static void swap(int *a, int *b) {
    int kept = *a;
    *a = *b;
    *b = kept;
}

static void insertion_sort(int *from, int *to) {
    for (int *next = from + 1; next < to; next++) {
        int value = *next;
        int *hole = next;
        for (; hole > from && hole[-1] > value; hole--) *hole = hole[-1];
        *hole = value;
    }
}

static void quicksort(int *from, int *to) {
    while (to - from > 16) {
        int *middle = from + (to - from) / 2;
        // The median of three goes to the front.
        if (*middle < *from) swap(middle, from);
        if (to[-1] < *from) swap(to - 1, from);
        if (to[-1] < *middle) swap(to - 1, middle);
        swap(from, middle);
        int pivot = *from;
        int *left = from, *right = to;
        for (;;) {
            do left++;
            while (left < to && *left < pivot);
            do right--;
            while (*right > pivot);
            if (left >= right) break;
            swap(left, right);
        }
        swap(from, right);
        // The shorter part by a call, so that the stack stays small.
        if (right - from < to - right) {
            quicksort(from, right);
            from = right + 1;
        } else {
            quicksort(right + 1, to);
            to = right;
        }
    }
    insertion_sort(from, to);
}

EXPORT(run) long long run(int n) {
    if (n < 0 || n > MOST) return -2;
    u64 state = 42;
    for (int k = 0; k < n; k++) numbers[k] = (int)next_random(&state);
    quicksort(numbers, numbers + n);
    u64 sum = 14695981039346656037ull;
    for (int k = 0; k < n; k++) {
        if (k > 0 && numbers[k - 1] > numbers[k]) return -1;
        sum = mix(sum, (u32)numbers[k]);
    }
    return (long long)sum;
}
