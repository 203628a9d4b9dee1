import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import sharp from 'sharp'
import { eventually } from './api.ts'
import { startRealServer, type RealServer } from './server.ts'

/*
 * The whole path on a real machine, in the order a user would go. The tests share one server and one
 * machine, so each builds on those before it.
 */

let server: RealServer
let id = ''
const path = (rest = '') => `/v1/machines/${id}${rest}`

before(async () => {
  server = await startRealServer()
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
})

test('a created machine runs, and its first command answers', async () => {
  const machine = await server.api.ok('POST', '/v1/machines', { metadata: { purpose: 'e2e' } })
  id = machine.id
  assert.equal(machine.state, 'running')
  assert.equal(machine.started_at !== null, true)
  assert.equal(await server.api.run(id, ['whoami']), 'agent\n')
  assert.equal(await server.api.run(id, ['hostname']), `${machine.name}\n`)
})

test('its desktop comes up at 1280x800 and shows a picture', async () => {
  await server.api.waitForDesktop(id)
  const display = await server.api.ok('GET', path('/display'))
  assert.deepEqual(display, { width: 1280, height: 800, up: true })

  const shot = await server.api.ok('GET', path('/screenshot?format=png'))
  assert.deepEqual(shot.display, { width: 1280, height: 800 })
  const image = Buffer.from(shot.image, 'base64')
  const { width, height, format } = await sharp(image).metadata()
  assert.deepEqual({ width, height, format }, { width: 1280, height: 800, format: 'png' })
  assert.ok((await sharp(image).stats()).entropy > 1, 'the screen is blank')

  for (const kind of ['jpeg', 'webp']) {
    const answer = await server.api.call(
      'GET',
      path(`/screenshot?format=${kind}&quality=70`),
      undefined,
      {
        accept: 'image/*',
      },
    )
    assert.equal(answer.headers.get('content-type'), `image/${kind}`)
    assert.equal(answer.headers.get('x-display-width'), '1280')
    assert.equal((await sharp(answer.bytes).metadata()).format, kind)
  }
  const ready = await eventually('the event machine.ready', async () => {
    const events = await server.api.ok('GET', path('/events'))
    return events.data.find((event: { type: string }) => event.type === 'machine.ready')
  })
  assert.equal(ready.machine_id, id)
})

test('input without the lease is refused', async () => {
  const answer = await server.api.call('POST', path('/mouse/move'), { x: 10, y: 10 })
  assert.deepEqual([answer.status, answer.body.error.code], [409, 'conflict'])
})

test('a terminal opened by a hotkey takes any Unicode', async () => {
  await server.api.takeLease(id)
  await server.api.ok('POST', path('/keyboard/hotkey'), { keys: ['ctrl', 'alt', 't'] })
  await activeWindow('xfce4-terminal')
  const text = 'caf\u00e9 \u6f22\u5b57 \u{1f642} done'
  await server.api.ok('POST', path('/keyboard/type'), { text: `printf '%s' '${text}' > typed.txt` })
  await server.api.ok('POST', path('/keyboard/key'), { key: 'enter' })
  const file = await eventually('the typed command took effect', async () => {
    const answer = await server.api.call('GET', path('/files/content?path=typed.txt'))
    return answer.status === 200 && answer.body.size > 0 ? answer.body : undefined
  })
  assert.equal(file.content, text)
})

test('Chromium shows a page of the machine, and its button can be clicked', async () => {
  await server.api.ok('PUT', path('/files/content'), {
    path: 'site/server.py',
    content: siteServer,
  })
  await server.api.launch(id, 'python3 site/server.py')
  await server.api.launch(id, 'chromium http://127.0.0.1:8000/')
  await eventually('the page has painted', async () => {
    const answer = await server.api.call('GET', path('/files/content?path=site/painted'))
    return answer.status === 200 || undefined
  })
  await activeWindow('chromium')
  const sandbox = await server.api.run(id, ['sh', '-c', 'ps -eo args | grep [c]hromium'])
  assert.doesNotMatch(sandbox, /--no-sandbox/)
  await server.api.ok('POST', path('/mouse/click'), { at: { x: 640, y: 500 } })
  await eventually('the button was clicked', async () => {
    const answer = await server.api.call('GET', path('/files/content?path=site/clicked'))
    return answer.status === 200 || undefined
  })
})

