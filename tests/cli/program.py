"""What the tests of the program share: they are called as `python3 test_TOPIC.py PROGRAM DATA_FOLDER`."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
DATA = pathlib.Path(sys.argv[2])
LIMIT_S = 120


def run(*arguments, **options):
    """The program's exit code, standard output and standard error."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT_S, **options)
    return done.returncode, done.stdout, done.stderr


class ProgramTest(unittest.TestCase):
    """A folder of its own for each test, and what the contract says of failures."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dashlab-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def fails(self, code, words, *arguments, **options):
        """Ends with `code`, prints nothing but one line that has each of `words` in it, and leaves no file."""
        before = sorted(self.folder.iterdir())
        with self.subTest(arguments=arguments):
            ended, out, err = run(*arguments, **options)
            self.assertEqual((ended, out, err.count("\n")), (code, "", 1), err)
            for word in words:
                self.assertIn(word, err)
            self.assertEqual(sorted(self.folder.iterdir()), before)

    def refuses(self, words, *arguments, **options):
        self.fails(2, words, *arguments, **options)

    def passes(self, *arguments, **options):
        """Ends with 0; returns what was printed."""
        ended, out, err = run(*arguments, **options)
        self.assertEqual((ended, err), (0, ""), arguments)
        return out


def main():
    unittest.main(argv=sys.argv[:1])
