import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

export const viewerFile = 'novnc.js'

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
  #screen { height: 100% }
  #message { position: fixed; inset: auto 0 1em; text-align: center }
</style>
<div id="screen"></div>
<div id="message" role="status">Connecting…</div>
<script type="module" src="view.js"></script>
</html>
`
}

/** Connects, and reconnects when the connection is lost, with the backoff of the SDK. */
export function script({ viewOnly }: { readonly viewOnly: boolean }): string {
  return `import RFB from './${viewerFile}'
const message = document.getElementById('message')
let failures = 0
const connect = () => {
  const rfb = new RFB(document.getElementById('screen'), new URL('screen', location.href.replace(/^http/, 'ws')).href)
  rfb.viewOnly = ${viewOnly}
  rfb.scaleViewport = true
  rfb.addEventListener('connect', () => {
    failures = 0
    message.textContent = ''
  })
  rfb.addEventListener('disconnect', () => {
    message.textContent = 'Connection lost. Reconnecting…'
    setTimeout(connect, Math.min(250 * 2 ** failures++, 5000))
  })
}
connect()
`
}
