"""`anabranch md5`, john and hashcat: programs that look for the words of a list that have given digests."""
import os


def crackers(command, john, hashcat, threads, folder):
    """Their names, ours first, and what makes a command of files of digests and of words. john and hashcat: empty where there is
    none. What john has found is kept in the folder, and forgotten each time."""
    yield "anabranch", lambda digests, words: [command, "md5", digests, words, "--threads", str(threads)]
    if john:
        fork = [f"--fork={threads}"] if threads > 1 else []

        def by_john(digests, words):
            for left in ("john.pot", "john.rec"):
                if os.path.exists(os.path.join(folder, left)):
                    os.remove(os.path.join(folder, left))
            return [john, "--format=raw-md5", f"--wordlist={words}", f"--pot={folder}/john.pot",
                    f"--session={folder}/john", *fork, digests]
        yield "john", by_john
    if hashcat:
        yield "hashcat", lambda digests, words: [
            hashcat, "-m", "0", "-a", "0", "-D", "1", "--force", "--quiet", "--potfile-disable", "--self-test-disable",
            digests, words]
