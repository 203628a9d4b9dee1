import { Computer, type Command, type ExecOptions, type Machine } from '@computer/sdk'
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import sharp from 'sharp'
import type { Answer } from './harness/api.ts'
import { eventually } from './harness/polling.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * The whole path on a real machine, in the order a user would go. The tests share one server and one
 * machine, so each builds on those before it. The SDK is the client, but where the wire itself is
 * looked at: those calls go through `callRaw`.
 */

let server: RealServer
let machine: Machine

before(async () => {
  server = await joinServer()
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
})

test('a created machine runs, and its first command answers', async () => {
  // Not waited for by the SDK: the answer itself comes once it runs.
  machine = await server.computer.machines.create({ metadata: { purpose: 'e2e' }, wait: false })
  assert.equal(machine.state, 'running')
  assert.equal(machine.data.startedAt !== null, true)
  assert.equal(await run(['whoami']), 'agent\n')
  assert.equal(await run(['hostname']), `${machine.name}\n`)
})

test('its desktop comes up at 1280x800 and shows a picture', async () => {
  assert.deepEqual(await machine.display.get(), { width: 1280, height: 800, up: true })

  const shot = (await callRaw('GET', '/screenshot?format=png')).body
  assert.deepEqual(shot.display, { width: 1280, height: 800 })
  const image = Buffer.from(shot.image, 'base64')
  const { width, height, format } = await sharp(image).metadata()
  assert.deepEqual({ width, height, format }, { width: 1280, height: 800, format: 'png' })
  assert.ok((await sharp(image).stats()).entropy > 1, 'the screen is blank')

  for (const kind of ['jpeg', 'webp']) {
    const query = `/screenshot?format=${kind}&quality=70`
    const answer = await callRaw('GET', query, undefined, { accept: 'image/*' })
    assert.equal(answer.headers['content-type'], `image/${kind}`)
    assert.equal(answer.headers['x-display-width'], '1280')
    assert.equal((await sharp(answer.bytes).metadata()).format, kind)
  }
  const ready = await eventually('the event machine.ready', async () => {
    const { data } = await machine.events.list()
    return data.find(({ type }) => type === 'machine.ready')
  })
  assert.equal(ready.machineId, machine.id)
})

test('input without the lease is refused', async () => {
  const answer = await callRaw('POST', '/mouse/move', { x: 10, y: 10 })
  assert.deepEqual([answer.status, answer.body.error.code], [409, 'conflict'])
})

test('a terminal opened by a hotkey takes any Unicode', async () => {
  await machine.keyboard.hotkey(['ctrl', 'alt', 't'])
  await activeWindow('xfce4-terminal')
  const text = 'caf\u00e9 \u6f22\u5b57 \u{1f642} done'
  await machine.keyboard.type(`printf '%s' '${text}' > typed.txt`)
  await machine.keyboard.press('enter')
  const content = await eventually('the typed command took effect', async () => {
    const found = await machine.files.readText('typed.txt').catch(() => '')
    return found === '' ? undefined : found
  })
  assert.equal(content, text)
})

test('Chromium shows a page of the machine, and its button can be clicked', async () => {
  await machine.files.write('site/server.py', siteServer)
  await machine.processes.start(['python3', 'site/server.py'])
  await machine.processes.start(['chromium', 'http://127.0.0.1:8000/'])
  await fileThere('site/painted')
  await activeWindow('chromium')
  assert.doesNotMatch(await run('ps -eo args | grep [c]hromium'), /--no-sandbox/)
  await machine.mouse.click(640, 500)
  await fileThere('site/clicked')
})

test('a coordinate outside the display is refused and nothing moves', async () => {
  const { mouse } = machine
  await mouse.move(200, 300)
  const before = await pointer()
  const refused = { code: 'invalid_request', status: 400, message: /1280/ }
  await assert.rejects(mouse.move(1280, 10), refused)
  await assert.rejects(mouse.click(-1, 10), refused)
  await assert.rejects(mouse.drag({ x: 20, y: 800 }, { from: { x: 20, y: 20 } }), refused)
  assert.equal(await pointer(), before)
})

test('the clipboard goes both ways', async () => {
  const text = 'copied \u00e9 \u6f22 \u{1f680}\nsecond line'
  await machine.clipboard.write(text)
  assert.equal(await run(['xclip', '-o', '-selection', 'clipboard']), text)
  const marked = `marked ${text}`
  const mark = 'printf %s "$0" | xclip -selection primary >/dev/null'
  await run(['sh', '-c', mark, marked])
  assert.equal(await machine.clipboard.read({ selection: 'primary' }), marked)
  assert.equal(await machine.clipboard.read(), text)
})

test('the display resizes to 1600x900', async () => {
  await machine.display.resize(1600, 900)
  assert.deepEqual(await machine.display.get(), { width: 1600, height: 900, up: true })
  const shot = await machine.screenshot({ format: 'jpeg' })
  assert.deepEqual([shot.width, shot.height], [1600, 900])
  const { width, height } = await sharp(shot.bytes).metadata()
  assert.deepEqual({ width, height }, { width: 1600, height: 900 })
})

