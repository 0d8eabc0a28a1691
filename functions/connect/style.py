"""The style sheet of the pages: light and dark, for narrow and wide windows."""

STYLE = """
:root { color-scheme: light dark; --ink: #17181d; --soft: #5d6270; --line: #dfe1e8; --paper: #fff; --ground: #f4f5f8;
  --accent: #3f4fd0; --on-accent: #fff; --good: #12703f; --good-ground: #e4f5ec; --bad: #a0351b; --bad-ground: #fdeee9 }
@media (prefers-color-scheme: dark) { :root { --ink: #ededf2; --soft: #a3a7b5; --line: #363945; --paper: #1e2027;
  --ground: #131419; --accent: #99a4ff; --on-accent: #14151c; --good: #7fd6a6; --good-ground: #16301f; --bad: #ffab91;
  --bad-ground: #3a1e15 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif;
  padding: clamp(0rem, 6vw, 4rem) 0 }
main { width: min(34rem, 100%); margin: auto; padding: clamp(1.25rem, 5vw, 2.25rem); background: var(--paper);
  border: 1px solid var(--line); border-radius: 18px; overflow-wrap: anywhere }
@media (max-width: 36rem) { body { background: var(--paper) } main { border: 0; border-radius: 0 } }
header { display: flex; justify-content: space-between; gap: 1rem; font-size: .875rem; color: var(--soft);
  margin-bottom: 1.5rem }
header strong { color: var(--ink); letter-spacing: .01em }
h1 { margin: 0 0 .4rem; font-size: 1.6rem; line-height: 1.25; letter-spacing: -.015em }
h2 { margin: 2rem 0 .25rem; font-size: 1.1rem; line-height: 1.3 }
p { margin: 0 0 1rem } .soft, small { color: var(--soft) } small { font-size: .875rem; display: block }
a { color: var(--accent); text-underline-offset: .2em }
ul { list-style: none; margin: 1.25rem 0 0; padding: 0; border-top: 1px solid var(--line) }
li { border-bottom: 1px solid var(--line) }
li a { display: flex; justify-content: space-between; align-items: center; gap: 1rem; padding: .9rem 0;
  color: inherit; text-decoration: none }
li a:hover b { text-decoration: underline } li small { margin-top: .1rem }
.mark { flex: none; font-size: .8125rem; padding: .15rem .7rem; border-radius: 99px; border: 1px solid var(--line);
  color: var(--soft); white-space: nowrap }
.mark.good { background: var(--good-ground); color: var(--good); border-color: transparent }
.mark.bad { background: var(--bad-ground); color: var(--bad); border-color: transparent }
h1 + .note { margin-top: 1.1rem }
.note { margin: 0 0 1.25rem; padding: .8rem 1rem; border-radius: 12px; background: var(--ground) }
.note.good { background: var(--good-ground); color: var(--good) } .note.bad { background: var(--bad-ground);
  color: var(--bad) }
.note b { display: block }
.card { margin: 1rem 0 0; padding: 1rem 1.1rem; border: 1px solid var(--line); border-radius: 14px }
.card > div { display: flex; justify-content: space-between; align-items: start; gap: 1rem }
.card form { margin: .9rem 0 0; display: flex; align-items: center; gap: 1rem }
.card form small { flex: 1 }
.turn { display: grid; grid-template-columns: 1fr auto 1fr; align-items: center; gap: .75rem; margin: 1.25rem 0 }
.turn.alone { grid-template-columns: 1fr }
.turn .card { margin: 0; height: 100% } .turn > span { color: var(--soft); font-size: 1.25rem }
@media (max-width: 30rem) { .turn { grid-template-columns: 1fr } .turn > span { transform: rotate(90deg);
  justify-self: center } .card form { flex-direction: column; align-items: start } }
fieldset { border: 0; margin: 1.25rem 0 0; padding: 0 } legend { padding: 0; font-weight: 600; margin-bottom: .4rem }
fieldset > small { margin-top: .5rem }
label.choice { display: flex; gap: .65rem; align-items: start; padding: .6rem .8rem; border: 1px solid var(--line);
  border-radius: 12px; margin-top: .5rem; cursor: pointer }
label.choice:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent) }
label.choice input { margin: .3rem 0 0; flex: none; width: 1.05rem; height: 1.05rem; accent-color: var(--accent) }
label.field { display: block; font-weight: 600; margin: 1rem 0 0 }
input.text, select { font: inherit; font-weight: 400; color: inherit; width: 100%; margin-top: .35rem;
  padding: .65rem .8rem; border: 1px solid var(--line); border-radius: 10px; background: var(--paper) }
button, .button { font: inherit; font-weight: 600; cursor: pointer; display: inline-block; text-align: center;
  padding: .7rem 1.25rem; border-radius: 11px; border: 1px solid var(--accent); background: var(--accent);
  color: var(--on-accent); text-decoration: none }
button.wide, .button.wide { width: 100%; margin-top: 1.5rem }
button.quiet { background: transparent; color: var(--ink); border-color: var(--line) }
button.wide + button.wide { margin-top: .6rem }
button.risky { background: transparent; color: var(--bad); border-color: var(--line); padding: .4rem .85rem;
  font-size: .9rem }
button:hover, .button:hover { filter: brightness(1.08) } button.risky:hover { border-color: var(--bad) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
details { margin-top: 1.75rem; border-top: 1px solid var(--line); padding-top: 1rem }
summary { cursor: pointer; font-weight: 600 } details > p { margin-top: .6rem } details details { margin-top: 1.25rem }
details > form.who > button.wide:first-of-type { margin-top: 1rem }
footer { margin-top: 2rem; font-size: .9rem; display: flex; flex-wrap: wrap; gap: .5rem 1.5rem }
form.who:has([value=me]:checked) .role, form.who:has([value=role]:checked) .mine { display: none }
"""
