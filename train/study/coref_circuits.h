/* coref_circuits.h - what the matrices of a one-layer model say of the words of the task coref. */
#pragma once

#include "train/study/probe.h"

/* Adds, where the model is one layer of plain matrices and the predicate stands with "it" (form 9):
 *
 *   coref.qk.compatible    mean score x Wq (E_noun Wk)^T / sqrt(d_k) over nouns that the predicate
 *                          fits, where x = E_it + E_predicate + the position's embedding
 *   coref.qk.incompatible  the same over the other nouns
 *   coref.qk.heldout       the same over nouns that fit, but never did so in training
 *   coref.qk.wins          fraction of (predicate, fitting noun, other noun) whose fitting noun wins
 *   coref.qk.tag_ratio     variance over colours / over nouns: small where colours do not steer
 *   coref.ov.tag_diag      fraction of colours c whose E_c Wv Wo U names c
 *   coref.ov.noun_ratio    variance of that over the answers, of nouns / of colours
 *   coref.fits.k, .v, .x   how often a linear reader of E_noun Wk, E_noun Wv, E_noun tells the kind of nouns
 *                          it was not made with; .v_shuffled: of kinds that mean nothing
 *
 * Adds nothing to other models. Heads are added up. False: memory is out. */
bool qkv_study_coref_circuits(qkv_trainer *t, qkv_probe_measures *out, char *error);