test('a coordinate outside the display is refused and nothing moves', async () => {
  await server.api.ok('POST', path('/mouse/move'), { x: 200, y: 300 })
  const before = await pointer()
  for (const [route, body] of [
    ['mouse/move', { x: 1280, y: 10 }],
    ['mouse/click', { at: { x: -1, y: 10 } }],
    ['mouse/drag', { from: { x: 20, y: 20 }, to: { x: 20, y: 800 } }],
  ] as const) {
    const answer = await server.api.call('POST', path(`/${route}`), body)
    assert.deepEqual([answer.status, answer.body.error.code], [400, 'invalid_request'], route)
    assert.match(answer.body.error.message, /1280/)
  }
  assert.equal(await pointer(), before)
})

test('the clipboard goes both ways', async () => {
  const text = 'copied \u00e9 \u6f22 \u{1f680}\nsecond line'
  await server.api.ok('PUT', path('/clipboard'), { text })
  assert.equal(await server.api.run(id, ['xclip', '-o', '-selection', 'clipboard']), text)
  await server.api.run(id, [
    'sh',
    '-c',
    'printf %s "$0" | xclip -selection primary >/dev/null',
    text,
  ])
  const read = await server.api.ok('GET', path('/clipboard?selection=primary'))
  assert.deepEqual(read, { text, selection: 'primary' })
})

test('the display resizes to 1600x900', async () => {
  const display = await server.api.ok('POST', path('/display/resize'), { width: 1600, height: 900 })
  assert.deepEqual(display, { width: 1600, height: 900, up: true })
  const shot = await server.api.ok('GET', path('/screenshot?format=jpeg'))
  assert.deepEqual(shot.display, { width: 1600, height: 900 })
  const { width, height } = await sharp(Buffer.from(shot.image, 'base64')).metadata()
  assert.deepEqual({ width, height }, { width: 1600, height: 900 })
})

test('after a takeover is answered, nothing of a drag in flight lands', async () => {
  await server.api.takeLease(id, { force: true })
  await server.api.ok('POST', path('/mouse/move'), { x: 5, y: 5 })
  const drag = server.api.call('POST', path('/mouse/drag'), {
    to: { x: 1500, y: 850 },
    steps: 1000,
  })
  await eventually('the drag is under way', async () =>
    (await pointer()) === '5,5' ? undefined : true,
  )
  const taken = await server.api.takeLease(id, { force: true })
  const [first, mask] = [await pointer(), await buttons()]
  const refused = await drag
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  assert.match(refused.body.error.message, new RegExp(taken.sessionId))
  assert.notEqual(first, '1500,850')
  assert.equal(mask, 'up', 'the button of the earlier holder is still down')
  assert.equal(await pointer(), first)
})

test('a stopped and started machine has its disk as it was', async () => {
  const stopped = await server.api.ok('POST', path('/stop?wait=60'))
  assert.equal(stopped.state, 'stopped')
  const refused = await server.api.call('POST', path('/exec'), { command: ['true'] })
  assert.deepEqual([refused.status, refused.body.error.code], [412, 'precondition_failed'])
  const started = await server.api.ok('POST', path('/start?wait=60'))
  assert.equal(started.state, 'running')
  const file = await server.api.ok('GET', path('/files/content?path=typed.txt'))
  assert.equal(file.content, 'caf\u00e9 \u6f22\u5b57 \u{1f642} done')
  await server.api.waitForDesktop(id)
})

test('a guest that powers itself off is stopped, one that reboots runs on', async () => {
  await server.api.run(id, ['systemctl', 'reboot'], { user: 'root' }).catch(() => {})
  await eventually('the rebooted machine answers', async () => {
    const answer = await server.api.call('POST', path('/exec'), { command: ['true'] })
    return answer.status === 200 || undefined
  })
  assert.equal((await server.api.ok('GET', path())).state, 'running')
  await server.api.run(id, ['systemctl', 'poweroff'], { user: 'root' }).catch(() => {})
  await eventually(
    'the machine is seen to be off',
    async () => (await server.api.ok('GET', path())).state === 'stopped' || undefined,
    10_000,
  )
  await server.api.ok('POST', path('/start?wait=60'))
})

