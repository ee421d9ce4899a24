from .sampler import AllweatherSampler

__all__ = ["AllweatherSampler"]
