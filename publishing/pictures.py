"""Write what README shows and a program can draw: `make pictures`. `make screenshots` takes the photographs."""

from publishing import badges, diagram

if __name__ == "__main__":
    for file, text in (badges.drawn() | diagram.drawn()).items():
        file.write_text(text, encoding="utf-8")
