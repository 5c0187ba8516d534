"""The command line: a thin shell over ``graphmem.Memory``."""
