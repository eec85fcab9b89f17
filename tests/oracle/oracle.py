#!/usr/bin/env python3
"""A slow second derivation of the emulator's bits, in whole numbers, for golden digests.

It shares no code with the program: it was written from docs/numerics.md and the recorded coefficient table alone.
Every f32 value is a Python float that holds an f32 number; every rounding is done on exact rationals or integers.

  python3 tests/oracle/oracle.py            writes tests/data/golden/emulate.json (some minutes)
  python3 tests/oracle/oracle.py --check 3  recomputes every third case and compares (ends with 1 on a difference)
"""
import csv
import hashlib
import json
import math
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data")
INF = math.inf
LOG2E = 1.4426950408889634


# --- f32 numbers ------------------------------------------------------------------------------------------------
def round_ratio(num, den_log2):
    """num / 2^den_log2 rounded to f32, ties to even, subnormals kept."""
    if num == 0:
        return 0.0
    mag, sign = abs(num), -1 if num < 0 else 1
    top = mag.bit_length() - 1 - den_log2
    quantum = max(top - 23, -149)
    shift = quantum + den_log2
    if shift > 0:
        half = 1 << (shift - 1)
        low = mag & ((1 << shift) - 1)
        mag >>= shift
        if low > half or (low == half and mag & 1):
            mag += 1
    else:
        mag <<= -shift
    return sign * math.ldexp(mag, quantum)


def ratio(x):
    """x as (numerator, log2 of the denominator)."""
    n, d = x.as_integer_ratio()
    return n, d.bit_length() - 1


def mul(a, b):
    if math.isinf(a) or math.isinf(b):
        return a * b
    (n, d), (m, e) = ratio(a), ratio(b)
    return round_ratio(n * m, d + e)


def add(a, b):
    if math.isinf(a) or math.isinf(b):
        return a + b
    (n, d), (m, e) = ratio(a), ratio(b)
    top = max(d, e)
    return round_ratio((n << (top - d)) + (m << (top - e)), top)


def fma(a, b, c):
    if math.isinf(a) or math.isinf(b) or math.isinf(c):
        return a * b + c
    (n, d), (m, e), (o, f) = ratio(a), ratio(b), ratio(c)
    top = max(d + e, f)
    return round_ratio((n * m << (top - d - e)) + (o << (top - f)), top)


def div(a, b):
    """f32 quotient: the double quotient has more than 2 * 24 + 2 bits, so rounding it again is harmless."""
    return f32(a / b)


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def bits32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def from_bits(b):
    return struct.unpack("<f", struct.pack("<I", b & 0xFFFFFFFF))[0]


def ftz(x):
    """Flushes a subnormal f32. (Results just below 2^-126 that rounding lifts to it do not occur in these problems.)"""
    return 0.0 if abs(x) < 2.0**-126 else x


# --- 16-bit types: an element is (signed significand, exponent), its value significand * 2^(exponent - fraction bits) ---
FORMATS = {"bf16": (127, 7), "fp16": (15, 10)}


def to_16(x, fmt):
    """The pattern of f32 number x rounded to the format, ties to even."""
    bias, fraction = FORMATS[fmt]
    sign = 0x8000 if math.copysign(1.0, x) < 0 else 0
    if x == 0:
        return sign
    n, d = ratio(abs(x))
    top = n.bit_length() - 1 - d
    quantum = max(top, 1 - bias) - fraction
    shift = quantum + d
    if shift > 0:
        half = 1 << (shift - 1)
        low = n & ((1 << shift) - 1)
        n >>= shift
        if low > half or (low == half and n & 1):
            n += 1
    else:
        n <<= -shift
    # n counts quanta; adding it to the exponent field carries by itself.
    return sign + (((quantum + fraction + bias - 1) << fraction) + n if n >> fraction else n)


