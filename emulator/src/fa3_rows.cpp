#include "fa3_rows.hpp"

#include "dashlab/emulator/array_math.hpp"
#include "dashlab/emulator/special_functions.hpp"

namespace dashlab {

void fa3_probabilities(std::span<float> s, std::span<float> dp, float scale_log2, float lse2, float dpsum,
                       InputType type, std::uint16_t* p, std::uint16_t* ds) {
  fma_ftz(s, scale_log2, -lse2);
  ex2_approx_ftz(s, s);
  score_gradient_ftz(s, dp, dpsum);
  convert(s, {p, s.size()}, type);
  convert(dp, {ds, dp.size()}, type);
}

}  // namespace dashlab
