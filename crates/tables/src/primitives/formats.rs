//! Formats of data: JSON, CSV, base64, markup, compressed bytes; secrets; and regular expressions. The
//! libraries `(canny json)` and so on have the procedures for people.

use super::rows;

rows! {
    /// Format rows.
    ROWS slow Work:
    "%json-read" (5) [] "port json-objects any any any -> any"
        "The next JSON value of a port: what becomes of objects, what null is, whether decimals are exact, \
         greatest depth or #f.";
    "%string->json" (5) [] "string json-objects any any any -> any" "The only JSON value in a string.";
    "%make-json-reader" (2) [] "any any -> external"
        "A reader of events: whether decimals are exact, greatest depth or #f.";
    "%json-events" (2) [] "external port -> list" "The next events of a JSON value; none at its end.";
    "%json-write" (6) [] "any port index any any any -> unspecified"
        "Writes a datum as JSON: indentation, whether keys are sorted, whether the text is ASCII, what null \
         is.";
    "%json->string" (5) [] "any index any any any -> string" "A datum as JSON.";
    "%csv-read" (3) [] "port vector any -> any"
        "The next row of a port by a vector of `csv-dialect`, as a vector if the flag is set, else as a \
         list.";
    "%csv-write" (4) [] "any port vector any -> unspecified"
        "Writes a row by a vector of `csv-dialect`: whether every field is quoted.";
    "%base64-encode" (3) [] "bytevector any any -> string"
        "Bytes in base 64: whether for URLs, whether padded.";
    "%base64-decode" (4) [] "string any padding any -> bytevector"
        "The bytes of base 64: whether for URLs, padding, whether white space is passed over.";
    "%hex-encode" (2) [] "bytevector any -> string" "Two digits for each byte: whether letters are capitals.";
    "%hex-decode" (2) [] "string any -> bytevector"
        "The bytes of hexadecimal digits: whether white space is passed over.";
    "%sxml->html" (3) [] "any string any -> any"
        "SXML as HTML behind a text: a string, or a bytevector of UTF-8 if the flag is set.";
    "%sxml->xml" (3) [] "any string any -> any" "The same as XML.";
    "%html->sxml" (4) [] "string any any any -> list"
        "A page of HTML, or the content of an element of that name, as SXML: greatest depth or #f, whether \
         errors are raised.";
    "%xml->sxml" (5) [] "string any any any any -> list"
        "A document of XML as SXML: prefixes and namespaces in turn or #f, greatest depth, greatest size of \
         entities, whether white space between tags is dropped.";
    "%open-decompressor" (3) [] "port symbol any -> port"
        "A port that reads what another binary port has, decompressed; as text if the flag is set.";
    "%open-compressor" (5) [] "port symbol any any any -> port"
        "A port that writes compressed bytes to another binary port: level or #f, whether it takes text, \
         whether closing it closes the other one.";
    "%compress" (3) [] "bytevector symbol any -> bytevector" "Compressed bytes: level or #f.";
    "%decompress" (3) [] "bytevector symbol any -> bytevector" "Decompressed bytes: greatest size or #f.";
    "%regex-compile" (1) [] "string -> external"
        "A compiled regular expression, or a string that says what is wrong.";
    "%regex-groups" (1) [] "external -> list"
        "The names of the groups, the whole match first; #f where there is none.";
    "%regex-search" (6) [] "external string index index index any -> any"
        "The places of the first match in a range of a string from an index on, or #f: a vector for what is \
         kept of the string, () for nothing, or #f for a test only.";
    "%regex-find-line" (2) [] "external port -> any"
        "The next line of a port with a match; #f when it has to be called again.";
    "%read-rest" (1) [] "port -> string-or-eof"
        "All characters of a textual port that are left, or some of them if it was interrupted.";
    "%read-rest-bytes" (1) [] "port -> bytevector-or-eof"
        "All bytes of a binary port that are left, or some of them likewise.";
}
