"""Does scripts/gpu-check report right what happens on a GPU? The GPU is a stub of the driver's library, the programs
are shell scripts that pass, fail, crash and hang.

  gpu_check_test.py <gpu-check> <folder of the stub libcuda.so.1>
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

GPU_CHECK, STUB_FOLDER = sys.argv[1:3]

TESTS = """\
case "$1" in
  --list-test-names-only) printf '%s\\n' 'passes, with a [comma]' fails crashes hangs loses 'comes last' ;;
  'passes\\, with a \\[comma\\]' | 'one large array\\, without a stream' | 'comes last') ;;
  fails) echo 'expected 1, got 2'; exit 42 ;;
  crashes) kill -SEGV $$ ;;
  hangs) sleep 1000 ;;
  loses) [ -z "${STUB_CUDA_LOST:-}" ] || { touch "$STUB_CUDA_LOST"; exit 1; } ;;
  *) echo "no test '$1'"; exit 1 ;;
esac
"""
PUBLIC_TESTS = """\
[ "$1" = --list-test-names-only ] && { echo 'public one'; exit; }
[ "$1 $ANABRANCH_TEST_BACKEND" = 'public one cuda' ]
"""
KERNEL_TESTS = """\
[ "$1" = --list-test-names-only ] && { echo 'kernel one'; exit; }
[ "$1 $ANABRANCH_TEST_GPU" = 'kernel one 1' ]
"""
BENCH = """\
for argument; do
  case $argument in
    --list) printf 'spmv/27\\nspmv/crashes\\nstreamed/27\\n'; exit ;;
    --only=*) name=${argument#*=} ;;
    --json=*) json=${argument#*=} ;;
    --traces=*) traces=${argument#*=} ;;
  esac
done
[ "$name" = spmv/crashes ] && kill -ABRT $$
echo "| anabranch | 1.0 us |"
[ "$name" != streamed/27 ] || echo '[]' >"$traces/streamed-27.trace.json"
printf '{"device": "Stub", "contests": [{"name": "%s", "lines": []}]}' "$name" >"$json"
"""


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


class GpuCheck(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.root = self.scratch / "anabranch-gpu"
        programs = {"anabranch": "true", "test_cuda_gpu": TESTS, "test_cuda": KERNEL_TESTS,
                    "test_public": PUBLIC_TESTS, "test_device": "true", "bench_gpu": BENCH,
                    "bench_gpu_kernels": "true"}
        for name, text in programs.items():
            write_program(self.root / "bin" / name, text)
        (self.root / "VERSION").write_text("version 1\n")
        self.tools = self.scratch / "tools"
        self.tools.mkdir()

    def run_check(self, *arguments, driver=STUB_FOLDER, **variables):
        env = {**os.environ, "LD_LIBRARY_PATH": str(driver), "PATH": f"{self.tools}:/usr/bin:/bin", **variables}
        out = self.scratch / "out"
        done = subprocess.run([sys.executable, GPU_CHECK, f"--out={out}", *arguments, self.root], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        self.printed = done.stdout
        self.report = json.loads((out / "report.json").read_text())
        self.text = (out / "report.txt").read_text()
        self.details = (out / "details.txt").read_text()
        return done.returncode

    def results(self, part):
        return {line["name"]: line["result"] for line in self.report["parts"][part]}

    def test_failing_crashing_and_hanging_tests(self):
        self.assertEqual(self.run_check("--part=tests", "--test-seconds=2", "--jobs=4"), 1, self.printed)
        results = self.results("tests")
        self.assertEqual(results["test_cuda_gpu: passes, with a [comma]"], "passed")
        self.assertEqual(results["test_cuda_gpu: fails"], "failed: status 42")
        self.assertEqual(results["test_cuda_gpu: crashes"], "failed: crashed, SIGSEGV")
        self.assertEqual(results["test_cuda_gpu: hangs"], "failed: more than 2 s")
        self.assertEqual(results["test_public: public one"], "passed")
        self.assertEqual(results["test_cuda: kernel one"], "passed")
        self.assertEqual(results["test_device"], "passed")
        self.assertIn("expected 1, got 2", self.details)
        self.assertIn("failed: status 42: test_cuda_gpu: fails", self.text)
        self.assertEqual(self.report["machine"]["gpu"], {"name": "Stub", "architecture": "sm_90", "driver": "13.0"})

    def test_a_lost_gpu_is_said_once(self):
        self.assertEqual(self.run_check("--part=tests", "--test-seconds=1", "--jobs=1",
                                        STUB_CUDA_LOST=str(self.scratch / "lost")), 1)
        results = self.results("tests")
        self.assertEqual(results["test_cuda_gpu: loses"], "failed: status 1")
        self.assertEqual(results["test_cuda_gpu: comes last"], "left out: the GPU is lost")
        lost = [line for line in self.report["parts"]["machine"] if "lost" in line["result"]]
        self.assertEqual(len(lost), 1)
        self.assertIn("after tests: test_cuda_gpu: loses", lost[0]["name"])
        self.assertIn("cuCtxSynchronize: driver error 999", lost[0]["result"])

    def test_contests_that_ended_are_kept(self):
        self.assertEqual(self.run_check("--part=bench"), 1)
        self.assertEqual([c["name"] for c in self.report["benchmarks"]["contests"]], ["spmv/27", "streamed/27"])
        self.assertEqual(self.results("bench")["spmv/crashes"], "failed: crashed, SIGABRT")
        self.assertIn("| anabranch | 1.0 us |", self.text)
        with zipfile.ZipFile(self.scratch / "out" / "traces.zip") as archive:
            self.assertEqual(archive.namelist(), ["streamed-27.trace.json"])

    def test_parts_in_one_folder_make_one_report(self):
        self.assertEqual(self.run_check("--part=bench"), 1)
        self.assertEqual(self.run_check("--part=profile"), 0)  # of what it did itself
        self.assertEqual(len(self.report["parts"]["bench"]), 3)
        self.assertIn("profile", self.report["parts"])
        self.assertEqual(len(self.report["benchmarks"]["contests"]), 2)

    def test_a_sanitizer_that_does_not_support_the_machine_is_skipped(self):
        write_program(self.tools / "compute-sanitizer", "echo '========= Error: Device not supported'; exit 1")
        self.assertEqual(self.run_check("--part=sanitizer"), 0, self.printed)
        self.assertEqual(set(self.results("sanitizer").values()),
                         {"skipped: the tool does not support this machine"})

    def test_crashes_are_looked_at_with_memcheck(self):
        write_program(self.tools / "compute-sanitizer", "echo 'Invalid __global__ read'; exit 9")
        self.run_check("--part=tests", "--test-seconds=1", "--jobs=4")
        self.assertEqual(self.results("tests")["memcheck of test_cuda_gpu: crashes"], "failed: status 9")
        self.assertIn("Invalid __global__ read", self.details)

    def test_a_program_that_cannot_start_is_a_failure(self):
        write_program(self.root / "bin" / "test_public", "echo 'version GLIBC_2.99 not found' >&2; exit 1")
        self.assertEqual(self.run_check("--part=tests", "--test-seconds=1", "--jobs=4"), 1)
        self.assertEqual(self.results("tests")["test_public"], "failed: it does not list what it can run")
        self.assertIn("GLIBC_2.99", self.details)

    def test_everything(self):
        self.assertEqual(self.run_check("--test-seconds=1", "--jobs=4"), 1)
        self.assertEqual(list(self.results("bench")), ["spmv/27", "spmv/crashes", "streamed/27"])
        for part in ("tests", "profile", "sanitizer"):
            self.assertTrue(self.report["parts"][part])

    def test_time_is_kept(self):
        self.assertEqual(self.run_check("--seconds=1"), 0)
        self.assertEqual(set(self.results("tests").values()), {"left out: no time"})

    def test_without_a_gpu_every_part_is_skipped(self):
        (self.tools / "libcuda.so.1").write_text("")  # instead of the machine's, if it has one
        self.assertEqual(self.run_check(driver=self.tools), 77)
        for part in ("tests", "bench", "profile", "sanitizer"):
            self.assertTrue(self.results(part)["all"].startswith("skipped: no GPU: no driver: "))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
