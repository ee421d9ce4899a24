"""Run the command-line interface with `python -m allweather`."""

from allweather.cli import app

if __name__ == "__main__":
    app(prog_name="allweather")
