import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import sharp from 'sharp'
import { soakSeed, soakSize } from '../scripts/soak/sizes.ts'
import type { ApiClient } from './harness/api.ts'
import { eventually } from './harness/polling.ts'
import { createRandom } from './harness/random.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * Clicks in a browser whose page changes. The page fills the screen, and writes down what each click hit. The tests
 * use the machine one after the other.
 */

let server: RealServer
let api: ApiClient
let id = ''
const { pages } = soakSize('guard')
const path = (rest: string) => `/v1/machines/${id}/${rest}`
const target = { x: 320, y: 350 }

/**
 * A picture must show a change after this many frames of the page. The browser works on up to five at once, and on a busy
 * host the X server draws the last of them a moment later.
 */
const framesUntilDrawn = 8

const site = `
import http.server
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('content-type', 'text/html')
        self.end_headers()
        self.wfile.write(open('/tmp/page.html', 'rb').read())
    def do_POST(self):
        length = int(self.headers['content-length'])
        open('/tmp/hits', 'ab').write(self.rfile.read(length) + b'\\n')
        self.send_response(204)
        self.end_headers()
    def log_message(self, *args):
        pass
http.server.HTTPServer(('127.0.0.1', 8000), Site).serve_forever()
`

const buttons = `<!doctype html><title>Page</title><style>
button { position: absolute; top: 300px; width: 240px; height: 100px; border: 0 }
</style><body style="margin: 0">
<button id="keep" style="left: 200px; background: #00ff00"></button>
<button id="delete" style="left: 700px; background: #ff0000"></button>`

/** Writes down what was hit, and how many frames the page has drawn since its buttons were swapped. */
const noting = `
let frames = 0, swapped = -1000
const count = () => { frames++; requestAnimationFrame(count) }
requestAnimationFrame(count)
let sending = Promise.resolve()
addEventListener('pointerdown', ({ target }) => {
  const body = target.id + ' ' + (frames - swapped)
  sending = sending.then(() => fetch('/', { method: 'POST', body }))
})`

const swapping = `${buttons}<script>${noting}
const [a, b] = document.querySelectorAll('button')
const swap = () => {
  [a.style.left, b.style.left] = [b.style.left, a.style.left]
  swapped = frames
  setTimeout(swap, 30 + Math.random() * 400)
}
swap()
</script>`

/**
 * A clock beside the button, a text cursor near it, and something that moves elsewhere. The page shows itself once its
 * window has its place and its clock runs, because what a browser draws while it starts does change.
 */
const busy = `${buttons}
<style>body { opacity: 0 }</style>
<div id="clock" style="position: absolute; top: 335px; left: 350px; font: 11px monospace"></div>
<input autofocus style="position: absolute; top: 380px; left: 340px; width: 60px; height: 14px; border: 0">
<div id="mover" style="position: absolute; top: 600px; width: 60px; height: 60px; background: #0000ff"></div>
<script>${noting}
setInterval(() => { clock.textContent = new Date().toISOString().slice(11, 19) }, 200)
addEventListener('pointerdown', (event) => event.preventDefault())
setTimeout(() => { document.body.style.opacity = 1 }, 1000)
const move = () => { mover.style.left = (performance.now() / 2) % 1000 + 'px'; requestAnimationFrame(move) }
move()
</script>`

before(async () => {
  server = await joinServer()
  api = server.api
  id = (await api.ok('POST', '/v1/machines', {})).id
  await api.waitForDesktop(id)
  await api.takeLease(id, { ttl_seconds: 3600 })
  await api.ok('PUT', path('files/content'), { path: '/tmp/site.py', content: site })
  await api.launch(id, 'python3 /tmp/site.py')
})
after(async () => server?.[Symbol.asyncDispose]())

test('no click hits a button that took the place of the one that was seen', async (t) => {
  await open(swapping)
  const random = createRandom(soakSeed(17))
  const guarded = await clickSwapping(true, random)
  const blind = await clickSwapping(false, random)
  t.diagnostic(`with the guard: ${JSON.stringify(guarded)}; without: ${JSON.stringify(blind)}`)
  assert.equal(guarded.wrong, 0)
  assert.ok(guarded.right > 0 && guarded.refused > 0)
  assert.ok(blind.missedAfter.length > 0, 'swaps do hit without the guard')
})

test('a clock, a text cursor and movement elsewhere are no reason to refuse', async (t) => {
  await open(busy)
  let refused = 0
  for (let round = 0; round < pages; round++) {
    const { id: seen } = await api.ok('GET', path('screenshot?format=jpeg&scale=0.1'))
    await pause(round % 100)
    if (!(await click(seen))) refused += 1
  }
  t.diagnostic(`${refused} of ${pages} were refused`)
  assert.ok(refused <= pages / 100)
})

/** Shows a page over the whole screen, and forgets the hits before. */
async function open(page: string): Promise<void> {
  await api.ok('PUT', path('files/content'), { path: '/tmp/page.html', content: page })
  await api.run(id, ['sh', '-c', 'pkill chromium; while pgrep -x chromium; do sleep 0.1; done'])
  await api.launch(id, 'chromium --kiosk http://127.0.0.1:8000/')
  await eventually('the page is shown', async () => (await look()).isKeep !== undefined)
  await api.run(id, ['rm', '-f', '/tmp/hits'])
}

/** The screen, and which button it has at the target; undefined without a button. */
async function look(): Promise<{ seen: string; isKeep: boolean | undefined }> {
  const region = `region=${target.x},${target.y},1,1`
  const shot = await api.ok<{ id: string; image: string }>('GET', path(`screenshot?${region}`))
  const pixel = await sharp(Buffer.from(shot.image, 'base64')).removeAlpha().raw().toBuffer()
  const isKeep = { '00ff00': true, ff0000: false }[pixel.toString('hex')]
  return { seen: shot.id, isKeep }
}

/** Whether it was not refused. */
async function click(seen: string | undefined): Promise<boolean> {
  const headers = seen === undefined ? {} : { 'x-if-screenshot': seen }
  const { status, body } = await api.call('POST', path('mouse/click'), { at: target }, headers)
  if (status === 412) assert.equal(body.error.details[0].field, 'x-if-screenshot')
  else assert.equal(status, 200, JSON.stringify(body))
  return status === 200
}

/**
 * Clicks what it has seen. `wrong` are clicks on the other button, which had been drawn; `undrawn` are those on one
 * that was not on the screen yet.
 */
async function clickSwapping(isGuarded: boolean, random: ReturnType<typeof createRandom>) {
  const clicked: boolean[] = []
  let refused = 0
  await api.run(id, ['rm', '-f', '/tmp/hits'])
  for (let round = 0; round < pages; round++) {
    const { seen, isKeep } = await look()
    if (isKeep === undefined) continue
    await pause(random.below(60))
    if (await click(isGuarded ? seen : undefined)) clicked.push(isKeep)
    else refused += 1
  }
  const hits = await eventually('the page has written down every click', async () => {
    const lines = (await api.run(id, ['cat', '/tmp/hits'])).trim().split('\n')
    return lines.length >= clicked.length && lines.map((line) => line.split(' '))
  })
  assert.equal(hits.length, clicked.length)
  const missed = hits.filter(([button], index) => (button === 'keep') !== clicked[index])
  const missedAfter = missed.map(([, frames]) => Number(frames))
  const wrong = missedAfter.filter((frames) => frames >= framesUntilDrawn).length
  const undrawn = missed.length - wrong
  return { right: clicked.length - missed.length, wrong, undrawn, refused, missedAfter }
}
