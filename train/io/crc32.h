/* crc32.h - CRC-32 as in zlib, PNG and Ethernet: polynomial 0xedb88320, reflected. "123456789"
 * gives cbf43926. It sees every change of up to 32 bits in a row, so every flipped bit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The sum of what `crc` already stands for (0: nothing) followed by n bytes; the same as zlib's
 * crc32(). */
uint32_t qkv_io_crc32(uint32_t crc, const void *data, size_t n);
