"""Workers run in parallel: one thread each."""

import torch

torch.set_num_threads(1)
