/* safetensors_internal.h - what the files safetensors*.c share. */
#pragma once

#include "train/io/safetensors.h"

#define QKV_IO_ST_NOTES "__metadata__"
#define QKV_IO_ST_CRC   "crc32"

// Bytes before the header; hexadecimal digits of the checksum.
enum { QKV_IO_ST_LENGTH = 8, QKV_IO_ST_DIGITS = 8 };

/* Fills s->tensor, s->note and s->data_bytes from the JSON at s->head + 8, and checks it against
 * the file's size. */
qkv_io_status qkv_io_safetensors_parse(qkv_io_safetensors *s, uint64_t file_size, char *error);

/* Where the checksum's digits stand in head (the length and the header, n bytes); NULL: nowhere. */
unsigned char *qkv_io_safetensors_digits(unsigned char *head, size_t n);

/* The checksum of head and data, the digits taken as zeros. */
uint32_t qkv_io_safetensors_crc(const unsigned char *head, size_t n, const unsigned char *digits,
                                const void *data, size_t data_bytes);
