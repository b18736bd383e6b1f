/* safetensors.js - a checkpoint as a file, in the format that qkv writes and reads (train/run/checkpoint.h).
 * The engine gives the tensors, the header's JSON is made and read here. Runs in a worker. */
"use strict";

const qkvCheckpoint = (() => {
    const MOST_HEADER = 1 << 20;

    function crc32(bytes) {
        let crc = -1;
        for (const byte of bytes) {
            crc ^= byte;
            for (let i = 0; i < 8; i++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
        }
        return ((crc ^ -1) >>> 0).toString(16).padStart(8, "0");
    }

    /* The tensors [{name, dtype, shape, bytes: Uint8Array}] and notes, the checksum added. */
    function write(tensors, notes) {
        const header = {__metadata__: {...notes, crc32: "00000000"}};
        let at = 0;
        for (const t of tensors) {
            header[t.name] = {
                dtype: t.dtype,
                shape: t.shape,
                data_offsets: [at, at + t.bytes.length]
            };
            at += t.bytes.length;
        }
        let text = JSON.stringify(header);
        const encoder = new TextEncoder();
        text += " ".repeat((8 - encoder.encode(text).length % 8) % 8);
        const make = () => {
            const head = encoder.encode(text), file = new Uint8Array(8 + head.length + at);
            new DataView(file.buffer).setBigUint64(0, BigInt(head.length), true);
            file.set(head, 8);
            let to = 8 + head.length;
            for (const t of tensors) {
                file.set(t.bytes, to);
                to += t.bytes.length;
            }
            return file;
        };
        text = text.replace("\"crc32\":\"00000000\"", "\"crc32\":\"" + crc32(make()) + "\"");
        return make();
    }

    /* The sum counts its own eight digits as zeros. */
    function checkSum(file, head, sum) {
        const blank = file.slice(), note = "\"crc32\":\"" + sum + "\"", at = head.indexOf(note);
        if (at < 0) throw new Error("the file's checksum cannot be read");
        const from = 8 + new TextEncoder().encode(head.slice(0, at)).length + "\"crc32\":\"".length;
        blank.fill(48, from, from + 8);
        if (crc32(blank) !== sum)
            throw new Error("the file is damaged: its checksum is not that of its content");
    }

    function parse(head) {
        try {
            const header = JSON.parse(head);
            if (header && typeof header === "object" && header.__metadata__) return header;
        } catch (e) { /* said below */
        }
        throw new Error("the file is no checkpoint: its header is not what qkv writes");
    }

    /* {notes, tensors: {name: {dtype, shape, bytes}}} of a file, every byte accounted for. */
    function read(file) {
        const length = file.length < 8 ?
            -1 :
            Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
        if (length < 2 || length > MOST_HEADER || 8 + length > file.length)
            throw new Error(
                "the file is no checkpoint: it does not begin as a safetensors file does");
        const head = new TextDecoder().decode(file.subarray(8, 8 + length)), header = parse(head);
        const notes = header.__metadata__, tensors = {};
        checkSum(file, head, notes.crc32);
        for (const [name, t] of Object.entries(header)) {
            if (name === "__metadata__") continue;
            const [from, to] = t.data_offsets.map((n) => 8 + length + n);
            if (!(from <= to && to <= file.length))
                throw new Error("the file is damaged: " + name + " is not in it");
            tensors[name] = {dtype: t.dtype, shape: t.shape, bytes: file.subarray(from, to)};
        }
        return {notes, tensors};
    }

    /* Copies a file's tensors into those of the engine; names, types and shapes must be the same, both ways. */
    function restore(engine, tensors) {
        const wanted = engine.tensors(), names = new Set(wanted.map((t) => t.name));
        for (const t of wanted) {
            const has = tensors[t.name];
            if (!has) throw new Error("it is no checkpoint of this model: it lacks " + t.name);
            if (has.dtype !== t.dtype)
                throw new Error(
                    "it is no checkpoint of this model: " + t.name + " is " + has.dtype + ", not " +
                    t.dtype);
            if (has.shape.join() !== t.shape.join() || has.bytes.length !== t.bytes)
                throw new Error(
                    "it is no checkpoint of this model: " + t.name + " has another shape");
        }
        for (const name of Object.keys(tensors))
            if (!names.has(name))
                throw new Error("it is no checkpoint of this model: it also has " + name);
        const step = tensors["state.step"].bytes;
        const at = Number(new DataView(step.buffer, step.byteOffset, 8).getBigInt64(0, true));
        for (const t of wanted) engine.bytes(t.at, t.bytes).set(tensors[t.name].bytes);
        engine.restored(at);
        return at;
    }

    return {write, read, restore};
})();
