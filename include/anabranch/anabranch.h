#pragma once

/// Everything a user of the language includes. Files: <anabranch/io.h>.
#include <anabranch/acc.h>
#include <anabranch/aggregate.h>
#include <anabranch/array.h>
#include <anabranch/bits.h>
#include <anabranch/boundary.h>
#include <anabranch/complex.h>
#include <anabranch/complex_mathematics.h>
#include <anabranch/control.h>
#include <anabranch/conversion.h>
#include <anabranch/elementwise.h>
#include <anabranch/error.h>
#include <anabranch/exp.h>
#include <anabranch/fold.h>
#include <anabranch/half.h>
#include <anabranch/index.h>
#include <anabranch/integer.h>
#include <anabranch/linear_algebra.h>
#include <anabranch/loop.h>
#include <anabranch/optional.h>
#include <anabranch/reorder.h>
#include <anabranch/rounding.h>
#include <anabranch/run.h>
#include <anabranch/scan.h>
#include <anabranch/seq.h>
#include <anabranch/source.h>
#include <anabranch/stencil.h>
#include <anabranch/switch.h>
#include <anabranch/transform.h>
#include <anabranch/variant.h>
#include <anabranch/version.h>

#include <anabranch/detail/transform_misuse.h>
