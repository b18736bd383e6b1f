/* tape_text.c - qkv tape: what a person reads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/cli/open.h"
#include "train/cli/tape.h"
#include "train/io/words.h"

enum { CELL = 7, LABEL = 15, ACROSS = (80 - LABEL - 1) / CELL, DOWN = 48, TERMS = 16 };

/* ---- the list ---- */

void cli_tape_print_example(const cli_taped *v) {
    const qkv_probe_tape *t = &v->tape;
    const data_spec *s = qkv_trainer_spec(t->t);
    const int target = t->w->target[t->readout][t->row];
    char symbol[DATA_SYMBOL];
    printf("%s\n", v->head);
    cli_print_positions(s, t->w);
    printf("Asked at %d", t->question);
    if (target >= 0) printf(", right is %s", data_answer(&s->readout[t->readout], target, symbol));
    cli_print(". The loss is %.6g.\n\n", (double)t->w->out.loss->val.x[0]);
}

static void print_node_line(const cli_taped *v, const ag_node *node) {
    char shape[TENSOR_SHAPE_TEXT];
    const char *formula = qkv_probe_tape_formula(node);
    cli_print("%3d %-20s %-10s %9.3g %9.3g  ", node->index, node->name,
              tensor_shape_text(node->val.shape, shape),
              qkv_probe_tape_size(node->val.x, node->val.n),
              node->has_grad ? qkv_probe_tape_size(node->grad, node->val.n) : 0.0);
    if (!node->op) {
        printf("%s\n", !node->param          ? "input"
                       : node->param->frozen ? "parameter, frozen"
                                             : "parameter");
        return;
    }
    printf("%s(", node->op->name);
    for (int k = 0; k < node->n_in; k++) printf("%s%d", k ? "," : "", node->in[k]->index);
    printf(")%s%s%s\n", *formula ? ": " : "", formula,
           node == v->tape.w->out.loss ? "  <- the loss" : "");
}

void cli_tape_print_nodes(const cli_taped *v, bool backward) {
    const int n = ag_count(v->tape.w->graph);
    printf("%3s %-20s %-10s %9s %9s  %s\n", "", "node", "shape", "value", "gradient",
           backward ? "how it was made; backward goes down this list" : "how it is made");
    for (int i = 0; i < n; i++)
        print_node_line(v, ag_at(v->tape.w->graph, backward ? n - 1 - i : i));
    printf("\nvalue and gradient: root mean squares; in parentheses the inputs' numbers.\n");
}

/* ---- one node ---- */

static const char *label_of(const cli_taped *v, const ag_node *node, int dim, int i, int width,
                            char *out, size_t size) {
    char text[96], number[128];
    qkv_probe_tape_label(&v->tape, node, dim, i, text, sizeof text);
    if (!*text)
        snprintf(number, sizeof number, "%d", i);
    else if (width < LABEL)
        snprintf(number, sizeof number, "%s", text);
    else
        snprintf(number, sizeof number, "%d %s", i, text);
    return qkv_io_fit(number, width, out, size);
}

/* The power of ten in whose units the largest number has one digit before its point; 0 where numbers are
 * of ordinary size. */
static int unit_of(const real *x, size_t n) {
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]) && fabs((double)x[i]) > largest) largest = fabs((double)x[i]);
    return largest == 0 || (largest >= 0.1 && largest < 100) ? 0 : (int)floor(log10(largest));
}

static void print_plane(const cli_taped *v, const ag_node *node, const real *x, int rows, int cols,
                        double unit) {
    const int rank = node->val.shape.rank;
    char text[128];
    printf("%-*s", LABEL, "");
    for (int c = 0; c < cols && c < ACROSS; c++)
        printf(" %s", label_of(v, node, rank - 1, c, CELL - 1, text, sizeof text));
    printf("\n");
    for (int r = 0; r < rows && r < DOWN; r++) {
        printf("%-*s", LABEL,
               rank > 1 ? label_of(v, node, rank - 2, r, LABEL, text, sizeof text) : "");
        for (int c = 0; c < cols && c < ACROSS; c++)
            cli_print("%*.3f", CELL, (double)x[(ptrdiff_t)r * cols + c] / unit);
        printf("\n");
    }
    if (cols > ACROSS || rows > DOWN)
        printf("(%d of %d rows, %d of %d columns; --csv and --npy have all)\n",
               rows < DOWN ? rows : DOWN, rows, cols < ACROSS ? cols : ACROSS, cols);
}

