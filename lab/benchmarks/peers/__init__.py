"""The same API as its users would write it with other frameworks: lab/performance.md."""
