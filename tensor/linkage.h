/* linkage.h - what a public header declares between these two has C's linkage in C++, too. */
#pragma once

#ifdef __cplusplus
#define TENSOR_C_BEGIN extern "C" {
#define TENSOR_C_END   }
#else
#define TENSOR_C_BEGIN
#define TENSOR_C_END
#endif
