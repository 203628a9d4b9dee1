import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { difference } from './harness/pictures.ts'
import { eventually } from './harness/polling.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'
import { TigervncViewer } from './harness/tigervnc-viewer.ts'

/* TigerVNC's own viewer, connected to a real machine through a real gateway. The tests build on each other. */

let server: RealServer
let viewer: TigervncViewer
let id = ''
let session = ''
const path = (rest: string) => `/v1/machines/${id}/${rest}`

before(async () => {
  server = await joinServer()
  id = (await server.api.ok('POST', '/v1/machines', {})).id
  await server.api.waitForDesktop(id)
  session = (await server.api.ok('POST', '/v1/sessions', { machine_id: id })).id
  const { gateway_url } = await server.api.ok('GET', '/v1/auth/me')
  const url = `${gateway_url}${path(`screen?session_id=${session}`)}`
  viewer = await TigervncViewer.open(url, `Bearer ${server.api.key}`)
})
after(async () => {
  await viewer?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

test('it shows the screen of the machine', async () => {
  await showsMachine(1280, 800)
})

test('without the lease it is view-only; with it, a click and Unicode land', async () => {
  const program = `sh -c 'stty -icanon; exec cat >typed.txt'`
  await server.api.launch(id, `xfce4-terminal --geometry 100x30+150+100 -x ${program}`)
  await eventually('the program reads', async () => (await readTyped()) === '')
  await showsMachine(1280, 800)
  await viewer.click(640, 400)
  await viewer.type('too early ')

  const wish = { session_id: session, ttl_seconds: 600 }
  const { fence } = await server.api.ok('POST', path('input-lease'), wish)
  viewer.gateway.send({ type: 'input_fence', fence })
  const text = 'Typed in TigerVNC: ~!@#$%^&*()_+ caf\u00e9 \u6f22\u5b57 '
  await viewer.click(640, 400)
  await viewer.type(text)
  await eventually('the text arrives', async () => (await readTyped()) === text)
  await showsMachine(1280, 800)
})

test('it follows the size of the display', async () => {
  await server.api.ok('POST', path('display/resize'), { width: 1000, height: 600 })
  await showsMachine(1000, 600)
})

async function readTyped(): Promise<string | undefined> {
  const answer = await server.api.call('GET', path('files/content?path=typed.txt'))
  return answer.status === 200 ? answer.body.content : undefined
}

/** Waits until the viewer shows the machine's screen, up to the losses of JPEG. */
async function showsMachine(width: number, height: number): Promise<void> {
  let last = Infinity
  await eventually('the viewer shows the screen of the machine', async () => {
    const { bytes } = await server.api.call('GET', path('screenshot'), undefined, {
      accept: 'image/png',
    })
    last = await difference(bytes, await viewer.picture(width, height))
    return last < 2
  }).catch((error: Error) => assert.fail(`${error.message}; it differs by ${last}`))
}
