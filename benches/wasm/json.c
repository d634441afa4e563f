// Writes a JSON text of about 200 kB and parses it `n` times. The parser calls a handler for each byte
// through a table of functions, and the events go to a table of functions too: `call_indirect`. One
// run is `run(20)`. Returns a checksum of the events, -1 if the text is refused.
#include "guest.h"

enum { ROOM = 1 << 18, DEPTH = 64 };

static char text[ROOM];
static int length;

static void put(const char *string) {
    while (*string) text[length++] = *string++;
}

static void put_number(u32 number) {
    char digits[10];
    int count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0) text[length++] = digits[--count];
}

static void write_text(void) {
    u64 state = 7;
    put("[");
    while (length < 200000) {
        if (length > 1) put(",\n  ");
        put("{\"id\": ");
        put_number(next_random(&state));
        put(", \"name\": \"item \\\"");
        put_number(next_random(&state) % 1000);
        put("\\\"\", \"price\": -");
        put_number(next_random(&state) % 10000);
        put(".25e1, \"tags\": [\"red\", \"green\", [], {}], \"sold\": ");
        put(next_random(&state) & 1 ? "true" : "false");
        put(", \"note\": null}");
    }
    put("]");
}

struct events {
    void (*open)(struct events *, char bracket);
    void (*close)(struct events *, char bracket);
    void (*string)(struct events *, const char *from, const char *to);
    void (*number)(struct events *, double value);
    void (*word)(struct events *, char first);
    u64 sum;
};

static void on_open(struct events *events, char bracket) { events->sum = mix(events->sum, bracket); }
static void on_close(struct events *events, char bracket) { events->sum = mix(events->sum, bracket); }
static void on_word(struct events *events, char first) { events->sum = mix(events->sum, first); }

static void on_string(struct events *events, const char *from, const char *to) {
    u64 sum = events->sum;
    while (from < to) sum = mix(sum, (u8)*from++);
    events->sum = sum;
}

static void on_number(struct events *events, double value) {
    union {
        double value;
        u64 bits;
    } both = {value};
    events->sum = mix(events->sum, both.bits);
}

struct parser {
    const char *at, *end;
    struct events *events;
    int depth;
    char open[DEPTH];
};

// A handler parses what begins with its byte; 0 means that the text is refused.
typedef int (*handler)(struct parser *);

static handler handlers[256];

static int on_space(struct parser *parser) {
    parser->at++;
    return 1;
}

static int on_opening(struct parser *parser) {
    if (parser->depth == DEPTH) return 0;
    char bracket = *parser->at++;
    parser->open[parser->depth++] = bracket;
    parser->events->open(parser->events, bracket);
    return 1;
}

static int on_closing(struct parser *parser) {
    char bracket = *parser->at++;
    // The closing brackets are two after the opening ones.
    if (parser->depth == 0 || parser->open[--parser->depth] != bracket - 2) return 0;
    parser->events->close(parser->events, bracket);
    return 1;
}

static int on_quote(struct parser *parser) {
    const char *from = ++parser->at;
    while (parser->at < parser->end && *parser->at != '"') parser->at += *parser->at == '\\' ? 2 : 1;
    if (parser->at >= parser->end) return 0;
    parser->events->string(parser->events, from, parser->at++);
    return 1;
}

static int is_digit(char byte) { return byte >= '0' && byte <= '9'; }

static int on_digit(struct parser *parser) {
    const char *at = parser->at;
    int negative = *at == '-';
    at += negative;
    double value = 0;
    while (is_digit(*at)) value = value * 10 + (*at++ - '0');
    if (*at == '.') {
        double scale = 1;
        for (at++; is_digit(*at); at++) value += (*at - '0') * (scale *= 0.1);
    }
    if (*at == 'e') {
        int exponent = 0;
        for (at++; is_digit(*at); at++) exponent = exponent * 10 + (*at - '0');
        while (exponent-- > 0) value *= 10;
    }
    parser->at = at;
    parser->events->number(parser->events, negative ? -value : value);
    return 1;
}

static int on_letter(struct parser *parser) {
    char first = *parser->at;
    while (parser->at < parser->end && *parser->at >= 'a' && *parser->at <= 'z') parser->at++;
    parser->events->word(parser->events, first);
    return 1;
}

static int on_other(struct parser *parser) {
    (void)parser;
    return 0;
}

static void fill_handlers(void) {
    for (int byte = 0; byte < 256; byte++) handlers[byte] = on_other;
    for (const char *byte = " \n\t\r,:"; *byte; byte++) handlers[(u8)*byte] = on_space;
    for (const char *byte = "[{"; *byte; byte++) handlers[(u8)*byte] = on_opening;
    for (const char *byte = "]}"; *byte; byte++) handlers[(u8)*byte] = on_closing;
    for (const char *byte = "-0123456789"; *byte; byte++) handlers[(u8)*byte] = on_digit;
    for (const char *byte = "tfn"; *byte; byte++) handlers[(u8)*byte] = on_letter;
    handlers['"'] = on_quote;
}

EXPORT(run) long long run(int n) {
    length = 0;
    write_text();
    fill_handlers();
    struct events events = {on_open, on_close, on_string, on_number, on_word, 14695981039346656037ull};
    while (n-- > 0) {
        struct parser parser;
        parser.at = text, parser.end = text + length, parser.events = &events, parser.depth = 0;
        while (parser.at < parser.end) {
            if (!handlers[(u8)*parser.at](&parser)) return -1;
        }
        if (parser.depth != 0) return -1;
    }
    return (long long)events.sum;
}
