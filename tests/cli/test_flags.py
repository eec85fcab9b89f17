"""Flags that would do nothing, or be read as something else, are refused with one line that names them."""
from program import DATA, ProgramTest, main

FA2 = DATA / "fa2" / "causal_d256_s257.safetensors"
FORWARD = DATA / "fa3" / "forward_causal_d64_s512.safetensors"


class Values(ProgramTest):
    def test_whole_numbers_are_decimal_digits_in_range(self):
        for seed in ("-1", "18446744073709551616", "0x10", "007", "1.5", "1e3"):
            self.refuses(["--seed", seed], "emulate", "--seqlen", 64, "--seed", seed)
        for tiles in ("010", "0x8", "8.0", "99999999999999999999"):
            self.refuses(["--tiles", tiles], "plan", "--tiles", tiles)
        self.refuses(["--perturb", "-1"], "gpu", "--seqlen", 64, "--perturb", "-1")

    def test_zero_where_it_would_mean_the_default(self):
        self.refuses(["--resident", "0"], "verify", "--resident", 0, "x.json")
        self.refuses(["--perturb 0"], "gpu", "--seqlen", 64, "--perturb", 0)
        self.refuses(["--watchdog 0"], "crosscheck", "--seqlen", 64, "--watchdog", 0)

    def test_empty_texts(self):
        self.refuses(["--output", "empty"], "plan", "--tiles", 4, "-o", "")
        self.refuses(["--measured", "empty"], "render", "--tiles", 4, "-o", self.folder / "x.svg", "--measured", "")
        self.refuses(["--schedule", "empty"], "plan", "--tiles", 4, "--schedule", "")
        self.refuses(["FILE", "empty"], "verify", "")

    def test_a_length_is_named_as_it_was_given(self):
        self.refuses(["--tiles -1:"], "plan", "--tiles", -1)
        self.refuses(["--tiles 99999999999:"], "plan", "--tiles", 99999999999)
        self.refuses(["--seqlen -1:"], "plan", "--seqlen", -1)
        self.refuses(["--kv-tiles -1:"], "plan", "--tiles", 4, "--kv-tiles", -1)
        self.refuses(["--tiles:"], "plan", "--tiles", 4, "--q-tiles", 3, "--kv-tiles", 3)


class WithoutEffect(ProgramTest):
    def test_json_beside_flags_of_the_printed_report(self):
        self.refuses(["--draw"], "compare", "--tiles", 4, "--json", "--draw")
        self.refuses(["--runs"], "plan", "--tiles", 4, "--json", "--jitter", "0.1:1", "--runs", 5)

    def test_crosscheck_of_two_files_takes_no_flags_of_a_run(self):
        for flags in (["--mask", "causal"], ["--schedule", "spt"], ["--seed", "1"], ["--threads", "2"], ["--dirty"]):
            self.refuses([flags[0]], "crosscheck", FA2, FA2, *flags)
        self.passes("crosscheck", FA2, FA2, "--json")

    def test_fa2_torch_decides_its_schedule_and_tiles(self):
        for flags in (["--schedule", "spt"], ["--group", "per-head"], ["--tile-q", "64"], ["--tile-kv", "64"]):
            self.refuses([flags[0], "fa2-torch"], "audit", FA2, *flags)
            self.refuses([flags[0], "fa2-torch"], "emulate", "--seqlen", 64, "--recipe", "fa2-torch", *flags)
        self.refuses(["--schedule"], "emulate", "--recipe", "fa2-torch", "--schedule", "no-such-file.json")
        self.refuses(["--arrival"], "emulate", "--seqlen", 64, "--recipe", "fa2-torch", "--arrival", "random:1")
        self.refuses(["--tile-q"], "audit", FA2, "--schedule", "auto", "--tile-q", 64)

    def test_a_forward_recording_has_no_schedule(self):
        self.refuses(["--schedule"], "audit", FORWARD, "--schedule", "spt")
        self.refuses(["--group"], "audit", FORWARD, "--group", "gathered")
        self.passes("audit", FORWARD, "--recipe", "auto", "--schedule", "auto")

    def test_a_search_judges_gradients_of_named_schedules(self):
        self.refuses(["--forward"], "audit", FA2, "--recipe", "auto", "--forward")
        self.refuses(["--group"], "audit", FA2, "--recipe", "auto", "--group", "gathered")
        self.refuses(["--schedule", "file"], "audit", FA2, "--recipe", "auto", "--schedule", "mine.json")

    def test_render(self):
        svg, page = self.folder / "x.svg", self.folder / "x.html"
        for names in ("spt,,shift", ",spt", "spt,", ","):
            self.refuses(["--schedule", names], "render", "--tiles", 4, "-o", svg, "--schedule", names)
        for flags in (["-o", page], ["-o", self.folder / "x.json"], ["-o", svg, "--view", "dag"]):
            self.refuses(["--no-critical-path"], "render", "--tiles", 4, "--no-critical-path", *flags)
        self.refuses(["--view timeline"], "render", "--tiles", 4, "-o", page, "--view", "timeline", "--schedule",
                     "spt,shift")

    def test_gpu_flags_are_judged_before_a_gpu_is_looked_for(self):
        self.refuses(["'x.bmp'"], "gpu", "--seqlen", 64, "--trace", "x.bmp")
        self.refuses(["--record"], "gpu", "--record", "x.json", "--input", FA2)
        self.refuses(["--record"], "gpu", "--record", "x.json", "--schedule", "mine.json")


