/* account.c - parameters, FLOPs and cached numbers, counted. */
#include "train/probe/account.h"

#include <string.h>

const char *const qkv_probe_part_names[] = {"attention",    "feed-forward", "embeddings",
                                            "unembeddings", "norms",        "other"};
const char *const qkv_probe_work_names[] = {"projections",  "scores",       "mix",
                                            "feed-forward", "unembeddings", "other"};

/* ---- parts by name ---- */

/* Does the name have this word between points? */
static bool has_word(const char *name, const char *word) {
    size_t n = strlen(word);
    for (const char *at = name; at; at = strchr(at, '.')) {
        at += *at == '.';
        if (strncmp(at, word, n) == 0 && (at[n] == '.' || at[n] == '\0')) return true;
    }
    return false;
}

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

qkv_probe_part qkv_probe_part_of(const char *name) {
    if (!name) return QKV_PROBE_PART_OTHER;
    if (begins(name, "embed.") || begins(name, "memory.")) return QKV_PROBE_PART_EMBEDDING;
    if (begins(name, "unembed.") || begins(name, "logits.")) return QKV_PROBE_PART_UNEMBEDDING;
    if (has_word(name, "attn") || has_word(name, "cross")) return QKV_PROBE_PART_ATTENTION;
    if (has_word(name, "mlp")) return QKV_PROBE_PART_FEED_FORWARD;
    static const char *const norms[] = {"norm", "norm1", "norm2", "norm_cross"};
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        if (has_word(name, norms[i])) return QKV_PROBE_PART_NORM;
    return QKV_PROBE_PART_OTHER;
}

/* ---- one sublayer, by formula ---- */

static void add(qkv_probe_account_sublayer *s, const char *name, const char *formula, int rows,
                int cols, bool bias) {
    size_t n = (size_t)rows * (size_t)cols + (bias ? (size_t)cols : 0);
    s->row[s->n_rows++] = (qkv_probe_account_row){name, formula, rows, cols, n};
    s->n += n;
}

/* The matrix of a role: its own, none, or the one that user[] says another role has already. */
static void add_role(qkv_probe_account_sublayer *s, const nn_model_config *m, int role,
                     int user[3]) {
    static const char *const names[] = {"W^Q", "W^K", "W^V"};
    static const char *const shared[] = {"is W^Q", "is W^K", "is W^V"};
    static const char *const formulas[][3] = {{"d x H d_k", "d x G d_k", "d x G d_v"},
                                              {"d x H d_k", "latent x G d_k", "latent x G d_v"}};
    const nn_attention_config *c = &m->attention;
    const char *matrix = nn_attention_matrix(c, "qkv"[role]);
    int which = !matrix ? -1 : matrix[1] == 'q' ? 0 : matrix[1] == 'k' ? 1 : 2;
    int rows = c->latent && role > 0 ? c->latent : m->d_model;
    int cols = role == 0 ? c->heads * c->d_k : c->kv_heads * (role == 1 ? c->d_k : c->d_v);
    if (which < 0)
        add(s, names[role], "none: the input itself", 0, 0, false);
    else if (user[which] >= 0)
        add(s, names[role], shared[user[which]], 0, 0, false);
    else
        add(s, names[role], formulas[c->latent > 0][role], rows, cols, c->init.bias);
    if (which >= 0 && user[which] < 0) user[which] = role;
}

static qkv_probe_account_sublayer attention_of(const nn_model_config *m) {
    const nn_attention_config *c = &m->attention;
    qkv_probe_account_sublayer s = {.n_rows = 0};
    int user[] = {-1, -1, -1};
    if (c->latent) add(&s, "W^D", "d x latent", m->d_model, c->latent, false);
    for (int role = 0; role < 3; role++) add_role(&s, m, role, user);
    if (c->plain_o)
        add(&s, "W^O", "none: heads side by side", 0, 0, false);
    else
        add(&s, "W^O", "H d_v x d", c->heads * c->d_v, m->d_model, c->init.bias);
    if (c->qk_norm) add(&s, "gain of q", "d_k", 1, c->d_k, false);
    if (c->qk_norm) add(&s, "gain of k", "d_k", 1, c->d_k, false);
    if (c->scale == NN_SCALE_LEARNED || c->scale == NN_SCALE_EXP)
        add(&s, "temperature", "1 x 1", 1, 1, false);
    return s;
}

static qkv_probe_account_sublayer feed_forward_of(const nn_model_config *m) {
    qkv_probe_account_sublayer s = {.n_rows = 0};
    if (m->d_ff == 0) return s;
    if (m->activation == NN_ACT_SILU_GATED)
        add(&s, "gate", "d x F", m->d_model, m->d_ff, m->init.bias);
    add(&s, "up", "d x F", m->d_model, m->d_ff, m->init.bias);
    add(&s, "down", "F x d", m->d_ff, m->d_model, m->init.bias);
    return s;
}

