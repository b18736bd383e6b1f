#!/usr/bin/env python3
"""Makes block.h: a small Transformer and 100 steps of its training, by PyTorch in double.

    python3 tests/golden/make_golden.py > tests/golden/block.h

The model is the one of model.h: token and position embedding, one pre-norm block (causal attention
of two heads, feed-forward with the erf form of GELU, biases everywhere), a last layer norm,
unembedding, mean cross-entropy over the scored positions. It is written here with PyTorch's own
functions and optimisers, apart from the library. Nothing else is needed than PyTorch (made with
2.13); the same seed gives the same numbers up to rounding, and the committed file is what the tests
compare with.

Initial weights are rounded to float32, so that the library built in float starts from the same ones
as the one built in double. eps is 1e-6: the keys' bias has a gradient of exactly 0 but for rounding
(softmax does not see it), and with 1e-8 Adam would turn that rounding into steps.
"""
import sys

import torch
import torch.nn.functional as F

B, T, D, H, HIDDEN, V, STEPS = 4, 6, 8, 2, 16, 11, 100
LR, BETAS, EPS, DECAY = 0.01, (0.9, 0.98), 1e-6, 0.1

SHAPES = {
    "embed.token": (V, D),
    "embed.position": (T, D),
    "layer0.norm1.gain": (D,),
    "layer0.norm1.bias": (D,),
    "layer0.attn.wq": (D, D),
    "layer0.attn.bq": (D,),
    "layer0.attn.wk": (D, D),
    "layer0.attn.bk": (D,),
    "layer0.attn.wv": (D, D),
    "layer0.attn.bv": (D,),
    "layer0.attn.wo": (D, D),
    "layer0.attn.bo": (D,),
    "layer0.norm2.gain": (D,),
    "layer0.norm2.bias": (D,),
    "layer0.mlp.up.w": (D, HIDDEN),
    "layer0.mlp.up.b": (HIDDEN,),
    "layer0.mlp.down.w": (HIDDEN, D),
    "layer0.mlp.down.b": (D,),
    "norm.gain": (D,),
    "norm.bias": (D,),
    "unembed.next": (D, V),
}


def initial(name, shape):
    x = torch.randn(shape) * (0.4 if len(shape) == 2 else 0.1)
    x = 1 + x if name.endswith("gain") else x
    return x.float().double().requires_grad_()


def forward(w, ids, targets):
    def norm(x, name):
        return F.layer_norm(x, (D,), w[name + ".gain"], w[name + ".bias"], 1e-5)

    def affine(x, weight, bias):
        return x @ w[weight] + w[bias]

    def heads(x):
        return x.reshape(B, T, H, D // H).transpose(1, 2)

    x = F.embedding(ids, w["embed.token"]) + w["embed.position"]
    h = norm(x, "layer0.norm1")
    q, k, v = (heads(affine(h, f"layer0.attn.w{r}", f"layer0.attn.b{r}")) for r in "qkv")
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    mixed = mixed.transpose(1, 2).reshape(B, T, D)
    x = x + affine(mixed, "layer0.attn.wo", "layer0.attn.bo")
    h = F.gelu(affine(norm(x, "layer0.norm2"), "layer0.mlp.up.w", "layer0.mlp.up.b"))
    x = x + affine(h, "layer0.mlp.down.w", "layer0.mlp.down.b")
    logits = norm(x, "norm") @ w["unembed.next"]
    return F.cross_entropy(logits.reshape(-1, V), targets.reshape(-1), ignore_index=-1)


def train(start, ids, targets, decoupled):
    """100 steps; returns the loss before each, the first gradients, the last weights."""
    w = {name: x.detach().clone().requires_grad_() for name, x in start.items()}
    if decoupled:
        matrices = [x for x in w.values() if x.dim() == 2]
        vectors = [x for x in w.values() if x.dim() != 2]
        groups = [{"params": matrices, "weight_decay": DECAY},
                  {"params": vectors, "weight_decay": 0}]
        optimizer = torch.optim.AdamW(groups, lr=LR, betas=BETAS, eps=EPS)
    else:
        optimizer = torch.optim.Adam(w.values(), lr=LR, betas=BETAS, eps=EPS)
    losses, gradients = [], None
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = forward(w, ids, targets)
        loss.backward()
        losses.append(loss.item())
        gradients = gradients or {name: x.grad.clone() for name, x in w.items()}
        optimizer.step()
    return losses, gradients, w


def wrapped(texts):
    """Comma-separated, at most 100 columns."""
    line, lines = "   ", []
    for text in texts:
        if len(line) + len(text) + 2 > 100:
            lines.append(line)
            line = "   "
        line += " " + text + ","
    return "\n".join(lines + [line])


def doubles(x):
    return wrapped(f"{v:.17g}" for v in torch.as_tensor(x).reshape(-1).tolist())


def main():
    torch.manual_seed(7)
    torch.set_default_dtype(torch.float64)
    start = {name: initial(name, shape) for name, shape in SHAPES.items()}
    ids, targets = torch.randint(0, V, (B, T)), torch.randint(0, V, (B, T))
    targets[0, 0] = targets[2, 3] = -1  # not scored
    adam_losses, gradients, adam = train(start, ids, targets, False)
    adamw_losses, _, adamw = train(start, ids, targets, True)

    print("/* block.h - made by make_golden.py, which says of what and how: do not edit. */")
    print("// clang-format off")
    print("#ifndef TESTS_GOLDEN_BLOCK_H\n#define TESTS_GOLDEN_BLOCK_H\n")
    print(f"enum {{ GOLDEN_B = {B}, GOLDEN_T = {T}, GOLDEN_D = {D}, GOLDEN_H = {H} }};")
    print(f"enum {{ GOLDEN_F = {HIDDEN}, GOLDEN_V = {V}, GOLDEN_STEPS = {STEPS} }};")
    print(f"static const double golden_lr = {LR}, golden_eps = {EPS}, golden_decay = {DECAY};")
    print(f"static const double golden_beta1 = {BETAS[0]}, golden_beta2 = {BETAS[1]};\n")
    for name, x in (("ids", ids), ("targets", targets)):
        numbers = wrapped(str(i) for i in x.reshape(-1).tolist())
        print(f"static const int golden_{name}[] = {{\n{numbers}\n}};")
    for name, x in (("adam", adam_losses), ("adamw", adamw_losses)):
        print(f"static const double golden_{name}_losses[] = {{\n{doubles(x)}\n}};")
    print("\n/* A parameter: where it starts, its first gradient, where 100 steps take it. */")
    print("typedef struct {\n    const char *name;\n    int n;")
    print("    const double *initial, *gradient, *adam, *adamw;\n} golden_param;\n")
    print("static const golden_param golden_params[] = {")
    for name in SHAPES:
        print(f'{{"{name}", {start[name].numel()},')
        for x in (start, gradients, adam, adamw):
            print(f"  (const double[]){{\n{doubles(x[name].detach())}\n  }},")
        print("},")
    print("};\n\n#endif")
    return 0


if __name__ == "__main__":
    sys.exit(main())
