/* safetensors_internal.h - what the files safetensors*.c share. */
#ifndef TRAIN_SAFETENSORS_INTERNAL_H
#define TRAIN_SAFETENSORS_INTERNAL_H

#include "train/safetensors.h"

#define TRAIN_ST_NOTES "__metadata__"
#define TRAIN_ST_CRC   "crc32"

enum {
    TRAIN_ST_LENGTH = 8,
    TRAIN_ST_DIGITS = 8
};  // bytes before the header; hexadecimal digits of the checksum

/* Fills s->tensor, s->note and s->data_bytes from the JSON at s->head + 8, and checks it against
 * the file's size. */
train_file_status train_safetensors_parse(train_safetensors *s, uint64_t file_size, char *error);

/* Where the checksum's digits stand in head (the length and the header, n bytes); NULL: nowhere. */
unsigned char *train_safetensors_digits(unsigned char *head, size_t n);

/* The checksum of head and data, the digits taken as zeros. */
uint32_t train_safetensors_crc(const unsigned char *head, size_t n, const unsigned char *digits,
                               const void *data, size_t data_bytes);

#endif
