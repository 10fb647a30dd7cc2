#pragma once

#include <anabranch/io/audio.h>
#include <anabranch/io/descriptor.h>
#include <anabranch/io/graph.h>
#include <anabranch/io/matrix.h>
#include <anabranch/io/npy.h>
#include <anabranch/io/npz.h>
#include <anabranch/io/ragged.h>
#include <anabranch/io/text.h>

/// Streams from and to files, one theme a header: sparse matrices row by row (io/matrix.h), dense arrays
/// (io/npy.h), several in one file (io/npz.h), vectors of different lengths (io/ragged.h), lines and words (io/text.h), audio
/// (io/audio.h),
/// graphs, link by link (io/graph.h), what arrives at pipes and sockets (io/descriptor.h).
///
/// A file is not trusted: its headers are checked when it is opened, with little memory and whatever they
/// claim; its entries are checked as they are read, before anyone uses them. A malformed file gives DataError
/// naming file, position and reason; a refusal of the operating system gives IoError. Files being written
/// appear under their name whole or not at all: they are on the disk first (fsync of the file; then the
/// rename, then fsync of the folder). A file that is replaced leaves its permissions to the new one; of a
/// symbolic link, the file that it names is replaced or made. Nothing here is mapped into memory, nothing is
/// held whole that a stream could give in pieces.
namespace anabranch::io {}
