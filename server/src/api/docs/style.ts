/** The style of the reference, light or dark by the reader's system setting. */
export const referenceStyle = `
:root {
  --ground: #fff; --panel: #f6f7f9; --line: #e1e4ea; --text: #1b1f27; --quiet: #5c6472;
  --accent: #2457d6; --get: #14713f; --post: #1d4fc4; --put: #8a5200; --delete: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12151b; --panel: #1a1e26; --line: #2c323e; --text: #e6e9ef; --quiet: #9aa3b2;
    --accent: #86a9ff; --get: #5fd08f; --post: #86a9ff; --put: #eab262; --delete: #ff8a80;
  }
}
* { box-sizing: border-box }
body {
  margin: 0; display: grid; grid-template-columns: 16rem minmax(0, 1fr);
  background: var(--ground); color: var(--text); font: 15px/1.55 Inter, system-ui, sans-serif;
}
a { color: var(--accent); text-decoration: none }
a:hover { text-decoration: underline }
nav {
  position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.25rem;
  background: var(--panel); border-right: 1px solid var(--line); font-size: 13px;
}
nav h2 {
  margin: 1.25rem 0 .25rem; font-size: 11px; letter-spacing: .06em; text-transform: uppercase;
  color: var(--quiet);
}
nav ul { list-style: none; margin: 0; padding: 0 }
nav li a { display: flex; gap: .5rem; padding: .15rem 0; color: inherit }
nav b { width: 3.4rem; font-size: 10px; line-height: 1.9 }
.brand { font-weight: 650; font-size: 16px; color: inherit }
small { color: var(--quiet); font-size: 12.5px }
main { padding: 2rem 3rem 6rem; max-width: 62rem }
h1 { font-size: 2rem; margin: 0 0 .5rem; letter-spacing: -.02em }
section > h2 { margin: 3.5rem 0 0; padding-bottom: .4rem; border-bottom: 1px solid var(--line) }
article { padding: 1.5rem 0; border-bottom: 1px solid var(--line) }
h3 { margin: 0; font-size: 1.02rem; display: flex; gap: .6rem; align-items: baseline }
h3 code { background: none; padding: 0; font-size: .95rem; overflow-wrap: anywhere }
h3 b { font-size: 12px }
h4 { margin: 1.1rem 0 .35rem; font-size: 12.5px; color: var(--quiet) }
p { margin: .4rem 0 }
.anchor { visibility: hidden }
h3:hover .anchor { visibility: visible }
.GET { color: var(--get) } .POST { color: var(--post) } .PUT, .PATCH { color: var(--put) }
.DELETE { color: var(--delete) }
.needs { color: var(--quiet) }
.status { color: var(--get) }
code, pre { font: 13px/1.5 ui-monospace, "JetBrains Mono", Menlo, monospace }
code { background: var(--panel); border-radius: 4px; padding: .1em .3em; overflow-wrap: anywhere }
pre {
  margin: .3rem 0; padding: .8rem 1rem; overflow-x: auto; background: var(--panel);
  border: 1px solid var(--line); border-radius: 8px;
}
table { border-collapse: collapse; width: 100% }
td { padding: .4rem .75rem .4rem 0; vertical-align: top; border-top: 1px solid var(--line) }
td:first-child { width: 32% }
td:nth-child(2):not(:last-child) { width: 24% }
td code { font-size: 12.5px }
em { color: var(--delete); font-size: 12px; font-style: normal }
summary { cursor: pointer; color: var(--quiet); font-size: 13px }
@media (max-width: 60rem) {
  body { display: block }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line) }
  main { padding: 1.5rem 1.25rem 4rem }
}
`
