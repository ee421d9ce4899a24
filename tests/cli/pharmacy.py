"""The table of a pharmacist: 60 batches of tablets as a spreadsheet saved them, with what goes wrong in tables."""

from __future__ import annotations

import numpy as np

HEADER = "batch;force (kN);binder (%);room (°C);supplier;dissolved (µg/min);note"


def table(rows: int = 60) -> bytes:
    """Return the table in Windows-1252, with decimal commas, and six lines that are not as they should be."""
    rng = np.random.default_rng(5)
    lines = []
    for number in range(rows):
        force, binder = round(float(rng.uniform(4, 16)), 1), round(float(rng.uniform(1, 6)), 2)
        room, supplier = round(float(rng.normal(22, 3)), 1), ["Köhler", "Smith"][int(rng.random() < 0.4)]
        rate = 30 - 0.25 * (force - 9) ** 2 - 1.1 * (binder - 4) ** 2 - 0.3 * max(room - 22, 0) * binder
        rate += 0.4 * float(rng.standard_normal()) - 1.5 * (supplier == "Smith")
        cells = [f"B{number + 1:03d}", force, binder, room, supplier, round(rate, 2), ""]
        lines.append([str(cell).replace(".", ",") for cell in cells])
    lines[7][3] = ""  # nobody read the thermometer
    lines[16][5], lines[16][6] = "n/a", "sample lost"
    lines[25][5] = f"{float(lines[25][5].replace(',', '.')) * 100:,.1f}".translate(str.maketrans(",.", ".,"))
    lines[38][1] = "ten"
    lines[48] = lines[47]  # entered twice
    return ("\r\n".join([HEADER, *map(";".join, lines)]) + "\r\n").encode("cp1252")
