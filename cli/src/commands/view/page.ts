import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { pointersFile, pointersStyle } from './page-pointers.ts'

export const viewerFile = 'novnc.js'
/** Close code of the page's connection: the reason is for people, and connecting again is of no use. */
export const endedCode = 4000

/** The viewer as one file: beside the published bundle, or built now in a checkout. */
export async function readViewer(): Promise<string> {
  const built = new URL(viewerFile, import.meta.url)
  return readFile(built, 'utf8').catch(async () => (await bundleViewer()).outputFiles[0]!.text)
}

export async function bundleViewer() {
  const { build } = await import('esbuild')
  return build({
    entryPoints: [fileURLToPath(import.meta.resolve('@novnc/novnc'))],
    bundle: true,
    // While it loads, noVNC 1.7 tries the browser's H.264 decoder, which some browsers never answer. Machines
    // send no H.264.
    banner: { js: 'delete globalThis.VideoDecoder' },
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
}

export function page(name: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${name}</title>
<style>
  html, body { margin: 0; height: 100%; background: #1c1c1e; color: #ddd; font: 14px system-ui, sans-serif }
  body { display: flex; flex-direction: column }
  header { display: flex; gap: 1em; align-items: center; min-height: 2.5em; padding: 0 1em }
  button { font: inherit; margin-left: auto }
  [hidden] { display: none }
  #notice { color: #ffb340 }
  #screen { flex: 1; min-height: 0 }${pointersStyle}
</style>
<header>
  <strong>${name}</strong>
  <span id="status" role="status">Connecting…</span>
  <span id="notice" role="alert"></span>
  <button id="take" hidden>Take control</button>
  <button id="give" hidden>Give control back</button>
</header>
<div id="screen"></div>
<div id="pointers" aria-hidden="true"></div>
<script type="module" src="view.js"></script>
</html>
`
}

/** Connects, and reconnects when the connection is lost, with the backoff of the SDK. */
export const script = `import RFB from './${viewerFile}'
import { showPointers, watchPointer } from './${pointersFile}'
const find = (id) => document.getElementById(id)
let failures = 0
let socket
let rfb

function connect() {
  socket = new WebSocket(new URL('screen', location.href.replace(/^http/, 'ws')))
  // noVNC passes over text frames.
  rfb = new RFB(find('screen'), socket)
  rfb.viewOnly = true
  rfb.scaleViewport = true
  rfb.addEventListener('connect', () => (failures = 0))
  socket.addEventListener('message', ({ data }) => {
    if (typeof data !== 'string') return
    const message = JSON.parse(data)
    if (message.type === 'pointers') showPointers(message.pointers)
    else show(message)
  })
  socket.addEventListener('close', ({ code, reason }) => {
    showPointers([])
    const isOver = code === ${endedCode}
    const text = isOver ? reason : 'Connection lost. Reconnecting…'
    show({ text, notice: isOver ? '' : reason, hasControl: false, offers: null })
    if (!isOver) setTimeout(connect, Math.min(250 * 2 ** failures++, 5000))
  })
}

function show({ text, notice, hasControl, offers }) {
  find('status').textContent = text
  find('notice').textContent = notice
  for (const action of ['take', 'give']) find(action).hidden = action !== offers
  if (hasControl && rfb.viewOnly) rfb.focus()
  rfb.viewOnly = !hasControl
}

for (const type of ['take', 'give'])
  find(type).addEventListener('click', () => socket.send(JSON.stringify({ type })))
connect()
watchPointer((at) => socket.readyState === 1 && socket.send(JSON.stringify({ type: 'point', at })))
`
