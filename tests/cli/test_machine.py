"""What the machine refuses: threads, memory, room, permission, time. Runs go on or end with one line; no half file."""
import os
import resource
import signal
import subprocess
import time
import unittest

from program import PROGRAM, ProgramTest, main, run

SMALL_RUN = ("emulate", "--seqlen", 512, "--head-dim", 64, "--tile-q", 64, "--tile-kv", 64, "--reference")


def limit(what, value):
    return lambda: resource.setrlimit(what, (value, value))


def as_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


class Threads(ProgramTest):
    def setUp(self):
        super().setUp()
        self.expected = self.passes(*SMALL_RUN, "--threads", 2)

    def test_less_address_space_than_64_stacks_need(self):
        """The threads that start do the work, if their stacks leave any memory to work with."""
        for mebibytes in (300, 400, 900):
            with self.subTest(mebibytes=mebibytes):
                code, out, err = run(*SMALL_RUN, "--threads", 64,
                                     preexec_fn=limit(resource.RLIMIT_AS, mebibytes << 20))
                self.assertIn((code, out, err.count("\n")), ((0, self.expected, 0), (3, "", 1)), err)

    @unittest.skipUnless(os.geteuid() == 0, "a limit of processes does not bind every user alike")
    def test_fewer_processes_than_workers(self):
        if run("doctor", preexec_fn=as_nobody)[0] != 0:
            self.skipTest("another user cannot run the program where it lies")
        for processes in (1, 8):
            self.assertEqual(self.passes(*SMALL_RUN, "--threads", 64, preexec_fn=lambda: (
                limit(resource.RLIMIT_NPROC, processes)(), as_nobody())), self.expected)


class Memory(ProgramTest):
    def test_any_limit_gives_the_result_or_one_line(self):
        expected = self.passes(*SMALL_RUN, "--threads", 8)
        for mebibytes in (48, 64, 80, 96, 128, 160, 192):
            with self.subTest(mebibytes=mebibytes):
                code, out, err = run(*SMALL_RUN, "--threads", 8,
                                     preexec_fn=limit(resource.RLIMIT_AS, mebibytes << 20))
                if code == 127 or "shared librar" in err:
                    continue  # not even the loader had room
                self.assertIn((code, out, err.count("\n")), ((0, expected, 0), (3, "", 1)), err)

    def test_sizes_that_no_machine_has(self):
        self.fails(3, ["memory"], "plan", "--tiles", 4294967294)
        self.fails(3, ["memory"], "emulate", "--seqlen", 1 << 36)


class Outputs(ProgramTest):
    """Every command that writes, into places where it cannot."""

    def writers(self, folder):
        yield ("plan", "--tiles", 64, "-o", folder / "x.json")
        yield ("emulate", "--seqlen", 128, "--head-dim", 64, "-o", folder / "x.safetensors")
        for ending in ("svg", "html", "json.gz"):
            yield ("render", "--tiles", 24, "-o", folder / f"x.{ending}")

    def test_no_such_folder(self):
        for command in self.writers(self.folder / "none"):
            self.refuses(["none/x.", "No such file"], *command)

    def test_more_than_a_file_may_hold(self):
        for command in self.writers(self.folder):
            self.fails(3, ["x.", "make room"], *command,
                       preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                           resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))))

    @unittest.skipUnless(os.geteuid() == 0, "needs a second user")
    def test_a_folder_of_somebody_else(self):
        os.chmod(self.folder, 0o755)
        if run("doctor", preexec_fn=as_nobody)[0] != 0:
            self.skipTest("another user cannot run the program where it lies")
        for command in self.writers(self.folder):
            self.refuses(["x.", "Permission denied"], *command, preexec_fn=as_nobody)

    def test_a_place_that_cannot_be_written_is_said_before_the_work(self):
        hours = ("emulate", "--seqlen", 262144, "--heads", 64)
        self.refuses(["No such file"], *hours, "-o", self.folder / "none" / "x")

    def test_a_closed_standard_output(self):
        code, _, err = run("plan", "--tiles", 4, preexec_fn=lambda: os.close(1))
        self.assertEqual((code, err.count("\n")), (3, 1), err)

    @unittest.skipUnless(hasattr(os, "O_TMPFILE"), "needs nameless files")
    def test_a_killed_program_leaves_nothing(self):
        try:
            os.close(os.open(self.folder, os.O_TMPFILE | os.O_WRONLY))
        except OSError:
            self.skipTest("this file system has no nameless files")
        for number in (signal.SIGTERM, signal.SIGKILL):
            # Killed while it writes: the process has a nameless file open.
            process = subprocess.Popen([PROGRAM, "plan", "--tiles", "700", "-o", str(self.folder / "x.json")],
                                       stdout=subprocess.DEVNULL)
            while process.poll() is None and not self.writes(process.pid):
                time.sleep(0.001)
            process.send_signal(number)
            process.wait()
            self.assertIn([path.name for path in self.folder.iterdir()], ([], ["x.json"]))

    def writes(self, pid):
        descriptors = f"/proc/{pid}/fd"
        try:
            return any(str(self.folder) in os.readlink(f"{descriptors}/{fd}") for fd in os.listdir(descriptors))
        except OSError:
            return False


if __name__ == "__main__":
    main()
