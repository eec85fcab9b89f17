"""The commands emulate, audit, diff, crosscheck and shuffle as a user meets them: exit codes, one-line errors, results.

  python3 test_commands.py PROGRAM DATA_FOLDER
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

PROGRAM, DATA = sys.argv[1:3]
FA3 = os.path.join(DATA, "fa3", "spt_causal_d64_s512.safetensors")
failures = []


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def expect(what, condition, detail=""):
    if not condition:
        failures.append(what)
        print("FAILED:", what, detail)


def refused(what, word, *arguments):
    """Exit code 2 and one line with `word` in it."""
    code, out, err = run(*arguments)
    expect(what, code == 2 and out == "" and err.count("\n") == 1 and word in err, (code, out[:200], err[:300]))


def header_of(data):
    length = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + length]), data[8 + length:]


def file_of(header, body):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


with tempfile.TemporaryDirectory() as folder:
    def write(name, data):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    with open(FA3, "rb") as file:
        good = file.read()
    header, body = header_of(good)

    # audit
    code, out, err = run("audit", FA3)
    expect("a recorded gradient audits with 0 differing elements", code == 0 and "98304 elements, 0 differ" in out, out)
    flipped = bytearray(body)
    begin = header["dv"]["data_offsets"][0]
    flipped[begin + 2 * (300 * 64 + 17)] ^= 1
    path = write("flipped.safetensors", file_of(header, bytes(flipped)))
    code, out, err = run("audit", path)
    expect("a flipped bit ends with 1", code == 1, code)
    expect("a flipped bit is named by tensor and index", "dv[0, 300, 0, 17]" in out and "kv tile 2 of head 0" in out, out)
    expect("both values are shown", out.count("0x") == 2, out)
    code, out, err = run("audit", path, "--json")
    verdict = json.loads(out)
    expect("audit --json has the format of the contract",
           verdict["format"] == "dashlab.audit/1" and verdict["equal"] is False and verdict["recipe"] == "fa3"
           and verdict["schedule"] == "spt" and verdict["dv"]["differ"] == 1 and verdict["dq"]["differ"] == 0
           and verdict["dv"]["first"]["index"] == [0, 300, 0, 17], verdict)
    code, out, err = run("audit", path, "--recipe", "auto", "--schedule", "auto")
    expect("auto calls one flipped bit corruption", code == 1 and "corruption" in out, out)
    code, out, err = run("audit", FA3, "--recipe", "auto", "--schedule", "auto", "--json")
    found = json.loads(out)
    expect("auto finds recipe and schedule", code == 0 and found["search"]["fits"] and found["schedule"] == "spt", out[:300])
    code, out, err = run("audit", os.path.join(DATA, "fa2", "causal_d256_s257.safetensors"), "--recipe", "auto")
    expect("auto finds PyTorch's kernel", code == 0 and "fa2-torch" in out, out)

    refused("a truncated file", "truncated", "audit", write("short.safetensors", good[:-100]))
    refused("a lying header length", "header", "audit", write("lie.safetensors", struct.pack("<Q", 1 << 40) + good[8:]))
    wrong = json.loads(json.dumps(header))
    wrong["dk"]["shape"] = [1, 256, 1, 128]
    refused("wrong shapes", "dk", "audit", write("shape.safetensors", file_of(wrong, body)))
    refused("a NaN scale", "scale", "audit", FA3, "--scale", "nan")
    wrong = json.loads(json.dumps(header))
    wrong["__metadata__"]["scale"] = "NaN"
    refused("a NaN scale in the metadata", "scale", "audit", write("nan.safetensors", file_of(wrong, body)))
    refused("an unknown schedule", "schedule", "audit", FA3, "--schedule", "fastest")
    refused("an unknown recipe", "recipe", "audit", FA3, "--recipe", "fa9")
    missing = json.loads(json.dumps(header))
    del missing["lse"]
    refused("a hole where a tensor was", "hole", "audit", write("hole.safetensors", file_of(missing, body)))
    refused("10 MB of brackets", "list", "audit", write("brackets.safetensors", struct.pack("<Q", 10**7) + b"[" * 10**7))
    refused("no file", "cannot open", "audit", os.path.join(folder, "nothing"))

    # emulate, diff, crosscheck
    problem = ["--seqlen", "384", "--head-dim", "64", "--heads", "2", "--kv-heads", "1", "--mask", "causal", "--tile-q", "64",
               "--tile-kv", "64", "--seed", "5"]
    one, two = os.path.join(folder, "one.safetensors"), os.path.join(folder, "two.safetensors")
    code, out, err = run("emulate", *problem, "--schedule", "spt", "-o", one, "--json", "--threads", "1")
    first = json.loads(out)
    expect("emulate gives a SHA-256 of each result", code == 0 and set(first["sha256"]) == {"dq", "dk", "dv", "o", "lse"}, out)
    code, out, err = run("emulate", *problem, "--schedule", "spt", "--json", "--threads", "3", "--sms", "7")
    expect("digests do not depend on threads or SMs", json.loads(out)["sha256"] == first["sha256"], out)
    expect("nothing but the output file is left", sorted(f for f in os.listdir(folder) if "one" in f) == ["one.safetensors"])
    code, out, err = run("audit", one, "--forward")
    expect("a saved emulation audits with its own metadata", code == 0 and "dq dk dv o lse" in out, out)
    code, out, err = run("emulate", "--input", one, "--schedule", "spt", "--tile-q", "64", "--tile-kv", "64", "--json")
    expect("a run on the saved tensors gives the saved digests",
           code == 0 and json.loads(out)["sha256"] == {k: first["sha256"][k] for k in ("dq", "dk", "dv")}, out)
    # f32 shows every difference; bf16 rounds most of them away
    run("emulate", *problem, "--profile", "ieee-fp32", "--schedule", "spt", "-o", one)
    run("emulate", *problem, "--profile", "ieee-fp32", "--schedule", "ascending", "-o", two)
    code, out, err = run("diff", one, two)
    expect("two reduce orders differ and diff says at which step", code == 1 and "step 0: A takes kv tile" in out, out)
    code, out, err = run("diff", one, one)
    expect("a file equals itself", code == 0, out)
    code, out, err = run("crosscheck", one, two, "--json")
    expect("crosscheck compares two files", code == 1 and json.loads(out)["dq"]["differ"] > 0, out)
    code, out, err = run("emulate", *problem, "--profile", "ieee-fp32", "--reference", "--json")
    expect("the fp64 reference is near", json.loads(out)["error"]["dq"]["relative_l2"] < 1e-5, out)
    refused("tiles instead of tokens", "seqlen", "emulate", "--tiles", "8")
    refused("atomic without an arrival", "arrival", "emulate", *problem, "--schedule", "atomic")
    refused("an unknown profile", "profile", "emulate", *problem, "--profile", "ieee-fp64")
    refused("a flag that contradicts the file", "head-dim", "emulate", "--input", one, "--head-dim", "32")

    # what made a file is in its metadata: audit needs no flags
    def metadata_of(path):
        with open(path, "rb") as file:
            return header_of(file.read())[0]["__metadata__"]

    small = ["--seqlen", "700", "--head-dim", "64", "--mask", "causal"]
    path = os.path.join(folder, "gathered.safetensors")
    grouped = [*small, "--heads", "4", "--kv-heads", "2", "--sms", "4", "--schedule", "spt", "--seed", "5"]
    run("emulate", *grouped, "--group", "gathered", "-o", path)
    code, out, err = run("audit", path)
    expect("gathered chains audit as such", code == 0 and ", group gathered" in out, out)
    expect("audit --json says the group", json.loads(run("audit", path, "--json")[1])["group"] == "gathered")
    code, out, err = run("audit", path, "--group", "per-head")
    expect("--group goes before the metadata", code == 1 and "gathered" not in out, out)
    code, out, err = run("audit", path, "--schedule", "auto")
    expect("a search says that it tries no gathered chains", code == 1 and "the metadata name group gathered" in out, out)
    with open(path, "rb") as file:
        wrong, its_body = header_of(file.read())
    wrong["__metadata__"]["group"] = "some"
    refused("a group that does not exist", "'group' 'some'", "audit", write("group.safetensors", file_of(wrong, its_body)))
    for what, *flags in (("per-head chains", *grouped), ("a group of one", *small, "--group", "gathered")):
        run("emulate", *flags, "-o", path)
        expect(f"{what}: no group in the metadata", "group" not in metadata_of(path), metadata_of(path))
        expect(f"{what}: audits", run("audit", path)[0] == 0)

    # a schedule file whose orders no named schedule has, under the title of one: it must not be taken for that
    mine, made = os.path.join(folder, "mine.json"), os.path.join(folder, "made.safetensors")
    run("plan", *small, "--tile-q", "64", "--tile-kv", "64", "--schedule", "ascending", "-o", mine)
    with open(mine) as file:
        schedule = json.load(file)
    for row in schedule["reduce"]:
        row["kv"].sort(key=lambda kv: kv * 7 % 11)
    with open(mine, "w") as file:
        json.dump(schedule, file)
    run("emulate", "--schedule", mine, "--seed", "4", "--profile", "ieee-fp32", "-o", made)
    expect("the metadata name the schedule file", metadata_of(made)["schedule"] == mine, metadata_of(made))
    code, out, err = run("audit", made)
    expect("a run from a schedule file audits with that file", code == 0 and f"schedule {mine}," in out, out)
    code, out, err = run("audit", made, "--schedule", "ascending")
    expect("the schedule whose name is the title gives other bits", code == 1, out)
    code, out, err = run("audit", made, "--schedule", "auto")
    expect("a search that finds nothing points at the schedule file",
           code == 1 and f"the metadata name schedule {mine}:" in out and "--schedule FILE" in out, out)
    hint = json.loads(run("audit", made, "--schedule", "auto", "--json")[1])["search"]["hint"]
    expect("audit --json has the hint too", mine in hint, hint)
    moved = os.path.join(folder, "moved.json")
    os.rename(mine, moved)
    refused("a schedule file that is gone", "the metadata name a schedule file", "audit", made)
    refused("a schedule file that is gone: the mend", "--schedule FILE: " + mine, "audit", made)
    expect("--schedule names its new place", run("audit", made, "--schedule", moved)[0] == 0)
    with open(made, "rb") as file:
        titled, its_body = header_of(file.read())
    titled["__metadata__"]["schedule"] = "optimized"
    refused("a title in the metadata", "'optimized' is no known schedule", "audit",
            write("titled.safetensors", file_of(titled, its_body)))

    run("emulate", *small, "--profile", "ieee-fp32", "--arrival", "random:1", "-o", made)
    code, out, err = run("audit", made)
    expect("audit says which arrival it follows", code == 0 and "schedule spt, arrival random:1, mask" in out, out)
    expect("audit --json says the arrival", json.loads(run("audit", made, "--json")[1])["arrival"] == "random:1")
    code, out, err = run("audit", made, "--schedule", "ascending")
    expect("--schedule leaves the arrival aside", code == 1 and "arrival" not in out, out)

    # shuffle
    alike = "Here it does not show"
    code, out, err = run("shuffle", "--runs", "3", "--heads", "3", *small)
    expect("shuffle says that rounding hides the differences of few kv tiles",
           code == 0 and alike in out and "rounding to BF16" in out and "(6 in a row of dQ)" in out
           and "--profile ieee-fp32 or a smaller --tile-kv" in out, out)
    for flags in (["--profile", "ieee-fp32"], ["--tile-kv", "16"]):
        code, out, err = run("shuffle", "--runs", "3", "--heads", "3", *small, *flags)
        expect(f"shuffle {flags[0]} shows them", code == 0 and alike not in out and " 1 different dq; 0" not in out, out)
    code, out, err = run("shuffle", "--runs", "3", *small, "--profile", "ieee-fp32", "--sms", "1")
    expect("shuffle on one SM has one order", alike in out and "same order of arrival" in out, out)
    code, out, err = run("shuffle", "--runs", "9", *small[:-2], "--profile", "ieee-fp32", "--tile-kv", "512")
    expect("shuffle of two kv tiles", alike in out and "same sum in both orders" in out, out)
    code, out, err = run("shuffle", "--runs", "1", *small)
    expect("shuffle of one run", "nothing to differ from" in out and alike not in out, out)
    code, out, err = run("shuffle", "--runs", "4", "--seqlen", "1024", "--head-dim", "32", "--tile-q", "64", "--tile-kv", "64",
                         "--profile", "ieee-fp32", "--json")
    shuffled = json.loads(out)
    expect("random arrival gives several dq, a fixed order one",
           shuffled["random_arrival"]["different_dq"] == 4 and shuffled["fixed_order"]["different_dq"] == 1, out)
    expect("three numbers show why", shuffled["three_numbers"]["(1 + 1e8) - 1e8"] == 0
           and shuffled["three_numbers"]["(1e8 - 1e8) + 1"] == 1, out)

print(len(failures), "expectations failed")
sys.exit(1 if failures else 0)
