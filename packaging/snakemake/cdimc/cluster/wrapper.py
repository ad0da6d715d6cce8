"""Runs ``cdimc cluster`` on the tables of a rule's input."""

from shlex import quote

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=True, stderr=True)
named = {str(path): name for name, path in snakemake.input.items()}
views = [f"{named[path]}={path}" if path in named else path for path in map(str, snakemake.input)]
views = " ".join(f"--view {quote(view)}" for view in views)
k = str(snakemake.params.k)
k = f"--k-range {quote(k)}" if ".." in k else f"--clusters {quote(k)}"
id = snakemake.params.get("id")
id = f"--id {quote(id)}" if id else ""
extra = snakemake.params.get("extra", "")

shell("cdimc cluster {views} {id} {k} --threads {snakemake.threads} {extra} --output {snakemake.output[0]:q} {log}")
