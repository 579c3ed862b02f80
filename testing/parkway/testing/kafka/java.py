"""How a JVM with Apache Kafka on its class path is started."""

from dataclasses import dataclass
from pathlib import Path

# One broker on a developer's machine: little memory, a quick start. The last two silence warnings
# about what Kafka's own libraries do.
_OPTIONS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",  # no files in the system's temporary folder
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)


@dataclass(frozen=True)
class Java:
    """A Java and the jars of the broker.

    `aot_cache` is what a JVM of the same version wrote about the same jars (JEP 514); with it the
    broker is up in a third of the time. One that does not fit is ignored by the JVM.
    """

    executable: Path
    jars: tuple[Path, ...]
    aot_cache: Path | None = None

    def command(self, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
        """Return the command line that runs a main class with its arguments."""
        if self.aot_cache is not None:
            options = (*options, f"-XX:AOTCache={self.aot_cache}", "-Xlog:aot*=off,cds*=off")
        class_path = ":".join(str(jar) for jar in self.jars)
        return [str(self.executable), *_OPTIONS, *options, "-cp", class_path, *arguments]
