/* crc32.c - byte by byte, by a table. */
#include "train/io/crc32.h"

uint32_t qkv_io_crc32(uint32_t crc, const void *data, size_t n) {
    uint32_t table[256];  // what eight steps of the shift register do to each byte
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        table[i] = c;
    }
    const unsigned char *p = data;
    crc = ~crc;
    for (size_t i = 0; i < n; i++) crc = table[(crc ^ p[i]) & 0xff] ^ (crc >> 8);
    return ~crc;
}
