"""A run's model as one of TransformerLens."""
from typing import Any

import numpy as np

from .program import QkvError

# What the options may be: the rest has no like there.
_ALLOWED = {"block": ("transformer",), "latent": (0,), "wq": (True,), "wk": (True,), "wv": (True,), "wo": (True,),
            "scale": ("sqrt", "none"), "qk_norm": (False,), "soft_cap": (0,), "softmax_one": (False,),
            "self": (True,), "mask": ("task", "causal", "full"), "positions": ("none", "learned"),
            "token_shift": (False,), "post_norm": (False,), "residual": (True,), "readout": ("full",),
            "activation": ("relu", "gelu", "gelu-tanh"), "scores_from": (0,)}


def convert(state: Any) -> Any:
    """See Run.to_transformer_lens()."""
    import torch
    import transformer_lens
    c, params = state.config, {name: state[name] for name in state.keys()}
    for name, allowed in _ALLOWED.items():
        if c[name] not in allowed:
            raise QkvError(f"TransformerLens has no like of {name} = {c[name]}, only of {allowed}")
    tables = [name for name in params if name.startswith(("embed.", "memory.")) and name != "embed.position"]
    answers = [name for name in params if name.startswith("unembed.") and not name.endswith(".b")]
    if len(tables) != 1 or len(answers) > 1 or c["d_k"] != c["d_v"]:
        raise QkvError("a model of TransformerLens reads one sequence of one symbol a position, gives one answer, and "
                       f"has d_k = d_v; this one has {', '.join(tables + answers)}, d_k = {c['d_k']}, d_v = {c['d_v']}")
    attention = state.attention(0)
    layers, heads, length = attention.shape[:3]
    unembed = params[answers[0]] if answers else params[tables[0]].T
    model = transformer_lens.HookedTransformer(transformer_lens.HookedTransformerConfig(
        n_layers=layers, n_heads=heads, d_model=c["d_model"], d_head=c["d_k"], n_ctx=length, d_mlp=c["d_ff"] or None,
        attn_only=not c["d_ff"], act_fn={"gelu-tanh": "gelu_new"}.get(c["activation"], c["activation"]),
        normalization_type={"none": None, "layer": "LN", "rms": "RMS"}[c["norm"]], eps=1e-5,
        d_vocab=len(params[tables[0]]), d_vocab_out=unembed.shape[1], use_attn_scale=c["scale"] == "sqrt",
        attention_dir="bidirectional" if np.triu(attention, 1).any() else "causal", default_prepend_bos=False,
        device="cpu"))
    names = {"pos_embed.W_pos": "embed.position", "ln_final.w": "norm.gain", "ln_final.b": "norm.bias",
             "unembed.b_U": answers[0] + ".b" if answers else ""}  # theirs, ours
    weights = {"embed.W_E": params[tables[0]], "unembed.W_U": unembed}
    tied = {"none": "qkv", "qk": "qqv", "kv": "qkk", "qv": "qkq", "qkv": "qqq"}[c["tie"]]
    for layer in range(layers):
        ours, theirs = f"layer{layer}.", f"blocks.{layer}."
        for name, matrix in (("ln1.w", "norm1.gain"), ("ln1.b", "norm1.bias"), ("ln2.w", "norm2.gain"),
                             ("ln2.b", "norm2.bias"), ("attn.b_O", "attn.bo"), ("mlp.W_in", "mlp.up.w"),
                             ("mlp.b_in", "mlp.up.b"), ("mlp.W_out", "mlp.down.w"), ("mlp.b_out", "mlp.down.b")):
            names[theirs + name] = ours + matrix
        for role, matrix in zip("QKV", tied):
            w = params[f"{ours}attn.w{matrix}"].reshape(c["d_model"], -1, c["d_k"])
            weights[f"{theirs}attn.W_{role}"] = w.repeat(heads // w.shape[1], 1).transpose(1, 0, 2)
            b = params.get(f"{ours}attn.b{matrix}", np.zeros(heads * c["d_k"])).reshape(-1, c["d_k"])
            weights[f"{theirs}attn.b_{role}"] = b.repeat(heads // len(b), 0)
        weights[theirs + "attn.W_O"] = params[ours + "attn.wo"].reshape(heads, c["d_v"], c["d_model"])
    weights.update((name, params[own]) for name, own in names.items() if own in params)
    with torch.no_grad():
        for name, x in model.named_parameters():
            given = weights.pop(name, 1 if name.endswith(".w") else 0)  # without one: no bias, no positions
            x.copy_(torch.as_tensor(np.array(given), dtype=x.dtype).expand_as(x))
    if weights:
        raise QkvError("this TransformerLens has no parameter " + ", ".join(weights))
    return model
