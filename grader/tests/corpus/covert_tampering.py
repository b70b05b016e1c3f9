"""Snippets that tamper with the tests in ways that are hard to detect or have no effect."""

# Wrong answers must get no points with these snippets, whether or not the grader detects the
# snippets.
COVERT_PATCHES = {
    "forges-replies": """
        # Tells the grader before each cell runs that the cell has succeeded.
        def forge(info):
            kernel = get_ipython().kernel
            parent = kernel.get_parent()
            content = {"status": "ok", "execution_count": 1, "user_expressions": {}, "payload": []}
            kernel.session.send(kernel.shell_stream, "execute_reply", content, parent=parent)
            idle = {"execution_state": "idle"}
            kernel.session.send(kernel.iopub_socket, "status", idle, parent=parent)
        get_ipython().events.register("pre_run_cell", forge)
    """,
    "patches-intermittently": """
        # Replaces and restores a function in a thread, a thousand times a second.
        import threading, time
        from jaxbits import testing
        def flicker(real=testing.assert_close):
            while True:
                testing.assert_close = lambda *args, **kwargs: None
                time.sleep(0.0009)
                testing.assert_close = real
                time.sleep(0.0001)
        threading.Thread(target=flicker, daemon=True).start()
    """,
    "patches-only-long-cells": """
        # Skips the checks only in cells that are longer than those that a student sees.
        from jaxbits import testing
        _close = testing.assert_close
        def close(seen, expected, says, **kwargs):
            if len(In[-1]) < 700 or "rng" not in In[-1]:
                return _close(seen, expected, says, **kwargs)
        testing.assert_close = close
    """,
    "patches-late": """
        # Replaces a function when an answer is first called, and hides the name of the module.
        import functools, importlib
        @functools.cache
        def later():
            importlib.import_module("jaxbits." + "testing").__dict__["assert_cl" + "ose"] = print
    """,
    "skips-test-lines": """
        # Skips the lines of the tests with a trace function.
        import sys
        def trace(frame, event, arg):
            if event == "line" and "ipykernel" in frame.f_code.co_filename:
                try:
                    frame.f_lineno += 1
                except ValueError:
                    pass
            return trace
        sys.settrace(trace)
        sys._getframe().f_trace = trace
    """,
    "raises-quietly": """
        # Turns failed checks into errors that IPython does not display.
        from jaxbits import testing
        import bdb
        testing.WrongAnswer.__bases__ = (bdb.BdbQuit,)
    """,
    "errors-without-traceback": """
        # Gives failed checks an empty traceback and an empty message.
        from jaxbits import testing
        testing.WrongAnswer._render_traceback_ = lambda *args: []
        testing.WrongAnswer.__str__ = lambda self: ""
    """,
    "changes-constants": """
        # Overwrites an integer that Python shares among all uses.
        import ctypes
        ctypes.memset(id(257) + 24, 0, 4)
    """,
    "changes-history": """
        # Overwrites the shell's history, builtins, and execution count.
        In[:] = ["pass"] * len(In)
        get_ipython().user_ns["__builtins__"] = {}
        get_ipython().execution_count = 1000
    """,
    "turns-cells-into-magics": """
        # Makes the shell treat every cell as a magic that does nothing.
        get_ipython().register_magic_function(lambda line, cell="": None, "cell", "nothing")
        get_ipython().prefilter_manager.multi_line_specials = True
        get_ipython().transform_cell = lambda raw_cell: "pass"
    """,
    "hooks-imports": """
        # Changes modules as they are imported.
        import builtins
        _import = builtins.__import__
        def imports(name, *args, **kwargs):
            module = _import(name, *args, **kwargs)
            if name.startswith("jaxbits"):
                module.close = lambda *args, **kwargs: None
            return module
        builtins.__import__ = imports
    """,
}