static void print_numbers(const cli_taped *v, const ag_node *node, const char *what,
                          const real *x) {
    const tensor_shape s = node->val.shape;
    const int cols = s.rank ? s.dim[s.rank - 1] : 1, rows = s.rank > 1 ? s.dim[s.rank - 2] : 1;
    const size_t each = (size_t)rows * (size_t)cols, planes = each ? node->val.n / each : 0;
    const int unit = unit_of(x, node->val.n);
    char text[64];
    for (size_t p = 0; p < planes && p < 16; p++) {
        printf("\n%s", what);
        if (unit) printf(" in units of 1e%d", unit);
        if (planes > 1) {
            qkv_probe_tape_label(&v->tape, node, s.rank - 3, (int)p, text, sizeof text);
            if (*text)
                printf(", %s", text);
            else
                printf(", plane %zu", p);
        }
        printf("\n");
        print_plane(v, node, x + p * each, rows, cols, pow(10, unit));
    }
    if (planes > 16) printf("(16 of %zu planes; --csv and --npy have all)\n", planes);
}

void cli_tape_print_node(const cli_taped *v, const ag_node *node) {
    char shape[TENSOR_SHAPE_TEXT];
    const char *formula = qkv_probe_tape_formula(node);
    printf("%s %s", node->name, tensor_shape_text(node->val.shape, shape));
    if (node->op) printf(": %s%s%s", node->op->name, *formula ? ", " : "", formula);
    printf("\n");
    for (int k = 0; k < node->n_in; k++) printf("  input %d: %s\n", k, node->in[k]->name);
    print_numbers(v, node, "Value", node->val.x);
    if (node->has_grad)
        print_numbers(v, node, "Gradient", node->grad);
    else
        printf("\nNo gradient reaches it.\n");
}

/* ---- terms ---- */

static void print_where(const cli_taped *v, const ag_node *node, size_t at) {
    char text[400];
    printf("%s", qkv_probe_tape_place(node, at, text, sizeof text));
    if (*qkv_probe_tape_words(&v->tape, node, at, text, sizeof text)) printf(" (%s)", text);
}

static void print_term(const cli_taped *v, const ag_term *t, bool parts) {
    if (parts) cli_print("%11.4g", t->part);
    if (t->n > 1) {
        printf("%11s%11s  ", "", "");
        print_where(v, t->node, t->at);
        printf(" and the %zu after it\n", t->n - 1);
        return;
    }
    cli_print("%11.4g%11.4g  ", t->value, t->slope);
    print_where(v, t->node, t->at);
    printf("\n");
}

/* Terms from .. to-1, the first of them; the others are summed up. */
static void print_terms(const cli_taped *v, const ag_reasons *r, size_t from, size_t to,
                        bool parts) {
    double rest = 0;
    if (parts) printf("%11s", "part");
    printf("%11s%11s  where\n", "value", "slope");
    for (size_t k = from; k < to; k++)
        if (k - from < TERMS)
            print_term(v, &r->term[k], parts);
        else
            rest += r->term[k].part;
    if (to - from <= TERMS) return;
    if (parts) cli_print("%11.4g", rest);
    printf("  %zu more%s\n", to - from - TERMS, parts ? ", summed up" : " (--csv has all)");
}

/* That the parts of an input are all, or what is left without them. */
static void print_sum(const ag_reasons *r, int input, bool linear) {
    const double rest = ag_why_rest(r, input);
    double sizes = fabs(r->value);
    for (size_t k = 0; k < r->n; k++) sizes += fabs(r->term[k].part);
    if (!linear)
        printf(": not linear, so the slopes are no parts of it\n");
    else if (fabs(rest) <= 64 * (double)REAL_EPSILON * sizes)
        printf(": value times slope, which add up to it\n");
    else
        cli_print(": value times slope, which add up to %.6g; without them it is %.6g\n",
                  r->value - rest, rest);
}

