/* coref_circuits.h - what the matrices of a one-layer model say of the words of the task coref. */
#ifndef QKV_PROBE_COREF_CIRCUITS_H
#define QKV_PROBE_COREF_CIRCUITS_H

#include "train/probe/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds, where the model is one layer of plain matrices and the predicate stands with "it" (form 9),
 *     coref.qk.compatible, .incompatible   mean of x Wq (E_noun Wk)^T / sqrt(d_k) over nouns that
 * the predicate fits, and others; .heldout: fits, never trained; x = E_it + E_predicate + the
 * position's embedding coref.qk.wins       triples (predicate, fitting noun, other noun) in which
 * the fitting one wins coref.qk.tag_ratio  variance over colours / over nouns: colours do not steer
 * attention coref.ov.tag_diag   colours c whose E_c Wv Wo U names c coref.ov.noun_ratio variance of
 * that over the answers, of nouns / of colours and nothing otherwise. Heads are added up. False:
 * memory is out. */
bool qkv_probe_coref_circuits(qkv_trainer *t, qkv_probe_measures *out, char *error);

#ifdef __cplusplus
}
#endif
#endif
