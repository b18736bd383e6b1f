/* attend.h - the three products of masked attention, for one band of one head; internal to autograd/.
 *
 * p [T,S] holds one number for each query and key; a [T,E] and b [S,E] are one head's slice of
 * packed tensors, their rows lda and ldb apart. Masking is by selection: what a query may not see
 * never reaches its result, not even as 0 * NaN. Each product serves twice:
 *
 *     dots   p  = a b^T     scores forward (q, k);     mix backward (dy, v -> dw)
 *     rows   a += p b       mix forward (w, v);        scores backward (ds, k -> dq)
 *     cols   b += p^T a     scores backward (q -> dk); mix backward (dy -> dv)
 *
 * Where a plane has several bands, b is turned around once for all of them, and what is added to it
 * is summed up turned around: then the long side of each product, the keys, lies along vectors. */
#pragma once

#include "autograd/fast.h"
#include "tensor/gemm.h"

typedef struct {
    int T, S, E;
    ptrdiff_t lda, ldb;
    real factor;   // of each product
    ag_mask mask;  // of the plane, without lengths
    real *plane;   // ag_attend_room() numbers, kept from band to band
} ag_head;

/* Reals that the products want for a plane; 0 where it is one band. */
size_t ag_attend_room(int T, int S, int E, ptrdiff_t ldb);

/* p = factor a b^T where visible (GEMM_ADD: added), 0 elsewhere (GEMM_ADD: left alone). */
void ag_attend_dots(const ag_head *h, const ag_band *band, gemm_mode mode, const real *a,
                    const real *b, ag_strip p);

/* a = factor p b, or added to a. p must be 0 where masked. */
void ag_attend_rows(const ag_head *h, const ag_band *band, gemm_mode mode, ag_strip p,
                    const real *b, real *a);

/* b += factor p^T a, complete after the plane's last band. p must be 0 where masked. */
void ag_attend_cols(const ag_head *h, const ag_band *band, ag_strip p, const real *a, real *b);

/* The keys that the query in row r sees, as at most two ranges begin[i] <= s < end[i]; returns how many
 * ranges. */
int ag_visible(ag_mask mask, int r, int S, int begin[2], int end[2]);

/* How many keys row t can see in any plane. */
int ag_mask_cols(ag_mask mask, int t, int S);

/* Writes 0 into every masked cell of a band. */
void ag_clear_masked(ag_mask mask, const ag_band *band, ag_strip p);
