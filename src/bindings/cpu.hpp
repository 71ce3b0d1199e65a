// Which of the x86-64 levels this machine can run: asked by mixable._core._cpu at each import, and
// by CMakeLists.txt when the core is built for one machine.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/// 1 to 4; 0 if this is no x86-64.
inline int x86_level_of_this_machine() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return 1;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
        return 2;
    unsigned a, b, c, d;  // what not every compiler's built-in knows: MOVBE, F16C and LZCNT
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 22)) || !(c & (1u << 29))) return 2;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(c & (1u << 5))) return 2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512cd"))
        return 3;
    return 4;
#else
    return 0;
#endif
}
