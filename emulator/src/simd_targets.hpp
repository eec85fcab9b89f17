// Which vector units the fast paths are compiled for. Included before Highway in every file of vector code.
#pragma once

// Arrays of vectors, as the product kernel keeps them, need a size known to the compiler.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