test('two machines cannot reach each other', async () => {
  const other = await server.api.ok('POST', '/v1/machines', { name: 'neighbour' })
  await server.api.launch(id, 'python3 -m http.server 8123')
  const address = await eventually('the machine has an address', async () => {
    const found = (await server.api.run(id, ['hostname', '-I'])).trim().split(' ')[0]
    return found === '' ? undefined : found
  })
  const fetchIt = ['curl', '-s', '-o', '/dev/null', '-m', '3', `http://${address}:8123/`]
  await eventually('it reaches itself', async () =>
    server.api.run(id, fetchIt).then(
      () => true,
      () => undefined,
    ),
  )
  const result = await server.api.ok('POST', `/v1/machines/${other.id}/exec`, { command: fetchIt })
  assert.notEqual(result.exit_code, 0)
  await server.api.ok('DELETE', `/v1/machines/${other.id}`)
})

test('a create survives the death of the worker in its middle', async () => {
  const creating = server.api.call('POST', '/v1/machines', { name: 'phoenix' })
  await eventually('the row is there', async () => {
    const { data } = await server.api.ok('GET', '/v1/machines?name=phoenix')
    return data.length > 0 || undefined
  })
  await server.kill('worker')
  const answer = await creating
  assert.equal(answer.body.state, 'running')
  const { data } = await server.api.ok('GET', `/v1/machines/${answer.body.id}/events`)
  const starts = data.filter((event: { type: string }) => event.type === 'machine.started')
  assert.equal(starts.length, 1)
  await eventually('only it and ours are left', async () =>
    (await server.countMachines()) === 2 ? true : undefined,
  )
})

test('a deleted machine is gone', async () => {
  const deleted = await server.api.call('DELETE', path())
  assert.deepEqual([deleted.status, deleted.body.state], [202, 'deleting'])
  await eventually('it is not found', async () => {
    const answer = await server.api.call('GET', path())
    return answer.status === 404 || undefined
  })
})

async function activeWindow(name: string): Promise<void> {
  await eventually(`a window of ${name} is active`, async () => {
    const found = await server.api.ok('POST', path('/exec'), {
      command: ['sh', '-c', 'xprop -id "$(xdotool getactivewindow)" WM_CLASS'],
    })
    return found.stdout.toLowerCase().includes(name) || undefined
  })
}

async function pointer(): Promise<string> {
  const text = await server.api.run(id, ['xdotool', 'getmouselocation', '--shell'])
  return `${/X=(\d+)/.exec(text)?.[1]},${/Y=(\d+)/.exec(text)?.[1]}`
}

/** Whether the first button is down, as the X server has it. */
async function buttons(): Promise<string> {
  const text = await server.api.run(id, ['python3', '-c', buttonProbe])
  return text.trim()
}

const buttonProbe = `
import ctypes
x = ctypes.CDLL('libX11.so.6')
x.XOpenDisplay.restype = ctypes.c_void_p
x.XDefaultRootWindow.argtypes = [ctypes.c_void_p]
x.XDefaultRootWindow.restype = ctypes.c_ulong
d = x.XOpenDisplay(b':0')
u, i = ctypes.c_ulong(), ctypes.c_int()
mask = ctypes.c_uint()
r = ctypes.byref
x.XQueryPointer(ctypes.c_void_p(d), ctypes.c_ulong(x.XDefaultRootWindow(d)), r(u), r(u), r(i), r(i), r(i), r(i), r(mask))
print('down' if mask.value & 0x100 else 'up')
`

/** A page that is one button, and files that tell what the browser did. */
const siteServer = `
import http.server, os
os.chdir(os.path.dirname(os.path.abspath(__file__)))
page = b'''<!doctype html><title>One button</title>
<button style="position:fixed;inset:0;font-size:8rem" onclick="fetch('/clicked')">Press me</button>
<script>requestAnimationFrame(() => setTimeout(() => fetch('/painted'), 100))</script>'''
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path in ('/clicked', '/painted'):
            open(self.path[1:], 'w').close()
        self.send_response(200)
        self.send_header('content-type', 'text/html')
        self.end_headers()
        self.wfile.write(page if self.path == '/' else b'')
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(('127.0.0.1', 8000), Site).serve_forever()
`