void cli_tape_print_why(const cli_taped *v, const ag_node *y, size_t at, const ag_reasons *r) {
    char filled[400];
    print_where(v, y, at);
    cli_print(" = %.6g\n", r->value);
    if (!y->op) {
        printf("It is a leaf: it is made of nothing.\n");
        return;
    }
    printf("%s: %s\n", y->op->name, qkv_probe_tape_formula(y));
    if (*cli_tape_filled(y, r, filled, sizeof filled)) printf("%s\n", filled);
    for (int k = 0; k < y->n_in; k++) {
        size_t from = 0, to;
        while (!r->together && from < r->n && r->term[from].input != k) from++;
        for (to = from; to < r->n && (r->together || r->term[to].input == k);) to++;
        if (r->together && k > 0) break;
        const bool linear = to > from && r->term[from].linear;
        printf("\nBy %s%s", r->together ? "its inputs" : y->in[k]->name,
               to == from ? ": nothing depends on it here\n" : "");
        if (to == from) continue;
        print_sum(r, k, linear);
        print_terms(v, r, from, to, linear);
    }
}

/* Of a gradient without parts: what of its readers is 0. */
static void print_why_nothing(const cli_taped *v, const ag_node *x) {
    bool read = false;
    for (int i = x->index + 1; i < ag_count(v->tape.w->graph); i++) {
        const ag_node *y = ag_at(v->tape.w->graph, i);
        bool reads = false;
        for (int k = 0; k < y->n_in; k++) reads = reads || y->in[k] == x;
        if (!reads) continue;
        read = true;
        const double size = y->has_grad ? qkv_probe_tape_size(y->grad, y->val.n) : 0;
        if (size > 0)
            cli_print(
                "%s reads it: its gradients are not 0 (root mean square %.4g), but they stand "
                "where\nthis number is not read, or the slopes by it are 0: see its other "
                "inputs (--node %s).\n",
                y->name, size, y->name);
        else
            printf("%s reads it, and the gradients of that are 0 themselves (--why-grad %s[..]).\n",
                   y->name, y->name);
    }
    if (!read) printf("Nothing reads it.\n");
}

void cli_tape_print_why_grad(const cli_taped *v, const ag_node *x, size_t at, const ag_reasons *r) {
    double sum = 0;
    printf("The gradient of ");
    print_where(v, x, at);
    cli_print(" is %.6g\n", r->value);
    if (x == v->tape.w->out.loss) {
        printf("It is the loss: backward begins here.\n");
        return;
    }
    for (size_t k = 0; k < r->n; k++) sum += r->term[k].part;
    if (r->n == 0) {
        print_why_nothing(v, x);
        return;
    }
    cli_print(
        "%zu part%s it, %.6g: the gradient of each number that reads it (value), times that\n"
        "number's slope by it.\n\n",
        r->n, r->n > 1 ? "s make" : " makes", sum);
    print_terms(v, r, 0, r->n, true);
}

void cli_tape_print_path(const cli_taped *v, const ag_node *x, size_t at, const ag_reasons *r) {
    printf("From ");
    print_where(v, x, at);
    cli_print(", gradient %.6g, by the largest part each time\n\n", r->value);
    if (r->n == 0) print_why_nothing(v, x);
    if (r->n) print_terms(v, r, 0, r->n, true);
}

/* ---- the update ---- */

static void print_measures(const qkv_probe_tape_update *u) {
    static const char *const said[] = {"right score", "its weight", "right logit", "loss"};
    printf("\n%-24s", "This example");
    for (int m = 0; m < QKV_PROBE_TAPE_MEASURES; m++) printf(" %12s", said[m]);
    printf("\n%-24s", "  before");
    for (int m = 0; m < QKV_PROBE_TAPE_MEASURES; m++) cli_print(" %12.6g", u->before[m]);
    printf("\n%-24s", "  after");
    for (int m = 0; m < QKV_PROBE_TAPE_MEASURES; m++) cli_print(" %12.6g", u->after[m]);
    printf("\n%-24s", "  the difference");
    for (int m = 0; m < QKV_PROBE_TAPE_MEASURES; m++)
        cli_print(" %12.4g", u->after[m] - u->before[m]);
    printf("\n");
}

