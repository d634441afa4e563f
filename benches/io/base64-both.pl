use strict;
use warnings;
use MIME::Base64;

open my $file, "<:raw", "inputs/records.json" or die $!;
my $bytes = do { local $/; <$file> };
my $text = encode_base64($bytes, "");
print length($text), decode_base64($text) eq $bytes ? " same" : " other", "\n";