def unpack(pattern, fmt):
    bias, fraction = FORMATS[fmt]
    field = (pattern & 0x7FFF) >> fraction
    significand = pattern & ((1 << fraction) - 1)
    if field:
        significand |= 1 << fraction
    return (-significand if pattern & 0x8000 else significand), max(field, 1) - bias


def value(pattern, fmt):
    significand, exponent = unpack(pattern, fmt)
    return math.ldexp(significand, exponent - FORMATS[fmt][1])


# --- the tensor core: numerics, section 1 -------------------------------------------------------------------------
def step(c, a, b, fraction):
    """One k16 step on unpacked elements; c is an f32 number."""
    top = -133
    terms = []
    for (sa, ea), (sb, eb) in zip(a, b):
        s = sa * sb
        if s:
            e = ea + eb
            terms.append((s, e - 2 * fraction))
            if e > top:
                top = e
    if c:
        m, e = math.frexp(c)
        terms.append((int(m * 2**24), e - 24))
        top = max(top, e - 1, -126)
    if not terms:
        return 0.0
    unit = top - 25
    total = 0
    for s, e in terms:
        shift = e - unit
        if shift >= 0:
            total += s << shift
        else:
            total += s >> -shift if s > 0 else -(-s >> -shift)
    mag = abs(total)
    if mag == 0:
        return 0.0
    quantum = max(mag.bit_length() - 1 + unit - 23, -149)
    mag = mag >> (quantum - unit) if quantum >= unit else mag << (unit - quantum)
    return math.copysign(math.ldexp(mag, quantum), total) if mag else 0.0


class Hopper:
    """Products of 16-bit matrices. A matrix is a list of rows of patterns."""

    def __init__(self, fmt):
        self.fmt = fmt
        self.fraction = FORMATS[fmt][1]

    def product(self, a, b_columns, c=None):
        """c (or zeros) + a times b; b is given by columns. The inner dimension is filled up with zeros."""
        def split(vector):
            u = [unpack(p, self.fmt) for p in vector]
            u += [(0, 0)] * (-len(u) % 16)
            return [u[i:i + 16] for i in range(0, len(u), 16)]

        columns = [split(col) for col in b_columns]
        out = []
        for i, row in enumerate(a):
            chunks = split(row)
            line = []
            for j, col in enumerate(columns):
                acc = c[i][j] if c is not None else 0.0
                for x, y in zip(chunks, col):
                    acc = step(acc, x, y, self.fraction)
                line.append(acc)
            out.append(line)
        return out

    def round(self, x):
        return to_16(x, self.fmt)

    def number(self, p):
        return value(p, self.fmt)


class Ieee:
    """Products of f32 matrices as chains of fma."""

    def product(self, a, b_columns, c=None):
        out = []
        for i, row in enumerate(a):
            line = []
            for j, col in enumerate(b_columns):
                acc = c[i][j] if c is not None else 0.0
                for x, y in zip(row, col):
                    acc = fma(x, y, acc)
                line.append(acc)
            out.append(line)
        return out

    def round(self, x):
        return x

    def number(self, x):
        return x


# --- special functions: numerics, section 2 -----------------------------------------------------------------------
SHAPES = {"ex2": (17, 0, 13, 0, 15, 0x17E2), "rcp": (16, 1, 13, 0, 15, 0x07E7), "lg2": (17, 0, 12, 1, 2, 0x0345)}
COEFFICIENTS = {}
with open(os.path.join(DATA, "hopper", "mufu_coefficients.csv")) as table:
    for line in csv.DictReader(table):
        COEFFICIENTS[line["function"], int(line["segment"])] = (int(line["c0"]), int(line["c1"]), int(line["c2"]))


def square(x):
    return sum(x >> (18 - b) for b in range(17) if x >> b & 1) >> 1


def interpolate(function, i):
    cut, xs, s0, s2, sh, r = SHAPES[function]
    c0, c1, c2 = COEFFICIENTS[function, i >> cut]
    x = i & ((1 << cut) - 1)
    return ((c0 << s0) + c1 * x + ((c2 * square(x << xs)) << s2) + r) >> sh