/* ---- what a token costs ---- */

/* How many pairs of positions a mix of values adds up in one head; `weights` [B,H,T,S] is what it
 * reads. Self-attention in the layers has the mask, and is known by its name. */
static double pairs_seen(const ag_node *mix, const ag_node *weights, ag_mask mask) {
    int T = weights->val.shape.dim[2], S = weights->val.shape.dim[3];
    const char *name = has_word(mix->name, "mix") ? mix->name : weights->name;
    bool masked = begins(name, "layer") && has_word(name, "attn");
    double pairs = 0;
    for (int t = 0; t < T; t++) {
        int limit = masked ? ag_mask_limit(mask, t, S) : S;
        pairs += limit - (masked && mask.no_self && t < limit);
    }
    return pairs;
}

static qkv_probe_work work_of(const char *name) {
    switch (qkv_probe_part_of(name)) {
        case QKV_PROBE_PART_ATTENTION: return QKV_PROBE_WORK_PROJECT;
        case QKV_PROBE_PART_FEED_FORWARD: return QKV_PROBE_WORK_FEED_FORWARD;
        case QKV_PROBE_PART_UNEMBEDDING: return QKV_PROBE_WORK_UNEMBED;
        default: return QKV_PROBE_WORK_OTHER;
    }
}

/* Adds up a micro-batch's products. Every mix of values follows its scores. */
static void count_work(qkv_trainer *t, const nn_model_config *m, qkv_probe_account *out) {
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    double factor = 2.0 / w->B / qkv_trainer_spec(t)->side[DATA_SEQUENCE].T;
    for (int i = 0; i < ag_count(w->graph); i++) {
        const ag_node *node = ag_at(w->graph, i);
        if (!node->op || !node->op->flops || node->op == &ag_op_scores) continue;
        if (node->op != &ag_op_mix) {
            out->work[work_of(node->name)] += factor / 2 * node->op->flops(node);
            continue;
        }
        double pairs = w->B * pairs_seen(node, node->in[0], m->attention.mask);
        out->work[QKV_PROBE_WORK_SCORES] += factor * pairs * m->attention.heads * m->attention.d_k;
        out->work[QKV_PROBE_WORK_MIX] += factor * pairs * tensor_width(node->val.shape);
    }
    for (int i = 0; i < QKV_PROBE_WORKS; i++) out->flops += out->work[i];
}

static void count_cache(const nn_model_config *m, bool memory, qkv_probe_account *out) {
    const nn_attention_config *c = &m->attention;
    const char *k = nn_attention_matrix(c, 'k'), *v = nn_attention_matrix(c, 'v');
    int keys = c->kv_heads * c->d_k, values = c->kv_heads * c->d_v;
    bool one = k && v ? strcmp(k, v) == 0 : k == v;  // keys and values are the same numbers
    out->cache_layer = c->latent ? c->latent : one ? keys : keys + values;
    out->cache_formula = c->latent ? "latent"
                         : !one    ? "G (d_k + d_v)"
                         : k       ? "G d_k: K is V"
                                   : "d: the input itself";
    out->cache_sequence = m->self_attention ? m->layers * out->cache_layer : 0;
    out->cache_memory = memory ? m->layers * out->cache_layer : 0;
}

void qkv_probe_account_of(qkv_trainer *t, qkv_probe_account *out) {
    const data_spec *s = qkv_trainer_spec(t);
    nn_model_config m = qkv_config_model(qkv_trainer_config(t), s);
    ag_params *params = qkv_trainer_params(t);
    bool own_block = m.block && m.block != nn_block, memory = s->side[DATA_MEMORY].T > 0;
    *out = (qkv_probe_account){.learned = ag_params_learned(params), .cache_formula = "unknown"};
    for (int i = 0; i < ag_params_count(params); i++) {
        const ag_param_entry *p = ag_params_at(params, i);
        out->part[qkv_probe_part_of(p->name)] += p->val.n;
        out->total += p->val.n;
    }
    count_work(t, &m, out);
    out->cache_layer = out->cache_sequence = out->cache_memory = -1;
    if (own_block) return;
    out->attention = attention_of(&m);
    out->attention.copies = m.encoder_layers + m.layers * (m.self_attention + memory);
    out->feed_forward = feed_forward_of(&m);
    out->feed_forward.copies = m.d_ff ? m.encoder_layers + m.layers : 0;
    count_cache(&m, memory, out);
}