void cli_tape_print_update(const cli_taped *v, const qkv_probe_tape_update *u) {
    char text[800];
    cli_print("The next step: %s, rate %.4g, the batch's loss %.6g, gradient norm %.4g",
              u->method->name, u->rate, u->loss, u->grad_norm);
    if (u->scale < 1) cli_print(", clipped to %.3g of it", u->scale);
    printf(".\n\n%-24s %10s %10s", "root mean squares", "weights", "gradient");
    for (int m = 0; m < QKV_OPTIM_MOMENTS && u->method->moment[m]; m++)
        printf(" %10s", u->method->moment[m]);
    printf(" %10s\n", "step");
    for (int i = 0; i < u->n; i++) {
        const qkv_probe_tape_part *p = &u->part[i];
        cli_print("%-24s %10.3g %10.3g", p->p->name, p->weight, p->grad);
        for (int m = 0; m < QKV_OPTIM_MOMENTS && u->method->moment[m]; m++)
            cli_print(" %10.3g", p->moment[m]);
        cli_print(" %10.3g%s\n", p->step, p->p->frozen ? "  frozen" : "");
    }
    print_measures(u);
    printf("of which, where one matrix alone takes its step:\n");
    for (int i = 0; i < u->n; i++) {
        printf("  %-22s", u->part[i].p->name);
        for (int m = 0; m < QKV_PROBE_TAPE_MEASURES; m++) cli_print(" %12.4g", u->part[i].part[m]);
        printf("\n");
    }
    printf("  %-22s", "together");
    for (int m = 0; m < QKV_PROBE_TAPE_MEASURES; m++) cli_print(" %12.4g", u->together[m]);
    qkv_probe_tape_taught(&v->tape, u, text, sizeof text);
    printf("\n\n%s\n", text);
}

/* ---- formulas with their numbers ---- */

/* "0.36 = e^1.4 / (e^-1.3 + ... + e^0.7)": of a quotient of exponentials over a row. */
static void fill_softmax(const ag_node *y, const ag_reasons *r, bool one, char *out, size_t size) {
    size_t n = 0, shown = 0;
    char own[32] = "?";
    for (size_t k = 0; k < r->n; k++)
        if (r->n && r->term[k].slope > 0) qkv_io_words(own, sizeof own, "%.4g", r->term[k].value);
    n = (size_t)qkv_io_words(out, size, "%.4g = e^%s / (%s", r->value, own, one ? "1" : "");
    for (size_t k = 0; k < r->n && n < size; k++, shown++) {
        if (r->n > 6 && k == 4) {
            n += (size_t)snprintf(out + n, size - n, " + ... %zu more", r->n - 4);
            break;
        }
        n += (size_t)qkv_io_words(out + n, size - n, "%se^%.4g", k || one ? " + " : "",
                                  r->term[k].value);
    }
    if (n < size) snprintf(out + n, size - n, ")");
    (void)y;
}

/* Letters of a formula of numbers at one place give way to the numbers. */
static void fill_letters(const ag_node *y, const ag_reasons *r, const char *formula, char *out,
                         size_t size) {
    size_t n = 0;
    for (const char *c = formula; *c && *c != ';' && n + 32 < size;) {
        const size_t word = strspn(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        const int input = word == 1 ? *c == 'x' || *c == 'a' ? 0 : *c == 'b' ? 1 : -1 : -1;
        double number = r->value;
        bool found = word == 1 && *c == 'y';
        for (size_t k = 0; input >= 0 && !found && k < r->n; k++)
            if (r->term[k].input == input) number = r->term[k].value, found = true;
        if (found) {
            n += (size_t)qkv_io_words(out + n, size - n, number < 0 ? "(%.4g)" : "%.4g", number);
            c += word;
        } else {
            for (size_t i = 0; i < (word ? word : 1); i++) out[n++] = *c++;
        }
    }
    out[n] = '\0';
    (void)y;
}

const char *cli_tape_filled(const ag_node *y, const ag_reasons *r, char *out, size_t size) {
    const char *formula = qkv_probe_tape_formula(y);
    *out = '\0';
    if (strncmp(formula, "y = exp(x) / ", 13) == 0 && r->n > 0)
        fill_softmax(y, r, strstr(formula, "(1 +") != NULL, out, size);
    else if (y->op->facts & AG_ELEMENTWISE && *formula && r->n > 0)
        fill_letters(y, r, formula, out, size);
    return out;
}
