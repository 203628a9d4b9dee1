import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Browser, Page, Request } from 'playwright-core'
import { silentDecoder } from './chromium.ts'
import { readPrograms } from './guide-programs.ts'

const novnc = fileURLToPath(new URL('../../node_modules/@novnc/novnc/', import.meta.url))

/** The published noVNC with the program of the guide. */
const html = `<!doctype html>
<title>A machine</title>
<style>html, body, #screen { margin: 0; width: 100%; height: 100%; overflow: hidden }</style>
<div id="screen"></div>
<script type="importmap">{ "imports": { "@novnc/novnc": "/novnc/core/rfb.js" } }</script>
<script type="module">
  import { viewScreen } from '/screen.js'

  window.view = (options) => {
    const messages = []
    const onMessage = (message) => messages.push(message)
    const element = document.getElementById('screen')
    Object.assign(window, { messages }, viewScreen(element, { ...options, onMessage }))
    return new Promise((resolve, reject) => {
      window.rfb.addEventListener('connect', () => resolve())
      window.rfb.addEventListener('disconnect', () => reject(new Error('not connected')))
    })
  }
  window.isLoaded = true
</script>`

/** Serves the page and noVNC on another origin than the server's. */
export async function servePage(): Promise<AsyncDisposable & { readonly origin: string }> {
  const program = (await readPrograms('docs/real-time.md')).get('screen.js')!
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://host')
    if (pathname === '/') {
      response.setHeader('content-type', 'text/html').end(html)
      return
    }
    response.setHeader('content-type', 'text/javascript')
    if (pathname === '/screen.js') {
      response.end(program)
      return
    }
    readFile(novnc + pathname.slice('/novnc/'.length)).then(
      (file) => response.end(file),
      () => response.writeHead(404).end(),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

type ViewOptions = {
  readonly gatewayUrl: string
  readonly token: string
  readonly machineId: string
  readonly sessionId?: string | undefined
}

/** The globals of the page. */
type PageWindow = {
  readonly isLoaded?: boolean
  readonly view: (options: ViewOptions) => Promise<void>
  readonly nameFence: (fence: number) => void
  readonly messages: readonly Record<string, unknown>[]
  readonly rfb: { resizeSession: boolean }
}

/** A viewer: noVNC in a browser window of the machine's size. */
export class NovncViewer {
  readonly page: Page

  private constructor(page: Page) {
    this.page = page
  }

  static async open(browser: Browser, origin: string, options: ViewOptions): Promise<NovncViewer> {
    const viewport = { width: 1280, height: 800 }
    const context = await browser.newContext({ locale: 'en-US', viewport })
    await context.addInitScript(silentDecoder)
    const page = await context.newPage()
    const seen = watch(page)
    await page.goto(origin)
    try {
      await page.waitForFunction(() => (globalThis as unknown as PageWindow).isLoaded)
    } catch (error) {
      throw new Error(`noVNC is not loaded; the page told: ${seen().join('; ')}`, { cause: error })
    }
    await page.evaluate((to) => (globalThis as unknown as PageWindow).view(to), options)
    return new NovncViewer(page)
  }

  nameFence(fence: number): Promise<void> {
    return this.page.evaluate((n) => (globalThis as unknown as PageWindow).nameFence(n), fence)
  }

  messages(): Promise<readonly Record<string, unknown>[]> {
    return this.page.evaluate(() => (globalThis as unknown as PageWindow).messages)
  }

  /** Makes the machine's display follow the size of the window. */
  followWindow(): Promise<void> {
    return this.page.evaluate(() => {
      ;(globalThis as unknown as PageWindow).rfb.resizeSession = true
    })
  }

  /** The canvas of noVNC, as a PNG of the machine's size. */
  async picture(): Promise<Buffer> {
    const script = `document.querySelector('canvas').toDataURL()`
    const url = await this.page.evaluate<string>(script)
    return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
  }
}

/** Records console messages, errors and unanswered requests of the page. The function it returns lists them. */
function watch(page: Page): () => string[] {
  const told: string[] = []
  const waiting = new Set<Request>()
  page.on('console', (message) => told.push(message.text()))
  page.on('pageerror', (error) => told.push(String(error)))
  page.on('request', (request) => waiting.add(request))
  page.on('requestfinished', (request) => waiting.delete(request))
  page.on('requestfailed', (request) => told.push(`${request.url()} failed`))
  return () => [...told, ...[...waiting].map((request) => `${request.url()} is not answered`)]
}
