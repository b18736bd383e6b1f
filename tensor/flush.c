/* flush.c - the processor's control register for subnormal numbers: MXCSR of x86-64, FPCR of aarch64. */
#include "tensor/flush.h"

#if defined(QKV_PORTABLE)
#define FLUSH 0
#elif defined(__SSE2__)
#define FLUSH 0x8040  // results (FTZ) and operands (DAZ)
#elif defined(__aarch64__)
#define FLUSH (1 << 24)  // FZ: both
#else
#define FLUSH 0
#endif

#if FLUSH && defined(__SSE2__)
static uint64_t get(void) { return __builtin_ia32_stmxcsr(); }
static void set(uint64_t control) { __builtin_ia32_ldmxcsr((unsigned)control); }
#elif FLUSH
static uint64_t get(void) {
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}
static void set(uint64_t control) { __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory"); }
#else
static uint64_t get(void) { return 0; }
static void set(uint64_t control) { (void)control; }
#endif

tensor_flush tensor_flush_begin(void) {
    const tensor_flush before = {get()};
    set(before.control | FLUSH);
    return before;
}

void tensor_flush_end(tensor_flush before) { set(before.control); }

int tensor_flush_works(void) { return FLUSH != 0; }