def ex2(x):
    if x == -INF:
        return 0.0
    n, d = ratio(abs(x))
    steps = (n << 23) >> d  # |x| in units of 2^-23, cut
    whole, part = steps >> 23, steps & 0x7FFFFF
    if x >= 0:
        n, i = whole, part
    elif part:
        n, i = -whole - 1, part ^ 0x7FFFFF
    else:
        n, i = -whole, 0
    return ftz(math.ldexp(interpolate("ex2", i), n - 23))


def rcp(x):
    b = bits32(x)
    mantissa = b & 0x7FFFFF
    unit = from_bits(0x3F000000 + (interpolate("rcp", mantissa) - (1 << 23)))
    return unit * 2.0 ** (127 - (b >> 23))


def lg2(x):
    b = bits32(x)
    exponent = (b >> 23) - 127
    if x == 1.0:
        return 0.0
    fraction = interpolate("lg2", b & 0x7FFFFF)
    if exponent >= 0:
        total, sign = (exponent << 36) + fraction, 1
    else:
        total, sign = ~((exponent << 36) + fraction), -1
    shift = max(total.bit_length() - 24, 0)
    return sign * math.ldexp(total >> shift << shift, -36)


def portable_exp2(x):
    if x < -126:
        return 0.0
    n = round(x)  # ties to even, like the magic addition
    f = add(x, float(-n))
    r = from_hex("0x1.ffcbfcp-17")
    for c in ("0x1.430912p-13", "0x1.5d87fep-10", "0x1.3b2ab6p-7", "0x1.c6b08ep-5", "0x1.ebfbep-3", "0x1.62e43p-1", "0x1p0"):
        r = fma(r, f, from_hex(c))
    return math.ldexp(r, n)


def from_hex(text):
    return float.fromhex(text)


def portable_ln(x):
    m, e = math.frexp(x)  # m in [0.5, 1)
    if m < from_bits(0x3F3504F3):
        m, e = m * 2, e - 1
    # m now in [0.7071, 1.4142)
    s = div(add(m, -1.0), add(m, 1.0))
    z = mul(s, s)
    p = fma(z, from_hex("0x1.c71c72p-4"), from_hex("0x1.24924ap-3"))
    p = fma(p, z, from_hex("0x1.99999ap-3"))
    p = fma(p, z, from_hex("0x1.555556p-2"))
    twice = add(s, s)
    fraction = fma(mul(twice, z), p, twice)
    return fma(float(e), from_hex("0x1.62e4p-1"), fma(float(e), from_hex("0x1.7f7d1cp-20"), fraction))


# --- seeded inputs ------------------------------------------------------------------------------------------------
def philox(counter, key):
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    c0, c1, c2, c3 = counter
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & 0xFFFFFFFF, (a >> 32) ^ c3 ^ k1, a & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def normal(seed, stream, i):
    words = philox((i & 0xFFFFFFFF, i >> 32, stream, 0), seed)
    total = sum((w & 1023) + (w >> 10 & 1023) + (w >> 20 & 1023) for w in words)
    low = 0
    for w in words:
        low = low << 2 | w >> 30
    return ((total << 8 | low) - 1571456) / 2**18


# --- masks and orders -----------------------------------------------------------------------------------------------
class Mask:
    def __init__(self, text, sq, sk):
        self.kind, _, rest = text.partition(":")
        self.offset = sk - sq
        if self.kind == "window":
            self.left, self.right = (None if x == "inf" else int(x) for x in rest.split(","))
        if self.kind == "documents":
            self.spans, at = [], 0
            for part in rest.split(","):
                full, length = part.endswith("f"), int(part.rstrip("f"))
                self.spans += [(at, at + length, not full)] * length
                at += length

    def sees(self, q, k):
        if self.kind == "full":
            return True
        if self.kind == "causal":
            return k <= q + self.offset
        if self.kind == "window":
            d = k - q - self.offset
            return (self.left is None or d >= -self.left) and (self.right is None or d <= self.right)
        begin, end, causal = self.spans[q]
        return begin <= k < end and (not causal or k <= q)


