"""Stands for a library whose import starts a thread."""

import threading
import time

threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