class ScheduleFiles(ProgramTest):
    """A schedule file says its problem itself: flags may repeat it and nothing else."""

    def setUp(self):
        super().setUp()
        self.path = self.folder / "shift.json"
        self.passes("plan", "--tiles", 4, "--kv-tiles", 3, "--heads", 2, "--sms", 3, "--schedule", "shift", "-o",
                    self.path)

    def test_what_it_says_may_be_repeated(self):
        self.passes("plan", "--schedule", self.path, "--mask", "full", "--q-tiles", 4, "--kv-tiles", 3, "--heads", 2,
                    "--batch", 1, "--head-dim", 128, "--sms", 3, "--group", "per-head")

    def test_a_dot_or_slash_makes_a_file(self):
        plain = self.folder / "shift"
        for path in (self.folder / "shift.txt", plain):
            path.write_bytes(self.path.read_bytes())
            self.assertIn("4 x 3", self.passes("plan", "--schedule", path))
        self.refuses(["nothing.txt", "cannot be read"], "plan", "--schedule", "nothing.txt")

    def test_an_unknown_name_is_said_before_a_missing_size(self):
        for command in ("plan", "emulate", "shuffle"):
            self.refuses(["--schedule 'fastest': unknown", "spt", "./fastest"], command, "--schedule", "fastest")
        self.refuses(["no size"], "plan", "--schedule", "spt")

    def test_anything_else_is_refused_by_name(self):
        for words, *flags in ((["--mask causal", "full"], "--mask", "causal"), (["--tiles 4", "4 x 3"], "--tiles", 4),
                              (["--q-tiles 5", "4"], "--q-tiles", 5), (["--seqlen 4", "in tiles"], "--seqlen", 4),
                              (["--tile-q 64", "in tiles"], "--tile-q", 64), (["--heads 1", "2"], "--heads", 1),
                              (["--kv-heads 1", "2"], "--kv-heads", 1), (["--sms 4", "3"], "--sms", 4),
                              (["--group gathered", "per-head"], "--group", "gathered")):
            self.refuses([*words, str(self.path)], "plan", "--schedule", self.path, *flags)


class Tensors(ProgramTest):
    def test_a_file_says_its_sizes_itself(self):
        for words, *flags in ((["--seqlen 256", "257"], "--seqlen", 256), (["--head-dim 64", "256"], "--head-dim", 64),
                              (["--tiles 4", "in tokens"], "--tiles", 4)):
            self.refuses([*words, FA2.name], "emulate", "--input", FA2, *flags)


if __name__ == "__main__":
    main()
