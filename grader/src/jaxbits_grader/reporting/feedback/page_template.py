"""The page around a student's feedback: its policy, its style, and a place for what it says.

The policy stands before anything of a student's: no script runs, and nothing is asked for.
"""

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>
:root {{ --ink: #1d2733; --paper: #fff; --soft: #586573; --edge: #d3dae1; --code: #f5f7f9;
  --link: #0b5cad; --good: #1a6b3c; --good-bg: #e9f6ee; --bad: #a3282d; --bad-bg: #fdeeee;
  --word: #7b3fa0; --string: #2a6a2a; --number: #9a4a00; --mark: #fff0b8; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e3e8ee; --paper: #14191f; --soft: #a0acb8;
  --edge: #38424d; --code: #1c232b; --link: #7fb8f5; --good: #84d6a2; --good-bg: #16301f;
  --bad: #ff9d9d; --bad-bg: #3a1d20; --word: #d3a4f0; --string: #9fd69f; --number: #f0b679;
  --mark: #55470e; }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; color: var(--ink); background: var(--paper); line-height: 1.55;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  overflow-wrap: break-word; }}
main {{ max-width: 54rem; margin: 0 auto; padding: 1rem 1rem 4rem; }}
h1, h2, h3, h4, h5, h6 {{ line-height: 1.25; margin: 1.6em 0 .5em; }}
h1 {{ font-size: 1.7rem; margin-top: .5em; }} h2 {{ font-size: 1.3rem; }}
h3 {{ font-size: 1.15rem; }} h4, h5, h6 {{ font-size: 1rem; }}
header p {{ color: var(--soft); margin: 0; }}
a {{ color: var(--link); }}
.score {{ font-size: 1.5rem; font-weight: 700; margin: .3em 0 1em; }}
table {{ border-collapse: collapse; display: block; max-width: 100%; overflow-x: auto; }}
th, td {{ border-bottom: 1px solid var(--edge); padding: .35rem .7rem .35rem 0; text-align: left;
  vertical-align: top; overflow-wrap: normal; min-width: 3rem; }}
td:nth-child(2) {{ white-space: nowrap; }} .cell td {{ white-space: normal; }}
.cell {{ margin: 1.1rem 0; }} .cell > :first-child {{ margin-top: 0; }}
img {{ max-width: 100%; height: auto; background: #fff; display: block; }}
pre, code {{ font: .875rem/1.5 ui-monospace, SFMono-Regular, Consolas, "Liberation Mono",
  monospace; }}
pre {{ margin: .4rem 0; padding: .6rem .8rem; overflow-x: auto; border-radius: 4px; tab-size: 4; }}
.cell pre {{ background: var(--code); border: 1px solid var(--edge); }}
.wrap {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
.cell .out, .cell .err {{ border: 0 solid var(--edge); border-left-width: 3px; border-radius: 0;
  background: none; max-height: 32rem; overflow-y: auto; }}
.cell .err {{ border-color: var(--bad); background: var(--bad-bg); }}
.cell .aside {{ border-color: var(--number); }}
.label, .word {{ color: var(--soft); font-size: .85rem; margin: .3rem 0; }}
.marks {{ border-left: 4px solid; padding: .5rem .8rem; margin: -.4rem 0 1.6rem; }}
.marks p {{ margin: 0; }} .marks p:first-child {{ font-weight: 700; }}
.full {{ background: var(--good-bg); border-color: var(--good); }}
.lost {{ background: var(--bad-bg); border-color: var(--bad); }}
.full p:first-child {{ color: var(--good); }} .lost p:first-child {{ color: var(--bad); }}
.k, .kn, .kc, .kd, .kr, .ow {{ color: var(--word); }} .c1, .c, .cm, .sd {{ color: var(--soft); }}
.s, .s1, .s2, .sa, .se, .si {{ color: var(--string); }} .mi, .mf, .m {{ color: var(--number); }}
.nf, .nc, .nd, .nb {{ color: var(--link); }}
.ansi-bold {{ font-weight: 700; }} .ansi-underline {{ text-decoration: underline; }}
.ansi-red-fg, .ansi-red-intense-fg {{ color: var(--bad); }}
.ansi-green-fg, .ansi-green-intense-fg {{ color: var(--good); }}
.ansi-blue-fg, .ansi-blue-intense-fg, .ansi-cyan-fg, .ansi-cyan-intense-fg {{ color: var(--link); }}
.ansi-magenta-fg, .ansi-magenta-intense-fg {{ color: var(--word); }}
.ansi-yellow-fg, .ansi-yellow-intense-fg {{ color: var(--number); }}
[class*="-bg"] {{ background: var(--mark); color: var(--ink); }}
</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""
