/* inside.h - the cards of "Inside one step": what each shows of one question, and what its numbers are
 * made of. */
#pragma once

#include "train/io/text.h"
#include "train/trainer/trainer.h"

enum { QKV_PAGE_MOST_CARDS = 20 };

/* What one node says of the question: a matrix of some of its numbers. */
typedef struct {
    char key[16];  // "q": what the page calls it
    ag_node *node;
    int side, rows, cols;  // side: whose words stand beside the rows; -1: none
    ptrdiff_t from, down;  // its first number, and how far the next row's is
} qkv_page_card;

/* The cards in the order in which their nodes were recorded. */
typedef struct {
    const qkv_trainer_worker *w;
    const char *prefix;  // "layer0.attn"; "": the model has no attention that could be shown
    int head, row, queries,
        keys;  // row: the query that is looked at; the sides of queries and keys
    int length[DATA_SIDES], n;
    qkv_page_card card[QKV_PAGE_MOST_CARDS];
} qkv_page_cards;

void qkv_page_cards_find(qkv_page_cards *s, const qkv_config *c, const data_spec *spec);

/* Adds the keys of the cards that it reads, in quotes, whatever stands between. */
void qkv_page_cards_reads(const qkv_page_cards *s, const qkv_page_card *c, qkv_io_text *out);

/* Adds ,"why":{..} of a card's number, or of its gradient, to a text. False with a sentence in error. */
bool qkv_page_cards_why(const qkv_page_cards *s, int card, int cell, bool backward,
                        qkv_io_text *out, char *error);