def orders(name, visible, nq, nk):
    """(q order per kv tile, reduce order per q tile) of one head; visible[q][kv]."""
    chains = [[q for q in range(nq) if visible[q][k]] for k in range(nk)]
    rows = [[k for k in range(nk) if visible[q][k]] for q in range(nq)]
    if name == "descending":
        chains = [c[::-1] for c in chains]
    elif name == "spt":
        rows = [r[::-1] for r in rows]
    elif name == "shift":  # full masks
        chains = [[(n + i) % nq for i in range(nq)] for n in range(nk)]
        rows = [sorted(range(nk), key=lambda n, i=i: (min(i, nk - 1) - n) % nk) for i in range(nq)]
    elif name not in ("ascending", "two-pass"):
        raise ValueError(name)
    return chains, rows


# --- the passes: recipe dashlab ---------------------------------------------------------------------------------------
def transpose(m):
    return [list(r) for r in zip(*m)]


class Run:
    def __init__(self, case):
        self.c = case
        self.profile = case["profile"]
        self.hopper = self.profile != "ieee-fp32"
        self.fmt = {"hopper-bf16": "bf16", "hopper-fp16": "fp16"}.get(self.profile)
        self.math = Hopper(self.fmt) if self.hopper else Ieee()
        self.scale = f32(1 / math.sqrt(case["head_dim"]))
        self.scale_log2 = f32(self.scale * LOG2E)
        self.mask = Mask(case["mask"], case["seqlen_q"], case["seqlen_k"])
        self.flush = ftz if self.hopper else (lambda x: x)

    # scalar steps of either profile
    def mul(self, a, b):
        return self.flush(mul(a, b))

    def add(self, a, b):
        return self.flush(add(a, b))

    def fma(self, a, b, c):
        return self.flush(fma(a, b, c))

    def exp2(self, x):
        return ex2(x) if self.hopper else portable_exp2(x)

    def inputs(self, stream, seqlen, heads):
        c = self.c
        make = (lambda x: to_16(x, self.fmt)) if self.hopper else (lambda x: x)
        d, out, i = c["head_dim"], {}, 0
        for b in range(c["batch"]):
            for s in range(seqlen):
                for h in range(heads):
                    out.setdefault((b, h), []).append([make(normal(c["seed"], stream, i + j)) for j in range(d)])
                    i += d
        return out

    def forward_tile(self):
        causal = self.mask.kind in ("causal", "window")
        if self.c["head_dim"] <= 64:
            return (192, 128) if causal else (192, 192)
        return (128, 128) if causal else (128, 176)

    def forward(self, q, k, v):
        """o and lse of one head. Rows do not depend on each other, so they are taken one by one, with their tile's keys."""
        tq, tk = self.forward_tile()
        sq, sk = len(q), len(k)
        o, lse = [], []
        vt = transpose(v)
        for r in range(sq):
            tile_rows = range(r // tq * tq, min(r // tq * tq + tq, sq))
            m, sums = -INF, [0.0] * 4
            acc = [0.0] * len(q[0])
            first = True
            for t in range((sk + tk - 1) // tk - 1, -1, -1):
                keys = range(t * tk, min(t * tk + tk, sk))
                if not any(self.mask.sees(i, j) for i in tile_rows for j in keys):
                    continue
                s = self.math.product([q[r]], [k[j] for j in keys])[0]
                s = [x if self.mask.sees(r, j) else -INF for x, j in zip(s, keys)]
                before, m = m, max([m] + s)
                if not first:
                    factor = self.exp2(self.mul(self.add(before, 0.0 if m == -INF else -m), self.scale_log2))
                    acc = [self.mul(x, factor) for x in acc]
                ms = 0.0 if m == -INF else self.mul(m, self.scale_log2)
                p = [self.exp2(self.fma(x, self.scale_log2, -ms)) for x in s]
                for lane in range(4):
                    mine = [p[j] for j in range(len(p)) if j % 8 // 2 == lane]
                    start = mine[0] if mine else 0.0
                    sums[lane] = start if first else self.fma(factor, sums[lane], start)
                    for x in mine[1:]:
                        sums[lane] = self.add(sums[lane], x)
                acc = self.math.product([[self.math.round(x) for x in p]], [col[t * tk:t * tk + len(p)] for col in vt],
                                        [acc])[0]
                first = False
            total = self.add(self.add(sums[0], sums[2]), self.add(sums[1], sums[3]))
            if total == 0:
                o.append([self.math.round(0.0)] * len(acc))
                lse.append(-INF)
                continue
            if self.hopper:
                ln2 = from_bits(0x3F317218)
                inverse = rcp(total)
                lse.append(self.fma(m, self.mul(self.scale_log2, ln2), self.mul(lg2(total), ln2)))
            else:
                inverse = div(1.0, total)
                lse.append(fma(m, self.scale, portable_ln(total)))
            o.append([self.math.round(self.mul(x, inverse)) for x in acc])
        return o, lse

    def dpsum(self, do, o):
        number = self.math.number
        if not self.hopper:
            acc = 0.0
            for a, b in zip(do, o):
                acc = fma(a, b, acc)
            return acc
        d = len(do)
        threads = 16 if d % 128 == 0 else 8 if d % 64 == 0 else 4
        lanes = [0.0] * threads
        for t in range(threads):
            fresh = True
            for i in range(d):
                if i // 8 % threads != t:
                    continue
                a, b = number(do[i]), number(o[i])
                lanes[t] = self.mul(a, b) if fresh else self.fma(a, b, lanes[t])
                fresh = False
        stride = threads // 2
        while stride:
            lanes = [self.add(lanes[t], lanes[t ^ stride]) for t in range(threads)]
            stride //= 2
        return lanes[0]

    def p_ds(self, q, k, v, do, lse2, dpsum, rows, keys):
        s = self.math.product([q[i] for i in rows], [k[j] for j in keys])
        dp = self.math.product([do[i] for i in rows], [v[j] for j in keys])
        p, ds = [], []
        for a, i in enumerate(rows):
            pr, dr = [], []
            for b, j in enumerate(keys):
                score = s[a][b] if self.mask.sees(i, j) else -INF
                x = self.exp2(self.fma(score, self.scale_log2, -lse2[i]))
                pr.append(self.math.round(x))
                dr.append(self.math.round(self.mul(x, self.add(dp[a][b], -dpsum[i]))))
            p.append(pr)
            ds.append(dr)
        return p, ds

    def run(self):
        c = self.c
        sq, sk, d = c["seqlen_q"], c["seqlen_k"], c["head_dim"]
        group = c["heads"] // c["kv_heads"]
        q, do = self.inputs(0, sq, c["heads"]), self.inputs(3, sq, c["heads"])
        k, v = self.inputs(1, sk, c["kv_heads"]), self.inputs(2, sk, c["kv_heads"])
        o, lse, dq, dk, dv = {}, {}, {}, {}, {}
        tq, tk = c["tile_q"], c["tile_kv"]
        nq, nk = (sq + tq - 1) // tq, (sk + tk - 1) // tk
        rows = [range(i * tq, min(i * tq + tq, sq)) for i in range(nq)]
        keys = [range(j * tk, min(j * tk + tk, sk)) for j in range(nk)]
        visible = [[any(self.mask.sees(i, j) for i in r for j in kk) for kk in keys] for r in rows]
        chains, reduces = orders(c["schedule"], visible, nq, nk)
        zero = self.math.round(0.0)
        for b in range(c["batch"]):
            for kh in range(c["kv_heads"]):
                kk, vv = k[b, kh], v[b, kh]
                total_dk = [[[0.0] * d for _ in r] for r in keys]
                total_dv = [[[0.0] * d for _ in r] for r in keys]
                for h in range(kh * group, kh * group + group):
                    qq, dd = q[b, h], do[b, h]
                    o[b, h], lse[b, h] = self.forward(qq, kk, vv)
                    lse2 = [0.0 if x == -INF else self.mul(x, f32(LOG2E)) for x in lse[b, h]]
                    dpsum = [self.dpsum(x, y) for x, y in zip(dd, o[b, h])]
                    cache = {}

                    def tile(i, j):
                        if (i, j) not in cache:
                            cache[i, j] = self.p_ds(qq, kk, vv, dd, lse2, dpsum, rows[i], keys[j])
                        return cache[i, j]

                    gathered = c["group"] == "gathered"
                    for j in range(nk):
                        acc_k = total_dk[j] if gathered else [[0.0] * d for _ in keys[j]]
                        acc_v = total_dv[j] if gathered else [[0.0] * d for _ in keys[j]]
                        for i in chains[j]:
                            p, ds = tile(i, j)
                            acc_v = self.math.product(transpose(p), transpose([dd[r] for r in rows[i]]), acc_v)
                            acc_k = self.math.product(transpose(ds), transpose([qq[r] for r in rows[i]]), acc_k)
                        if gathered or group == 1:
                            total_dk[j], total_dv[j] = acc_k, acc_v
                        else:  # heads of a group add in ascending order
                            total_dk[j] = [[add(x, y) for x, y in zip(s, t)] for s, t in zip(total_dk[j], acc_k)]
                            total_dv[j] = [[add(x, y) for x, y in zip(s, t)] for s, t in zip(total_dv[j], acc_v)]
                    result = []
                    for i in range(nq):
                        acc = [[0.0] * d for _ in rows[i]]
                        for j in reduces[i]:
                            k_columns = transpose([kk[r] for r in keys[j]])
                            if c["schedule"] == "two-pass":
                                acc = self.math.product(tile(i, j)[1], k_columns, acc)
                                continue
                            part = self.math.product(tile(i, j)[1], k_columns)
                            acc = [[add(x, y) for x, y in zip(s, t)] for s, t in zip(acc, part)]
                        result += [[self.math.round(self.mul(x, self.scale)) for x in line] for line in acc]
                    dq[b, h] = result
                dk[b, kh] = [[self.math.round(self.mul(x, self.scale)) for x in line] for part in total_dk for line in part]
                dv[b, kh] = [[self.math.round(x) for x in line] for part in total_dv for line in part]
        assert zero == 0
        digests = {}
        for name, tensor, heads, length in (("dq", dq, c["heads"], sq), ("dk", dk, c["kv_heads"], sk),
                                            ("dv", dv, c["kv_heads"], sk), ("o", o, c["heads"], sq)):
            digests[name] = self.digest([x for b in range(c["batch"]) for s in range(length) for h in range(heads)
                                         for x in tensor[b, h][s]], not self.hopper)
        digests["lse"] = self.digest([x for b in range(c["batch"]) for h in range(c["heads"]) for x in lse[b, h]], True)
        return digests

    @staticmethod
    def digest(values, wide):
        return hashlib.sha256(b"".join(struct.pack("<f" if wide else "<H", x) for x in values)).hexdigest()


def case(mask, sq, d, tq, tk, schedule, profile="hopper-bf16", sk=None, batch=1, heads=1, kv_heads=None, group="per-head",
         seed=1):
    return dict(mask=mask, seqlen_q=sq, seqlen_k=sk or sq, batch=batch, heads=heads, kv_heads=kv_heads or heads, head_dim=d,
                tile_q=tq, tile_kv=tk, schedule=schedule, group=group, profile=profile, seed=seed)


BF16, FP16, F32 = "hopper-bf16", "hopper-fp16", "ieee-fp32"
CASES = [
    case("full", 64, 16, 16, 16, "ascending"),
    case("full", 64, 16, 16, 16, "shift", seed=2),
    case("full", 64, 64, 16, 32, "descending", seed=3),
    case("causal", 64, 64, 16, 16, "spt", seed=4),
    case("causal", 64, 64, 32, 16, "ascending", seed=5),
    case("causal", 48, 128, 16, 16, "descending", seed=6),
    case("causal", 50, 96, 16, 32, "spt", seed=7),
    case("full", 37, 192, 16, 16, "ascending", seed=8),
    case("full", 33, 256, 16, 32, "shift", sk=64, seed=9),
    case("causal", 40, 32, 16, 16, "spt", sk=72, seed=10),
    case("causal", 72, 32, 16, 16, "spt", sk=40, seed=11),
    case("window:20,0", 80, 16, 16, 16, "spt", seed=12),
    case("window:9,5", 64, 32, 16, 16, "ascending", seed=13),
    case("window:inf,3", 48, 48, 16, 16, "descending", seed=14),
    case("documents:20,0,33,11", 64, 32, 16, 16, "spt", seed=15),
    case("documents:30f,34", 64, 16, 16, 16, "ascending", seed=16),
    case("causal", 48, 32, 16, 16, "spt", heads=4, kv_heads=2, seed=17),
    case("causal", 48, 32, 16, 16, "spt", heads=4, kv_heads=2, group="gathered", seed=18),
    case("full", 48, 16, 16, 16, "shift", heads=3, kv_heads=1, batch=2, seed=19),
    case("full", 64, 32, 16, 16, "two-pass", seed=20),
    case("causal", 48, 64, 16, 16, "two-pass", heads=2, seed=21),
    case("causal", 230, 16, 64, 64, "spt", seed=22),
    case("full", 210, 16, 64, 48, "ascending", seed=23),
    case("full", 64, 64, 16, 16, "ascending", FP16, seed=24),
    case("causal", 64, 128, 16, 16, "spt", FP16, seed=25),
    case("window:12,2", 48, 32, 16, 16, "descending", FP16, heads=2, seed=26),
    case("full", 48, 16, 16, 16, "shift", F32, seed=27),
    case("causal", 56, 32, 16, 16, "spt", F32, heads=2, kv_heads=1, seed=28),
    case("causal", 150, 16, 16, 32, "ascending", F32, seed=29),
    case("documents:17,15f", 32, 48, 8, 8, "two-pass", F32, seed=30),
]


def main():
    path = os.path.join(DATA, "golden", "emulate.json")
    if "--check" in sys.argv:
        every = int(sys.argv[sys.argv.index("--check") + 1])
        with open(path) as file:
            known = json.load(file)["cases"]
        bad = 0
        for number, known_case in enumerate(known):
            if number % every == 0:
                wanted = known_case.pop("sha256")
                if Run(known_case).run() != wanted:
                    print("case", number, "differs:", known_case)
                    bad += 1
        print(len(range(0, len(known), every)), "cases recomputed,", bad, "differ")
        sys.exit(1 if bad else 0)
    out = []
    for number, one in enumerate(CASES):
        out.append(dict(one, sha256=Run(one).run()))
        print(number + 1, "of", len(CASES), file=sys.stderr)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    text = json.dumps({"format": "dashlab.golden/1", "recipe": "dashlab", "source": "tests/oracle/oracle.py", "cases": out},
                      indent=1)
    with open(path + ".new", "w") as file:
        file.write(text + "\n")
    os.replace(path + ".new", path)


if __name__ == "__main__":
    main()
