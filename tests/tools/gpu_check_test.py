"""Does scripts/gpu-check report right what happens on a GPU? The GPU is a stub of the driver's library, the programs
are shell scripts that pass, fail, crash and hang.

  gpu_check_test.py <gpu-check> <folder of the stub libcuda.so.1> [bench_gpu_rehearsal]

bench_gpu_rehearsal is bench_gpu on a simulated GPU, without NVIDIA's libraries.
"""

import fnmatch
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

GPU_CHECK, STUB_FOLDER = sys.argv[1:3]
REHEARSAL = sys.argv[3] if sys.argv[3:] else None
SOURCES = pathlib.Path(GPU_CHECK).resolve().parent.parent

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
# Notes what each of its processes is asked to run. {fails} is a pattern of what fails.
MANY_PUBLIC_TESTS = """\
[ "$1" = --list-test-names-only ] && {{ seq -f 'public, [number] %g' 45; exit; }}
echo "$1" >>"$0.asked"
case ",$1," in
  {fails}) echo 'expected 1, got 2'; {how} ;;
esac
"""
# Tests that fail beside each other, and together in one process.
LONE_TESTS = """\
[ "$1" = --list-test-names-only ] && { seq -f 'alone %g' 6; exit; }
case $1 in *,*) exit 42 ;; esac
mkdir "$0.busy" || exit 43
sleep 0.2
rmdir "$0.busy"
"""
QUICK_TESTS = """\
[ "$1" = --list-test-names-only ] && echo 'comes first'
true
"""
KERNEL_TESTS = """\
[ "$1" = --list-test-names-only ] && { echo 'kernel one'; exit; }
[ "$1 $ANABRANCH_TEST_GPU" = 'kernel one 1' ]
"""
BENCH = """\
for argument; do
  case $argument in
    --list) printf 'spmv/27\\nspmv/crashes\\ndot/1e5\\nlink\\nstreamed/27\\n'; exit ;;
    --only=*) name=${argument#*=} ;;
    --json=*) json=${argument#*=} ;;
    --traces=*) traces=${argument#*=} ;;
  esac
done
[ "$name" = spmv/crashes ] && kill -ABRT $$
echo "| anabranch | 1.0 us |"
[ "$name" != streamed/27 ] || echo '[]' >"$traces/streamed-27.trace.json"
case $name in
  spmv/27) lines='{"contender": "anabranch", "gb_per_s": 2850, "occupancy": 0.5},
    {"contender": "device copy", "gb_per_s": 3000}, {"contender": "cuSPARSE CSR ALG1", "gb_per_s": 2500},
    {"contender": "cuSPARSE CSR ALG2", "error": "no libcusparse"}' ;;
  dot/1e5) lines='{"contender": "anabranch", "seconds": 8e-6, "gb_per_s": 200},
    {"contender": "cuBLAS", "error": "no libcublas"}' ;;
esac
printf '{"device": "Stub", "contests": [{"name": "%s", "lines": [%s]}]}' "$name" "$lines" >"$json"
"""
CPU_BENCH = """\
for argument; do
  case $argument in
    --benchmark_filter=*) name=${argument#*=^} ;;
    --benchmark_out=*) json=${argument#*=} ;;
    --threads=*) threads=${argument#*=} ;;
  esac
done
echo "threads $threads"
printf '{"benchmarks": [{"name": "%siterations:1/manual_time", "anabranch x1 (ms)": 4.0, "CSR loop x1 (ms)": 5.0,
  "real_time": 4.0}]}' "$name" >"$json"
"""
NCU = """\
echo "lines: $ANABRANCH_LINEINFO"
cat <<END
  kernel (132, 1, 1)x(256, 1, 1)
    sm__maximum_warps_per_active_cycle_pct                         %           50
    sm__warps_active.avg.pct_of_peak_sustained_active              %        47.31
END
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
                    "bench_gpu_kernels": "true", "bench_spmv": CPU_BENCH, "bench_dot": "exit 3"}
        for name, text in programs.items():
            write_program(self.root / "bin" / name, text)
        (self.root / "VERSION").write_text("version 1\n")
        self.tools = self.scratch / "tools"
        self.tools.mkdir()

    def run_check(self, *arguments, driver=STUB_FOLDER, timeout=120, **variables):
        env = {**os.environ, "LD_LIBRARY_PATH": str(driver), "PATH": f"{self.tools}:/usr/bin:/bin", **variables}
        out = self.scratch / "out"
        done = subprocess.run([sys.executable, GPU_CHECK, f"--out={out}", *arguments, self.root], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False)
        self.printed = done.stdout
        self.report = json.loads((out / "report.json").read_text())
        self.text = (out / "report.txt").read_text()
        self.details = (out / "details.txt").read_text()
        self.markdown = (out / "claims.md").read_text()
        return done.returncode

    def claim(self, sentence):
        """Its figure, and whether it holds."""
        return next((line["figure"], line["holds"]) for line in self.report["claims"] if line["claim"] == sentence)

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

    def run_many_public_tests(self, fails, how="exit 42", **env):
        """What the processes of 45 tests are asked to run, and the results."""
        write_program(self.root / "bin" / "test_cuda_gpu", QUICK_TESTS)
        write_program(self.root / "bin" / "test_public", MANY_PUBLIC_TESTS.format(fails=fails, how=how))
        self.status = self.run_check("--part=tests", "--test-seconds=3", "--jobs=4", **env)
        asked = (self.root / "bin" / "test_public.asked").read_text().splitlines()
        results = {name.removeprefix("test_public: "): result for name, result in self.results("tests").items()
                   if name.startswith("test_public: ")}
        return asked, results

    def test_public_tests_share_processes(self):
        asked, results = self.run_many_public_tests("none")
        self.assertEqual(self.status, 0, self.printed)
        self.assertEqual(results, {f"public, [number] {n}": "passed" for n in range(1, 46)})
        self.assertEqual(sorted(line.count("public") for line in asked), [5, 20, 20])

    def test_where_a_process_fails_its_tests_are_run_by_themselves(self):
        for how, result in (("exit 42", "failed: status 42"), ("kill -SEGV $$", "failed: crashed, SIGSEGV"),
                            ("sleep 1000", "failed: more than 3 s")):
            asked, results = self.run_many_public_tests("*'] 27,'*", how)
            self.assertEqual(self.status, 1, self.printed)
            self.assertEqual(results, {f"public, [number] {n}": "passed" if n != 27 else result for n in range(1, 46)})
            self.assertEqual(sorted(line.count("public") for line in asked), [1] * 20 + [5, 20, 20])
            (self.root / "bin" / "test_public.asked").unlink()

    def test_what_is_run_again_has_nothing_beside_it(self):
        write_program(self.root / "bin" / "test_cuda_gpu", QUICK_TESTS)
        write_program(self.root / "bin" / "test_public", LONE_TESTS)
        self.assertEqual(self.run_check("--part=tests", "--test-seconds=10", "--jobs=4"), 1, self.printed)
        results = self.results("tests")
        for n in range(1, 7):
            self.assertEqual(results[f"test_public: alone {n}"], "passed")
        self.assertNotIn("exclusive", self.text)

    def test_a_gpu_that_takes_one_process_gets_one_at_a_time(self):
        write_program(self.root / "bin" / "test_cuda_gpu", LONE_TESTS)
        self.run_check("--part=tests", "--test-seconds=10", "--jobs=4", STUB_CUDA_COMPUTE_MODE="3")
        results = self.results("tests")
        for n in range(1, 7):
            self.assertEqual(results[f"test_cuda_gpu: alone {n}"], "passed")
        self.assertEqual(self.report["machine"]["gpu"]["compute mode"], "exclusive process")
        self.assertIn("one process at a time (compute mode: exclusive process)", self.text)

    def test_tests_that_fail_only_beside_each_other_are_a_failure(self):
        asked, results = self.run_many_public_tests("*'] 6,'*'] 7,'*")
        self.assertEqual(self.status, 1, self.printed)
        together = results.pop("20 in one process, from 'public, [number] 1' on")
        self.assertEqual(together, "failed: status 42")
        self.assertEqual(set(results.values()), {"passed"})
        self.assertEqual((len(results), len(asked)), (45, 23))
        self.assertIn("expected 1, got 2", self.details)

    def test_a_process_that_takes_the_gpu_with_it_is_told(self):
        _, results = self.run_many_public_tests("*'] 27,'*", 'touch "$STUB_CUDA_LOST"; kill -SEGV $$',
                                                STUB_CUDA_LOST=str(self.scratch / "lost"))
        self.assertEqual(self.status, 1, self.printed)
        self.assertEqual(results["20 in one process, from 'public, [number] 21' on"], "failed: crashed, SIGSEGV")
        self.assertEqual(results["public, [number] 27"], "left out: the GPU is lost")
        self.assertIn("expected 1, got 2", self.details)

    def test_what_is_run_there_is_in_the_sources(self):
        sys.path.insert(0, str(SOURCES / "scripts"))
        loader = importlib.machinery.SourceFileLoader("gpu_check", GPU_CHECK)
        gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
        loader.exec_module(gpu_check)
        cases = [case for file in (SOURCES / "tests" / "gpu").glob("*.cpp")
                 for case in re.findall(r'^TEST_CASE\("([^"]+)"', file.read_text(), re.M)]
        for pattern in (*gpu_check.SANITIZED.split(","), gpu_check.SMOKE_TEST):
            self.assertTrue(fnmatch.filter(cases, pattern), pattern)
        # All that can run on a GPU does. target_test takes that way to a simulated one.
        here = {file.stem.removesuffix("_test") for file in (SOURCES / "tests" / "cuda").glob("*_test.cpp")
                if re.search("cuda_disagreement|scan_disagreement|ANABRANCH_TEST_GPU", file.read_text())}
        self.assertEqual(here - {"target"}, set(gpu_check.KERNEL_TESTS))

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
        self.assertEqual([c["name"] for c in self.report["benchmarks"]["contests"]],
                         ["spmv/27", "dot/1e5", "link", "streamed/27"])
        self.assertEqual(self.results("bench")["spmv/crashes"], "failed: crashed, SIGABRT")
        self.assertIn("| anabranch | 1.0 us |", self.text)
        with zipfile.ZipFile(self.scratch / "out" / "traces.zip") as archive:
            self.assertEqual(archive.namelist(), ["streamed-27.trace.json"])

    def test_parts_in_one_folder_make_one_report(self):
        self.assertEqual(self.run_check("--part=bench"), 1)
        self.assertEqual(self.run_check("--part=profile"), 0)  # of what it did itself
        self.assertEqual(len(self.report["parts"]["bench"]), 5)
        self.assertIn("profile", self.report["parts"])
        self.assertEqual(len(self.report["benchmarks"]["contests"]), 4)

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
        self.assertEqual(list(self.report["parts"]), ["machine", "tests", "bench", "cpu", "profile", "sanitizer"])
        self.assertEqual(list(self.results("bench")), ["spmv/27", "spmv/crashes", "dot/1e5", "link", "streamed/27"])
        for part in ("tests", "cpu", "profile", "sanitizer"):
            self.assertTrue(self.report["parts"][part])
        steps = re.findall(r"^ +[0-9.]+ s  (\w+): ", self.printed, re.M)
        order = list(dict.fromkeys(steps))
        self.assertEqual(order, ["machine", "tests", "bench", "cpu", "profile", "sanitizer"], self.printed)

    def test_tests_that_hang_leave_the_later_parts_their_time(self):
        self.assertEqual(self.run_check("--seconds=40", "--jobs=1"), 1)
        self.assertTrue(self.results("tests")["test_cuda_gpu: hangs"].startswith("left out: cut off after "))
        self.assertEqual(self.results("bench")["spmv/27"], "passed")
        self.assertEqual(self.results("bench")["streamed/27"], "passed")
        self.assertEqual(self.results("cpu")["cpu/spmv/laplacian27"], "passed")
        self.assertEqual(self.results("profile")["all"], "skipped: no ncu")

    def test_a_part_that_was_not_run_whole_holds_nothing(self):
        write_program(self.root / "bin" / "test_cuda_gpu",
                      TESTS.replace("fails crashes hangs loses", "hangs").replace("fails)", "never)"))
        self.assertEqual(self.run_check("--part=tests", "--seconds=12", "--jobs=1"), 0, self.printed)
        figure, holds = self.claim("All tests pass on the GPU")
        self.assertEqual(holds, "not measured")
        self.assertRegex(figure, "not measured: [1-9][0-9]* passed, 0 failed, [1-9][0-9]* left out or skipped")

    def test_a_lost_gpu_leaves_what_needs_none(self):
        self.assertEqual(self.run_check("--test-seconds=1", "--jobs=1",
                                        STUB_CUDA_LOST=str(self.scratch / "lost")), 1)
        self.assertEqual(self.results("bench")["spmv/27"], "left out: the GPU is lost")
        self.assertEqual(self.results("cpu")["cpu/spmv/laplacian27"], "passed")

    def test_time_is_kept(self):
        self.assertEqual(self.run_check("--seconds=1"), 0)
        self.assertEqual(set(self.results("tests").values()), {"left out: no time"})

    def test_claims_are_held_against_figures(self):
        self.run_check("--part=bench")
        self.assertEqual(self.claim("SpMV, 27 a row: share of the copy's bandwidth"), ("95 % (>= 92 %)", "holds"))
        self.assertEqual(self.claim("SpMV 27: speed beside cuSPARSE's better algorithm"), ("1.14 (>= 1.00)", "holds"))
        self.assertEqual(self.claim("Dot of 10^5 numbers"), ("8.0 us (<= 6.0 us)", "does not hold"))
        self.assertEqual(self.claim("Tiles: four blocks of 256 threads on a multiprocessor of 2048 (27 a row)"),
                         ("50 % (>= 50 %)", "holds"))

    def test_what_was_not_measured_says_why(self):
        self.run_check("--part=bench")
        for sentence, why in (
                ("Dot 1e5: speed beside the better of cuBLAS and CUB",
                 "cuBLAS: no libcublas; dot/1e5 has no CUB reduce"),
                ("SpMV, 9 a row: share of the copy's bandwidth", "spmv/9: it was not asked for"),
                ("A copy moves 4.3 TB/s, read and written together", "it is said of an H200"),
                ("All tests pass on the GPU", "it was not asked for"),
                ("Offsets are worth making on the GPU from 4096 items on", "no contest compares the two ways")):
            self.assertEqual(self.claim(sentence), ("not measured: " + why, "not measured"))

    def test_claims_come_last_and_as_a_table(self):
        self.run_check("--part=tests", "--test-seconds=1", "--jobs=4")
        self.assertTrue(self.text.endswith(self.markdown))
        self.assertIn("What docs/gpu.md claims, on Stub, driver 13.0 and ", self.markdown)
        self.assertIn("\n| claim | figure | holds |\n|---|---|---|\n| All tests pass on the GPU | 6 passed, 3 failed, ",
                      self.markdown)

    def test_benchmarks_of_the_cpu(self):
        self.assertEqual(self.run_check("--part=cpu"), 1)
        self.assertEqual(self.results("cpu")["cpu/spmv/laplacian27"], "passed")
        self.assertEqual(self.results("cpu")["cpu/dot/f64"], "failed: status 3")
        self.assertEqual(self.results("cpu")["cpu/streaming/memory/laplacian27"], "skipped: no bench_streaming")
        threads = ",".join(str(n) for n in (1, 2, 4, 8, 16) if n <= len(os.sched_getaffinity(0)))
        self.assertIn(f"threads {threads}\n", self.text)
        self.assertEqual(self.claim("CPU, SpMV 27 a row, 1 threads: speed beside a CSR loop"),
                         ("1.25 (>= 1.00)", "holds"))
        self.assertRegex(self.claim("CPU, SpMV 27 a row, 16 threads: speed beside a CSR loop")[0],
                         r"^not measured: the machine has [0-9]+ processors$")
        self.assertEqual(self.claim("CPU, dot in double, 1 threads: speed beside a loop")[0],
                         "not measured: cpu/dot/f64: failed: status 3")

    def test_benchmarks_of_the_cpu_need_no_gpu(self):
        (self.tools / "libcuda.so.1").write_text("")
        self.assertEqual(self.run_check("--part=cpu", driver=self.tools), 1)
        self.assertEqual(self.results("cpu")["cpu/spmv/laplacian27"], "passed")
        self.assertEqual(self.claim("CPU, SpMV 27 a row, 1 threads: speed beside a CSR loop")[1], "holds")

    def test_a_fault_of_its_own_does_not_cost_the_later_parts(self):
        write_program(self.root / "bin" / "bench_spmv", CPU_BENCH.replace('{"benchmarks"', '{"others"'))
        self.assertEqual(self.run_check("--test-seconds=1", "--jobs=4"), 1)
        self.assertEqual(self.results("machine")["gpu-check itself, cpu"], "failed: an exception")
        self.assertIn("KeyError: 'benchmarks'", self.details)
        self.assertEqual(self.results("sanitizer")["all"], "skipped: no compute-sanitizer")

    def test_occupancy_is_read_from_the_profile(self):
        write_program(self.tools / "ncu", NCU)
        self.assertEqual(self.run_check("--part=profile"), 0, self.printed)
        self.assertIn("| spmv/27 | 47 % | 50 % |", self.text)
        self.assertIn("lines: 1", (self.scratch / "out" / "profile.txt").read_text())

    @unittest.skipUnless(REHEARSAL, "bench_gpu_rehearsal is not there")
    def test_all_contests_are_rehearsed_on_a_simulated_gpu(self):
        write_program(self.root / "bin" / "bench_gpu", f'exec "{REHEARSAL}" "$@" --scale=0.0001 --rounds=2\n')
        self.assertEqual(self.run_check("--part=bench", timeout=550), 0, self.printed)
        self.assertEqual(set(self.results("bench").values()), {"passed"})
        for line in self.report["claims"]:  # no figure is missing but for what needs a real GPU
            if line["holds"] == "not measured" and not line["claim"].startswith(("CPU", "All tests")):
                self.assertRegex(line["figure"], "not on a simulated GPU|of an H200|no contest|the machine has", line)
        with zipfile.ZipFile(self.scratch / "out" / "traces.zip") as archive:
            self.assertIn("streamed-27-anabranch-cuda.trace.json", archive.namelist())
            self.assertIn("select-anabranch-cuda.trace.json", archive.namelist())

    def test_claims_name_contests_and_contenders_that_there_are(self):
        sys.path.insert(0, str(SOURCES / "scripts"))
        sys.dont_write_bytecode = True
        import gpu_claims
        claims = gpu_claims.read(SOURCES / "bench" / "gpu" / "claims.json")
        self.assertGreater(len(claims), 50)
        sources = "".join(file.read_text() for file in (SOURCES / "bench").glob("**/*")
                          if file.suffix in (".cpp", ".h"))
        listed = subprocess.run([REHEARSAL, "--list"], capture_output=True, text=True, check=True).stdout.split() \
            if REHEARSAL else None
        for claim in claims:
            for what in [claim["figure"], *claim.get("by", [])] if "figure" in claim else []:
                contest = what.get("contest", claim["contest"])
                if listed and not contest.startswith("cpu/"):
                    self.assertIn(contest, listed, claim)
                contender = re.sub(r" x[0-9]+$", "", re.sub(r"^[0-9]+ threads$", "{} threads", what["contender"]))
                self.assertTrue(f'"{contender}"' in sources, f"nobody is called {contender}")

    def test_without_a_gpu_every_part_is_skipped(self):
        (self.tools / "libcuda.so.1").write_text("")  # instead of the machine's, if it has one
        self.assertEqual(self.run_check(driver=self.tools), 77)
        for part in ("tests", "bench", "cpu", "profile", "sanitizer"):
            self.assertTrue(self.results(part)["all"].startswith("skipped: no GPU: no driver: "))
        self.assertEqual({line["holds"] for line in self.report["claims"]}, {"not measured"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