test('after a takeover is answered, nothing of a drag in flight lands', async () => {
  await using another = new Computer({ apiKey: server.api.key, baseUrl: server.api.baseUrl })
  const { input } = await another.machines.get(machine.id)
  const { id: theirs } = await input.session()
  await machine.mouse.move(5, 5)
  const refused = assert.rejects(machine.mouse.drag({ x: 1500, y: 850 }, { steps: 1000 }), {
    code: 'conflict',
    status: 409,
    message: new RegExp(theirs),
  })
  await eventually('the drag is under way', async () => (await pointer()) !== '5,5')
  await input.acquire({ force: true })
  const [first, mask] = [await pointer(), await buttons()]
  await refused
  assert.notEqual(first, '1500,850')
  assert.equal(mask, 'up', 'the button of the earlier holder is still down')
  assert.equal(await pointer(), first)
})

test('a stopped and started machine has its disk as it was', async () => {
  await machine.stop()
  assert.equal(machine.state, 'stopped')
  await assert.rejects(machine.exec(['true']), { code: 'precondition_failed', status: 412 })
  await machine.start()
  assert.equal(machine.state, 'running')
  const content = await machine.files.readText('typed.txt')
  assert.equal(content, 'caf\u00e9 \u6f22\u5b57 \u{1f642} done')
  await machine.display.get()
})

test('a guest that powers itself off is stopped, one that reboots runs on', async () => {
  // A command may still be answered by the system that goes down: /run is new with each boot.
  await run('touch /run/before && systemctl reboot', { user: 'root' }).catch(() => {})
  await eventually('the rebooted machine answers', () =>
    run(['test', '!', '-e', '/run/before']).then(
      () => true,
      () => false,
    ),
  )
  assert.equal((await machine.refresh()).state, 'running')
  await run(['systemctl', 'poweroff'], { user: 'root' }).catch(() => {})
  await eventually(
    'the machine is seen to be off',
    async () => (await machine.refresh()).state === 'stopped',
    { withinMs: 10_000 },
  )
  await machine.start()
})

test('two machines cannot reach each other', async () => {
  const other = await server.computer.machines.create({ name: 'neighbour' })
  await machine.processes.start(['python3', '-m', 'http.server', '8123'])
  const address = await eventually('the machine has an address', async () => {
    const found = (await run(['hostname', '-I'])).trim().split(' ')[0]
    return found === '' ? undefined : found
  })
  const fetchIt = ['curl', '-s', '-o', '/dev/null', '-m', '3', `http://${address}:8123/`]
  await eventually('it reaches itself', async () =>
    run(fetchIt).then(
      () => true,
      () => false,
    ),
  )
  assert.notEqual((await other.exec(fetchIt)).exitCode, 0)
  await other.delete()
})

test('a create survives the death of the worker in its middle', async () => {
  const { machines } = server.computer
  const creating = machines.create({ name: 'phoenix', wait: false })
  await eventually('the row is there', async () => {
    const { data } = await machines.list({ name: 'phoenix' })
    return data.length > 0
  })
  await server.kill('worker')
  const phoenix = await creating
  assert.equal(phoenix.state, 'running')
  const { data } = await phoenix.events.list()
  assert.equal(data.filter(({ type }) => type === 'machine.started').length, 1)
  await eventually('only it and ours are left', async () => (await server.countMachines()) === 2)
})

test('a deleted machine is gone', async () => {
  const deleted = await callRaw('DELETE', '')
  assert.deepEqual([deleted.status, deleted.body.state], [202, 'deleting'])
  await eventually('it is not found', async () => {
    const answer = await callRaw('GET', '')
    return answer.status === 404
  })
})

/** A call as it goes over the wire: for status codes, headers and bodies that the SDK does not show. */
function callRaw(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<Answer> {
  return server.api.call(method, `/v1/machines/${machine.id}${path}`, body, headers)
}

/** The standard output of a command that must exit with 0. */
async function run(command: Command, options: ExecOptions = {}): Promise<string> {
  const { stdout, stderr, exitCode } = await machine.exec(command, options)
  if (exitCode === 0) return stdout
  throw new Error(`${command} exited with ${exitCode}: ${stderr}`)
}

async function fileThere(path: string): Promise<void> {
  await eventually(`${path} is there`, () =>
    machine.files.read(path).then(
      () => true,
      () => false,
    ),
  )
}

async function activeWindow(name: string): Promise<void> {
  await eventually(`a window of ${name} is active`, async () => {
    const { stdout } = await machine.exec('xprop -id "$(xdotool getactivewindow)" WM_CLASS')
    return stdout.toLowerCase().includes(name)
  })
}

async function pointer(): Promise<string> {
  const text = await run(['xdotool', 'getmouselocation', '--shell'])
  return `${/X=(\d+)/.exec(text)?.[1]},${/Y=(\d+)/.exec(text)?.[1]}`
}

/** Whether the first button is down, as the X server has it. */
async function buttons(): Promise<string> {
  return (await run(['python3', '-c', buttonProbe])).trim()
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
