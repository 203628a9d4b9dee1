import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import sharp from 'sharp'
import { connectOverStdio, imageOf, type McpClient } from '../mcp/test/client.ts'
import { eventually } from './harness/polling.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/* What a model does on a real machine through the MCP server, with the official client. */

let server: RealServer
let mcp: McpClient
const machine = 'model'

before(async () => {
  server = await joinServer()
  const { key, baseUrl } = server.api
  const env = { COMPUTER_API_KEY: key, COMPUTER_BASE_URL: baseUrl }
  mcp = await connectOverStdio({ after: () => {} }, env)
})
after(async () => {
  await mcp?.client.close()
  await server?.[Symbol.asyncDispose]()
})

test('a machine is created and its desktop looked at', async () => {
  assert.match(await mcp.ok('create_machine', { name: machine }), /model \(mch_\w+\): running/)
  const { bytes } = imageOf(await mcp.call('screenshot', { machine }))
  const { width, height } = await sharp(bytes).metadata()
  assert.deepEqual([width, height], [1280, 800])
  assert.ok((await sharp(bytes).stats()).entropy > 1, 'the screen is blank')
})

test('a page is opened in the browser, and its button clicked', async () => {
  await mcp.ok('write_file', { machine, path: 'site/server.py', content: site })
  const command = 'python3 site/server.py'
  await mcp.ok('run_command', { machine, command, background: true })
  await mcp.ok('open_page', { machine, url: 'http://localhost:8000/' })
  await eventually('the button is on the screen', async () => {
    const { bytes } = imageOf(await mcp.call('screenshot', { machine }))
    const { dominant } = await sharp(bytes).stats()
    return dominant.g > 200 && dominant.r < 60
  })
  await mcp.ok('click', { machine, x: 640, y: 500 })
  await eventually('the page told of the click', async () => {
    const read = await mcp.call('read_file', { machine, path: 'site/clicked' })
    return !read.isError
  })
  assert.equal(await mcp.ok('read_file', { machine, path: 'site/clicked' }), 'once\n')
})

test('a snapshot is taken and forked, and the fork has its own disk', async () => {
  const said = await mcp.ok('create_snapshot', { machine, name: 'clicked' })
  const snapshot = /snp_[0-9a-z]+/.exec(said)![0]
  await mcp.ok('write_file', { machine, path: 'site/clicked', content: 'changed' })
  await mcp.ok('fork_machine', { machine, name: 'branch', snapshot })
  assert.equal(await mcp.ok('read_file', { machine: 'branch', path: 'site/clicked' }), 'once\n')
  assert.equal(await mcp.ok('read_file', { machine, path: 'site/clicked' }), 'changed')
  assert.match(await mcp.ok('get_machine', { machine }), /controlled by .*agent.*\n.*\n- clicked /)
})

/** A page that is one green button, and a file that tells of each click. */
const site = `
import http.server, os
os.chdir(os.path.dirname(os.path.abspath(__file__)))
page = b'''<!doctype html><title>One button</title>
<button style="position:fixed;inset:0;border:0;background:#0f0" onclick="fetch('/click')">Press</button>'''
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == '/click':
            open('clicked', 'a').write('once\\n')
        self.send_response(200)
        self.send_header('content-type', 'text/html')
        self.end_headers()
        self.wfile.write(page if self.path == '/' else b'')
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(('127.0.0.1', 8000), Site).serve_forever()
`
