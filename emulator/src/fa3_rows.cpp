#include "fa3_rows.hpp"

#include "dashlab/emulator/scalar_math.hpp"
#include "dashlab/emulator/special_functions.hpp"

namespace dashlab {

void fa3_probabilities(std::span<float> s, std::span<float> dp, float scale_log2, float lse2, float dpsum,
                       InputType type, std::uint16_t* p, std::uint16_t* ds) {
  for (float& x : s) x = fma_ftz(x, scale_log2, -lse2);
  ex2_approx_ftz(s, s);
  for (std::size_t i = 0; i < s.size(); ++i) dp[i] = mul_ftz(s[i], sub_ftz(dp[i], dpsum));
  convert(s, {p, s.size()}, type);
  convert(dp, {ds, dp.size()}, type);
}

}  // namespace dashlab
