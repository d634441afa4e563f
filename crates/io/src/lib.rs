//! Byte handles, streaming decoders and encoders
